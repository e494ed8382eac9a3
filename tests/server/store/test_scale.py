"""The cost of a query does not grow with the database. It is counted in steps of SQLite's machine, which do not vary.

The stores are those of `benchmarks/history.py`, which measures the time, with a million games in the larger one.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.bot_games import list_bot_games
from noughts_server.store.games.games import count_faults, get_game, list_games
from noughts_server.store.ratings.leaderboards import Filters, leaderboard
from noughts_server.store.tournaments.challenges import open_challenges
from noughts_server.store.tournaments.entries import pinned_elsewhere
from tests.support.root import ROOT
from tests.support.shared import make_once

BENCHMARK = ROOT / "benchmarks" / "history.py"
_SPEC = spec_from_file_location("history_benchmark", BENCHMARK)
assert _SPEC is not None
assert _SPEC.loader is not None
history = module_from_spec(_SPEC)
_SPEC.loader.exec_module(history)

pytestmark = pytest.mark.long

SMALL, LARGE = (100, 4_000), (1_000, 40_000)
"""Numbers of bots and of games in the two stores."""

QUERIES: dict[str, Callable[[Connection], Any]] = {
    **history.QUERIES,
    "leaderboard, online": partial(leaderboard, filters=Filters(online=set(range(1, 60)))),
    "leaderboard, settled": partial(leaderboard, filters=Filters(exclude_provisional=True)),
    "a game": partial(get_game, slug="cup0", ordinal=100),
    "a tournament's games": partial(list_games, slug="cup0"),
    "a tournament's faults": partial(count_faults, tournament_id=1),
}
RANKING = (
    "rating lists",
    "a bot's ratings",
    "leaderboard, online",
    "leaderboard, settled",
    "leaderboard, an owner's bots",
)
"""Queries that count all bots of a list, or those above a bot, in an index."""
BIG_TABLES = (
    "games|ratings|entries|pair_scores|entry_scores|bots|bot_versions|tournaments|rating_runs|rating_history|owners|"
    "bot_scores|meetings"
)


async def fill(path: Path, build: Callable[[Connection], None]) -> None:
    store = await Store.open(f"sqlite:///{path}")
    await store.write(build)
    await store.close()


def build_both(folder: Path) -> None:
    for bots, games in (SMALL, LARGE):
        asyncio.run(fill(folder / f"{bots}.db", partial(history.build, bots=bots, games=games)))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of a small store and of a large one."""
    folder = make_once(tmp_path_factory, "scale", build_both)
    return [folder / f"{bots}.db" for bots, _ in (SMALL, LARGE)]


@pytest.fixture
async def stores(built: list[Path]) -> AsyncIterator[list[Store]]:
    """A small store and a large one."""
    opened = [await Store.open(f"sqlite:///{path}") for path in built]
    yield opened
    for store in opened:
        await store.close()


FEW, MANY = 1_600, 8_000
"""Numbers of matches of two games that one bot has played; both numbers fill the largest pages."""
OF_A_CAREER: dict[str, Callable[[Connection], Any]] = {
    **{name: partial(history.QUERIES[name], bot="bot0") for name in history.BOT_QUERIES},
    "games against a bot": partial(list_bot_games, bot="bot0", opponent="bot29"),
    "its unfinished tournaments": partial(pinned_elsewhere, bot_version_id=1),
    "open challenges": open_challenges,
}


def build_careers(folder: Path) -> None:
    for matches in (FEW, MANY):
        asyncio.run(fill(folder / f"{matches}.db", partial(history.build_career, bots=30, tournaments=matches)))


@pytest.fixture(scope="module")
def built_careers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory, "careers", build_careers)


@pytest.fixture
async def careers(built_careers: Path) -> AsyncIterator[list[Store]]:
    """Stores in which a bot has played few and many tournaments."""
    opened = [await Store.open(f"sqlite:///{built_careers / f'{matches}.db'}") for matches in (FEW, MANY)]
    yield opened
    for store in opened:
        await store.close()


def driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


@contextmanager
def traced(connection: Connection) -> Iterator[list[str]]:
    """The statements that run in the block, with their parameters."""
    statements: list[str] = []
    driver(connection).set_trace_callback(statements.append)
    try:
        yield statements
    finally:
        driver(connection).set_trace_callback(None)


def steps(connection: Connection, query: Callable[[Connection], Any]) -> int:
    """Return how many instructions of SQLite's machine the query takes."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    driver(connection).set_progress_handler(step, 1)
    try:
        query(connection)
    finally:
        driver(connection).set_progress_handler(None, 0)
    return count


def plans(connection: Connection, query: Callable[[Connection], Any]) -> dict[str, list[str]]:
    """Return SQLite's plan of each statement of the query."""
    with traced(connection) as statements:
        query(connection)
    return {
        statement: [row[3] for row in driver(connection).execute(f"EXPLAIN QUERY PLAN {statement}")]
        for statement in statements
        if statement.lstrip().upper().startswith(("SELECT", "WITH"))
    }


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in RANKING])
async def test_a_page_of_ten_times_the_games_takes_under_twice_the_steps(stores: list[Store], name: str) -> None:
    small, large = [await store.read(partial(steps, query=QUERIES[name])) for store in stores]
    assert 0 < large < 2 * small


@pytest.mark.parametrize("name", OF_A_CAREER)
async def test_pages_of_a_bot_do_not_grow_with_its_tournaments(careers: list[Store], name: str) -> None:
    few, many = [await store.read(partial(steps, query=OF_A_CAREER[name])) for store in careers]
    assert 0 < many < 1.2 * few


@pytest.mark.parametrize("name", RANKING)
async def test_counting_bots_costs_a_few_steps_a_bot_and_none_a_game(stores: list[Store], name: str) -> None:
    small, large = [await store.read(partial(steps, query=QUERIES[name])) for store in stores]
    assert large - small < 20 * (LARGE[0] - SMALL[0])


@pytest.mark.parametrize("name", QUERIES)
async def test_no_query_scans_a_table_that_grows(stores: list[Store], name: str) -> None:
    plans_by_statement = await stores[1].read(partial(plans, query=QUERIES[name]))
    assert plans_by_statement
    for statement, plan in plans_by_statement.items():
        for line in plan:
            assert not re.match(rf"SCAN ({BIG_TABLES})\b", line), (statement, plan)


@pytest.mark.parametrize("name", ["leaderboard", "leaderboard, settled", "a bot's games", "rating history"])
async def test_rows_come_in_the_order_of_an_index(stores: list[Store], name: str) -> None:
    plans_by_statement = await stores[1].read(partial(plans, query=QUERIES[name]))
    for statement, plan in plans_by_statement.items():
        # Only a bot's entries may be sorted, because they are as few as its tournaments.
        if "FROM entries JOIN" not in statement.replace("\n", ""):
            assert not any("TEMP B-TREE" in line for line in plan), (statement, plan)


async def test_last_page_of_a_bots_games_costs_no_more_than_the_first(stores: list[Store]) -> None:
    def walk(connection: Connection) -> list[int]:
        costs: list[int] = []
        token = ""
        while True:
            query = partial(history.QUERIES["a bot's games"], size=20, page_token=token)
            costs.append(steps(connection, query))
            if not (token := query(connection).next_page_token):
                return costs

    costs = await stores[1].read(walk)
    assert len(costs) > 3
    assert max(costs) < 2 * costs[0]
