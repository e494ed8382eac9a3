"""Leaderboards: order, ranks, filters, pages and lists."""

from functools import partial
from itertools import product
from random import Random

import pytest

from noughts_referee.clock import parse_time_control
from noughts_server.core.errors import InvalidArgument, NotFound
from noughts_server.store.people.bot_lists import list_bots
from noughts_server.store.people.bots import retire_bot
from noughts_server.store.ratings.leaderboards import (
    Filters,
    LeaderboardRow,
    RatingList,
    leaderboard,
    list_bot_ratings,
    list_rating_lists,
    rating_history,
)
from noughts_server.store.ratings.rating_lists import list_name
from tests.support.arena import NOW, Arena


async def read_leaderboard(
    arena: Arena, size: int, variant: str = "", time_class: str = "", filters: Filters | None = None
) -> list[LeaderboardRow]:
    """Read all pages of a leaderboard, with `size` rows a page."""
    rows, token = [], ""
    while True:
        page = await arena.store.read(
            partial(
                leaderboard,
                variant=variant,
                time_class=time_class,
                filters=filters,
                size=size,
                page_token=token,
            )
        )
        rows += page.items
        if not (token := page.next_page_token):
            return rows


async def test_strongest_come_first_and_the_newest_of_equal_ones(arena: Arena) -> None:
    bots = ("dora", "ada", "emil", "cleo", "bob")
    await arena.commit(await arena.play(await arena.tournament(bots=bots, games_per_pair=4)))
    arena.execute("UPDATE ratings SET rating = 1500.5 WHERE bot_id IN (2, 4, 5)")
    whole = await read_leaderboard(arena, 100)
    assert [row.rank for row in whole] == [1, 2, 3, 4, 5]
    assert [(row.rating, row.bot_id) for row in whole] == sorted(
        ((row.rating, row.bot_id) for row in whole), reverse=True
    )
    for size in (1, 2, 3):
        assert await read_leaderboard(arena, size) == whole


async def test_row_counts_the_bots_rated_games_and_says_when_they_are_few(arena: Arena) -> None:
    games = await arena.play(await arena.tournament(games_per_pair=60))
    rated = [game for game in games if game.result != 4]
    first_batch_size = next(
        count for count in range(60) if len([game for game in games[:count] if game.result != 4]) == 29
    )
    await arena.commit(games[:first_batch_size])
    assert [(row.games, row.provisional) for row in await read_leaderboard(arena, 10)] == [(29, True), (29, True)]
    await arena.commit(games[first_batch_size:])
    for row in await read_leaderboard(arena, 10):
        assert row.games == row.wins + row.draws + row.losses == len(rated)
        assert not row.provisional


async def test_each_variant_and_time_class_has_its_list(arena: Arena) -> None:
    blitz = parse_time_control("5/move")
    await arena.commit(await arena.play(await arena.tournament("one")))
    await arena.commit(await arena.play(await arena.tournament("two", bots=("cleo", "dora"), time=blitz)))
    await arena.commit(await arena.play(await arena.tournament("three", bots=("emil", "fay"), variant="mnk:4,4,3")))
    assert {row.bot for row in await read_leaderboard(arena, 10)} == {"ada", "bob"}
    assert {row.bot for row in await read_leaderboard(arena, 10, "mnk:3,3,3", "blitz")} == {"cleo", "dora"}
    assert {row.bot for row in await read_leaderboard(arena, 10, "mnk:4,4,3")} == {"emil", "fay"}
    assert await read_leaderboard(arena, 10, "mnk:5,5,4") == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
