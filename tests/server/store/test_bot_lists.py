"""The list of bots with their rated games: order, pages, and the number of statements."""

from functools import partial
from random import Random

import pytest
from sqlalchemy import event, select  # noqa: TID251  # counts what only the store may send

from noughts_referee.clock import parse_time_control
from noughts_server.core.errors import InvalidArgument
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import owners
from noughts_server.store.people.anchors import register_anchor
from noughts_server.store.people.bot_lists import ListedBot, list_bots
from noughts_server.store.people.bots import register_bot
from tests.support.arena import Arena

NAMES = [f"bot{number}" for number in range(12)]


async def all_pages(arena: Arena, size: int, **filters: str) -> list[ListedBot]:
    """Read all pages of the list, with `size` rows a page."""
    found, token = [], ""
    while True:
        page = await arena.store.read(partial(list_bots, size=size, page_token=token, **filters))  # type: ignore[arg-type]  # texts
        found += page.items
        if not (token := page.next_page_token):
            return found


async def play_rated_games(arena: Arena, seed: int) -> None:
    """Play tournaments in three lists; `bot11` enters only an unrated one."""
    chance = Random(seed)
    lists = [("tictactoe", "none"), ("mnk:4,4,3", "none"), ("tictactoe", "5/move")]
    for number in range(9):
        variant, time = chance.choice(lists)
        await arena.commit(
            await arena.play(
                await arena.tournament(
                    f"cup{number}",
                    bots=chance.sample(NAMES[:-1], chance.randint(2, 6)),
                    games_per_pair=chance.randint(1, 7),
                    variant=variant,
                    time=parse_time_control(time),
                )
            )
        )
    unrated = await arena.tournament("unrated", bots=NAMES[-2:], rated=False)
    await arena.commit(await arena.play(unrated))


def rated(arena: Arena) -> dict[str, list[tuple[str, float, int]]]:
    """The lists of each bot, most games first, read by another program."""
    rows = arena.rows(
        "SELECT name, variant || '/' || time_class, rating, games FROM ratings JOIN bots ON bots.id = bot_id"
        " JOIN rating_lists ON rating_lists.id = list_id ORDER BY games DESC, list_id"
    )
    found: dict[str, list[tuple[str, float, int]]] = {}
    for name, rating_list, rating, games in rows:
        found.setdefault(name, []).append((rating_list, rating, games))
    return found


@pytest.mark.parametrize("seed", [3, 4])
async def test_listed_bots_have_the_rating_of_the_list_with_most_games(arena: Arena, seed: int) -> None:
    await play_rated_games(arena, seed)
    lists = rated(arena)
    listed = {each.bot.name: each for each in await all_pages(arena, 5)}
    assert listed.keys() == lists.keys() | {"bot11"} | ({"bot10"} if "bot10" not in lists else set())
    for name, each in listed.items():
        of_bot = lists.get(name, [])
        assert each.games == sum(games for _, _, games in of_bot)
        assert (each.rating_list, each.rating) == (of_bot[0][:2] if of_bot else ("", None))
        by_variant: dict[str, int] = {}
        for rating_list, _, games in of_bot:
            variant = rating_list.rpartition("/")[0]
            by_variant[variant] = by_variant.get(variant, 0) + games
        most_first = sorted(by_variant, key=lambda variant: (-by_variant[variant], variant))
        assert (each.variants, each.variants_total) == (tuple(most_first[:3]), len(by_variant))
        assert each.provisional is (bool(of_bot) and of_bot[0][2] < 30)


async def test_orders_hold_over_pages(arena: Arena) -> None:
    await play_rated_games(arena, 5)
    for order in ("name", "games", "rating"):
        whole = await all_pages(arena, 100, order=order)
        for size in (1, 4):
            paged = await all_pages(arena, size, order=order)
            # By name, only the items of a page are in natural order.
            assert order == "name" or paged == whole
            assert {each.bot.id for each in paged} == {each.bot.id for each in whole}
        keys = [each.games if order == "games" else each.rating or -1e6 for each in whole]
        assert order == "name" or keys == sorted(keys, reverse=True)


