"""The views of a leaderboard: the default one, order, ranks, and when a view is computed."""

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_server.core.errors import InvalidArgument
from noughts_server.services.leaderboard_views import MOST_BOTS, LeaderboardViews, View, view_of
from noughts_server.statistics.rating_table import Estimate
from noughts_server.store.people.bots import retire_bot
from noughts_server.store.ratings.leaderboards import Filters, ListState, list_state
from noughts_server.store.ratings.rated_pairs import rated_pairs
from tests.support.arena import NOW, Arena, open_arena
from tests.support.patience import PATIENCE

LIST = "tictactoe/untimed"


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """Four bots that have played two tournaments; the games of the second were stored amid those of the first."""
    async with open_arena(tmp_path / "noughts.db") as arena:
        cup = await arena.play(await arena.tournament(bots=("ada", "bob", "cleo", "dan"), games_per_pair=20))
        await arena.commit(cup[:30])
        await arena.commit(await arena.play(await arena.tournament("two", bots=("bob", "ada"), games_per_pair=4)))
        await arena.commit(cup[30:])
        yield arena


async def test_default_is_the_fit_from_30_games_per_bot_on(arena: Arena) -> None:
    views = LeaderboardViews(arena.store)
    view, page, places = await views.page("", LIST)
    assert view.name == "fit"
    assert {row.bot for row in page.items} == {"ada", "bob", "cleo", "dan"}
    for rank, estimate in places.values():
        assert estimate.rank_low is not None
        assert estimate.rank_high is not None
        assert 1 <= estimate.rank_low <= rank <= estimate.rank_high <= 4
    view, page, places = await views.page("live", LIST)
    assert [row.rank for row in page.items] == [1, 2, 3, 4]
    assert places == {}
    assert (await views.page("", "connect4/untimed"))[0].name == "live"


@pytest.mark.parametrize(
    "bots, games, name",
    [(0, 0, "live"), (2, 58, "live"), (2, 60, "fit"), (MOST_BOTS, 10**6, "fit"), (MOST_BOTS + 1, 10**6, "live")],
)
def test_default_depends_on_games_per_bot_and_number_of_bots(bots: int, games: int, name: str) -> None:
    assert view_of("", ListState(bots, 0, games)).name == name


async def test_pages_of_the_fit_hold_each_bot_once_in_order(arena: Arena) -> None:
    views, bots, token = LeaderboardViews(arena.store), list[int](), ""
    while token or not bots:
        _, page, places = await views.page("fit", LIST, size=3, page_token=token)
        bots += [row.bot_id for row in page.items]
        token = page.next_page_token
    assert [places[bot][0] for bot in bots] == [1, 2, 3, 4]
    ratings = [places[bot][1].view_rating for bot in bots]
    assert ratings == sorted(ratings, reverse=True)
    _, page, _ = await views.page("fit", LIST, filters=Filters(search="DA"))
    assert [row.bot_id for row in page.items] == [bot for bot in bots if bot in {row.bot_id for row in page.items}]
    assert {row.bot for row in page.items} == {"ada", "dan"}
    token = (await views.page("fit", LIST, size=3))[1].next_page_token
    with pytest.raises(InvalidArgument, match="page_token"):
        await views.page("live", LIST, page_token=token)


async def test_calls_that_are_cancelled_compute_a_view_once(arena: Arena) -> None:
    started, finish, computed = threading.Event(), threading.Event(), list[object]()

    def rate(games: list[Any], active: Collection[str], anchors: Mapping[str, float]) -> dict[str, Estimate]:
        computed.append(games)
        started.set()
        finish.wait(20)
        return {}

    views, slow = LeaderboardViews(arena.store), View("slow", "Slow", "a test", rated_pairs, rate)
    state = await arena.store.read(partial(list_state, name=LIST))
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for _ in range(3):
            call = tasks.create_task(views._places(slow, LIST, state, rated_pairs))
            await asyncio.to_thread(started.wait, 20)
            await asyncio.sleep(0.1)  # until the later calls have read the games
            call.cancel()
            await asyncio.wait([call])
        finish.set()
        await views._places(slow, LIST, state, rated_pairs)
    assert len(computed) == 1


async def test_unknown_views_and_too_many_bots_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="one of fit, live"):
        view_of("elo", ListState(2, 0, 60))
    with pytest.raises(InvalidArgument, match="at most 1,000 bots"):
        view_of("fit", ListState(MOST_BOTS + 1, 0, 10**6))


@pytest.mark.parametrize("name", ["fit", "live"])
async def test_empty_list_has_no_rows_in_any_view(arena: Arena, name: str) -> None:
    _, page, places = await LeaderboardViews(arena.store).page(name, "connect4/untimed")
    assert (page.items, places) == ([], {})


async def test_view_is_computed_again_after_new_games_and_retirements(arena: Arena) -> None:
    views = LeaderboardViews(arena.store)
    _, _, before = await views.page("fit", LIST)
    assert (await views.page("fit", LIST))[2] is before
    await arena.store.write(lambda connection: retire_bot(connection, "ada", now_ms=NOW))

    after = before
    for _ in range(10_000):  # a view is computed again only after a pause since the last time
        _, page, after = await views.page("fit", LIST)
        if after is not before:
            break
        await asyncio.sleep(0.01)
    assert [after[row.bot_id][0] for row in page.items] == [1, 2, 3]
    assert "ada" not in {row.bot for row in page.items}
    assert max(after[row.bot_id][1].rank_high or 9 for row in page.items) <= 3