async def test_filtered_rows_keep_their_ranks(arena: Arena, seed: int) -> None:
    chance = Random(seed)
    names = [f"bot{number}" for number in range(12)]
    for number in range(4):
        bots = chance.sample(names, chance.randint(2, 7))
        played = await arena.play(
            await arena.tournament(f"cup{number}", bots=bots, games_per_pair=chance.randint(1, 9))
        )
        await arena.commit(played)
    arena.execute("INSERT INTO owners (id, name) VALUES (7, 'zoe')")
    arena.execute("UPDATE bots SET owner_id = 7 WHERE id % 3 = 0")
    arena.execute("UPDATE ratings SET rating = round(rating / 50) * 50")
    whole = await read_leaderboard(arena, 100)
    online = {row.bot_id for row in whole if chance.random() < 0.5} | {999}
    for owner, online_ids, min_games, without_provisional in product(
        ("", "alice", "zoe"), (None, online), (0, 12), (False, True)
    ):
        filters = Filters(owner=owner, online=online_ids, min_games=min_games, exclude_provisional=without_provisional)
        expected = [
            row
            for row in whole
            if owner in ("", row.owner)
            and (online_ids is None or row.bot_id in online_ids)
            and row.games >= min_games
            and not (without_provisional and row.provisional)
        ]
        for size in (1, 4, 100):
            found = await read_leaderboard(arena, size, filters=filters)
            assert found == expected


async def test_retired_bots_are_listed_only_on_request(arena: Arena) -> None:
    bots = ("ada", "bob", "cleo", "dora", "emil")
    await arena.commit(await arena.play(await arena.tournament(bots=bots, games_per_pair=4)))
    whole = await read_leaderboard(arena, 100)
    retired = {whole[0].bot, whole[2].bot}
    for bot in retired:
        await arena.store.write(partial(retire_bot, name=bot, now_ms=NOW))
    active = [row.bot for row in whole if row.bot not in retired]
    for size in (1, 2, 100):
        found = await read_leaderboard(arena, size)
        assert [(row.rank, row.bot) for row in found] == list(enumerate(active, 1))
        assert await read_leaderboard(arena, size, filters=Filters(owner="alice")) == found
        everyone = await read_leaderboard(arena, size, filters=Filters(retired=True))
        assert [row.bot for row in everyone] == [row.bot for row in whole]
        # The rank of a retired bot is the one that it would have.
        assert [row.rank for row in everyone] == [1, 1, 2, 2, 3]
    of_bots = [(await arena.store.read(partial(list_bot_ratings, bot=row.bot))).items[0][1].rank for row in whole]
    assert of_bots == [1, 1, 2, 2, 3]


async def test_paging_visits_every_bot_once_while_ratings_do_not_change(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(bots=("ada", "bob", "cleo", "dora"))))
    first = await arena.store.read(partial(leaderboard, size=2))
    # New bots enter in the middle; a page can miss one, but no bot appears twice.
    await arena.commit(await arena.play(await arena.tournament("two", bots=("emil", "fay"), games_per_pair=1)))
    rest = await arena.store.read(partial(leaderboard, size=9, page_token=first.next_page_token))
    bots = [row.bot for row in first.items + rest.items]
    assert {"ada", "bob", "cleo", "dora"} <= set(bots)
    assert len(set(bots)) == len(bots)


async def test_bots_are_found_by_a_part_of_their_name(arena: Arena) -> None:
    bots = ("Ada", "ada-2", "bob_1", "bobx1")
    await arena.commit(await arena.play(await arena.tournament(bots=bots)))
    whole = await read_leaderboard(arena, 100)
    for text, names in {"ADA": {"Ada", "ada-2"}, "b_1": {"bob_1"}, "%": set(), "x": {"bobx1"}}.items():
        page = await arena.store.read(partial(leaderboard, filters=Filters(search=text)))
        assert {row.bot for row in page.items} == names
        assert page.items == [row for row in whole if row.bot in names]
        assert {each.bot.name for each in (await arena.store.read(partial(list_bots, search=text))).items} == names
    with pytest.raises(InvalidArgument, match="search"):
        await arena.store.read(partial(leaderboard, filters=Filters(search="x" * 64)))