async def test_a_rating_list_selects_its_bots_and_their_ratings_in_it(arena: Arena) -> None:
    await play_rated_games(arena, 3)
    in_list = {
        name: rating
        for name, lists in rated(arena).items()
        for rating_list, rating, _ in lists
        if rating_list == "mnk:4,4,3/untimed"
    }
    listed = await all_pages(arena, 2, order="rating", rating_list="mnk:4,4,3/untimed")
    assert {each.bot.name: each.rating for each in listed} == in_list
    ratings = [each.rating or 0.0 for each in listed]
    assert ratings == sorted(ratings, reverse=True)
    assert await all_pages(arena, 2, rating_list="mnk:9,9,5/untimed") == []


async def test_a_page_is_one_statement_and_an_unknown_order_is_refused(arena: Arena) -> None:
    await play_rated_games(arena, 3)
    for order in ("name", "games", "rating"):

        def count(connection: Connection, order: str = order) -> list[str]:
            statements: list[str] = []

            def note(*arguments: object) -> None:
                if str(arguments[2]).startswith(("SELECT", "WITH")):
                    statements.append(str(arguments[2]))

            event.listen(connection, "before_cursor_execute", note)
            try:
                list_bots(connection, order=order)
            finally:
                event.remove(connection, "before_cursor_execute", note)
            return statements

        assert len(await arena.store.read(count)) == 1
    with pytest.raises(InvalidArgument, match="order"):
        await arena.store.read(partial(list_bots, order="age"))


async def test_an_owner_and_a_rating_list_select_bots_together(arena: Arena) -> None:
    await play_rated_games(arena, 1)
    in_list = await all_pages(arena, 100, rating_list="tictactoe/untimed")
    owner = in_list[0].bot.owner
    of_owner = await all_pages(arena, 100, rating_list="tictactoe/untimed", owner=owner)
    assert [item.bot.name for item in of_owner] == [item.bot.name for item in in_list if item.bot.owner == owner]
    assert await all_pages(arena, 100, rating_list="tictactoe/untimed", owner="nobody") == []


async def test_a_list_can_leave_out_the_bots_of_a_websites_visitors(arena: Arena) -> None:
    await play_rated_games(arena, 2)
    names = {each.bot.name for each in await all_pages(arena, 100)}
    owner = (await all_pages(arena, 100))[0].bot.owner

    def register(connection: Connection) -> None:
        owner_id = connection.execute(select(owners.c.id).where(owners.c.name == owner)).scalar_one()
        for name in (f"{owner}-guest-1", f"{owner}-random-2", "plain"):
            register_bot(connection, owner_id=owner_id, name=name, now_ms=0)

    await arena.store.write(register)
    for order in ("name", "games", "rating"):
        listed = await all_pages(arena, 5, order=order, exclude_guests_of=owner)
        assert {each.bot.name for each in listed} == names | {"plain"}
    everyone = await all_pages(arena, 5, exclude_guests_of="nobody")
    assert {each.bot.name for each in everyone} >= {f"{owner}-guest-1", "plain"}


async def test_a_list_can_leave_out_bots_with_a_fixed_rating(arena: Arena) -> None:
    await play_rated_games(arena, 3)
    names = {each.bot.name for each in await all_pages(arena, 100)}
    await arena.store.write(partial(register_anchor, owner="house", name="level", rating=1_200.0, now_ms=0))
    for order in ("name", "games", "rating"):
        with_level = await arena.store.read(partial(list_bots, order=order, size=100))
        without = await arena.store.read(partial(list_bots, order=order, size=100, exclude_anchors=True))
        assert {each.bot.name for each in with_level.items} == names | {"level"}
        assert {each.bot.name for each in without.items} == names