async def test_trend_is_the_rating_change_of_the_last_tenth_of_the_games(arena: Arena) -> None:
    await arena.commit((await arena.play(await arena.tournament("few", games_per_pair=8)))[:9])
    assert {row.trend for row in (await arena.store.read(leaderboard)).items} == {None}
    await arena.commit(await arena.play(await arena.tournament("many", games_per_pair=60)))
    for row in (await arena.store.read(leaderboard)).items:
        history = await arena.store.read(partial(rating_history, bot=row.bot))
        before = [point for point in history.points if point.games <= row.games * 9 // 10][-1]
        assert row.trend == row.rating - before.rating


async def test_unknown_owner_is_not_found(arena: Arena) -> None:
    with pytest.raises(NotFound, match="owner zoe"):
        await read_leaderboard(arena, 10, filters=Filters(owner="zoe"))


async def test_page_token_of_other_filters_is_an_invalid_argument(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament()))
    token = (await arena.store.read(partial(leaderboard, size=1))).next_page_token
    for filters in (Filters(owner="alice"), Filters(online=set()), Filters(min_games=2), Filters(retired=True)):
        with pytest.raises(InvalidArgument):
            await arena.store.read(partial(leaderboard, filters=filters, page_token=token))


async def test_rating_lists_count_their_bots_and_rated_games(arena: Arena) -> None:
    blitz = parse_time_control("5/move")
    rated = 0
    for slug, bots in (("one", ("ada", "bob", "cleo")), ("two", ("ada", "bob", "ada"))):
        played = await arena.play(await arena.tournament(slug, bots=bots, games_per_pair=5))
        rated += sum(game.result != 4 and bots[game.first] != bots[game.second] for game in played)
        await arena.commit(played)
    await arena.tournament("three", variant="mnk:4,4,3", time=blitz)
    await arena.commit(await arena.play(await arena.tournament("four", variant="mnk:5,5,4", rated=False)))
    expected = [RatingList("mnk:4,4,3", "blitz", 0, 0), RatingList("tictactoe", "untimed", 3, rated)]
    assert (await arena.store.read(list_rating_lists)).items == expected
    first = await arena.store.read(partial(list_rating_lists, size=1))
    second = await arena.store.read(partial(list_rating_lists, size=1, page_token=first.next_page_token))
    assert first.items + second.items == expected
    assert not second.next_page_token


async def test_bots_place_in_each_list_is_that_of_the_leaderboard(arena: Arena) -> None:
    bots = ("ada", "bob", "cleo", "dora")
    for slug, variant in (("one", "tictactoe"), ("two", "mnk:4,4,3"), ("three", "mnk:5,5,4")):
        entrants = bots[1:] if slug == "three" else bots
        await arena.commit(await arena.play(await arena.tournament(slug, bots=entrants, variant=variant)))
    arena.execute("UPDATE ratings SET rating = 1500 WHERE bot_id IN (2, 3)")
    for bot in bots:
        expected = [
            (f"{variant}/untimed", row)
            for variant in ("mnk:4,4,3", "mnk:5,5,4", "tictactoe")
            for row in await read_leaderboard(arena, 10, variant)
            if row.bot == bot
        ]
        assert (await arena.store.read(partial(list_bot_ratings, bot=bot))).items == expected
        rows, token = [], ""
        while True:
            page = await arena.store.read(partial(list_bot_ratings, bot=bot, size=1, page_token=token))
            rows += page.items
            if not (token := page.next_page_token):
                break
        assert rows == expected
    with pytest.raises(NotFound, match="bots/zoe"):
        await arena.store.read(partial(list_bot_ratings, bot="zoe"))


@pytest.mark.parametrize("variant, time_class", [("chess", ""), ("", "slow")])
async def test_unknown_list_is_an_invalid_argument(arena: Arena, variant: str, time_class: str) -> None:
    with pytest.raises(InvalidArgument):
        await read_leaderboard(arena, 10, variant, time_class)


def test_list_is_named_by_its_canonical_variant() -> None:
    assert list_name() == "tictactoe/untimed"
    assert list_name("mnk:3,3,3", "rapid") == "tictactoe/rapid"
