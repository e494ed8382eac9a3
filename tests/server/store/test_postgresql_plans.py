"""Frequent queries of PostgreSQL find their rows by an index in a large database."""

import asyncio
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event  # noqa: TID251  # what is executed

from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.store.engine.copying import copy_database
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.results import commit_games
from noughts_server.store.nodes import Node, NodeKind, beat
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.tournaments.claims import claim_next, has_free_units
from noughts_server.store.tournaments.tournaments import NewTournament, Tournament, get_tournament
from tests.support.arena import NOW, made_up_game, make_tournament
from tests.support.databases import POSTGRESQL, change, databases_of, make_database, url_of
from tests.support.guard import processes_allowed
from tests.support.shared import make_once

from .test_scale import BIG_TABLES, LARGE, QUERIES, RANKING, build_both

REFEREE = Node("referee-anna", NodeKind.REFEREE, 1)
Plans = dict[str, list[str]]


@pytest.fixture(autouse=True)
def database_kind() -> Iterator[str]:
    """Only PostgreSQL."""
    with processes_allowed(True), databases_of(POSTGRESQL):
        yield POSTGRESQL


@pytest.fixture(scope="module")
def large_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a large store, with a tournament that is running."""
    file = make_once(tmp_path_factory, "scale", build_both) / f"{LARGE[0]}.db"
    path = tmp_path_factory.mktemp("large") / "league"
    with processes_allowed(True), databases_of(POSTGRESQL):
        asyncio.run(_copy(f"sqlite:///{file}", make_database(path)))
        change(path, "ANALYZE")
        return url_of(path)


async def _copy(source: str, target: str) -> None:
    old, new = await Store.open(source), await Store.open(target)
    await copy_database(old, new)
    await new.write(partial(beat, node=REFEREE))
    cup = NewTournament("fresh", TournamentSettings(games_per_pair=2_000, seed=1))
    await new.write(partial(make_tournament, new=cup, bots=("zoe", "yan", "xia"), start=True))
    await old.close()
    await new.close()


def plans(connection: Connection, work: Callable[[Connection], Any], *, analyze: bool = False) -> Plans:
    """Return PostgreSQL's plan of each statement of the work. With `analyze`, run it again and show the rows read."""
    executed: list[tuple[str, Any]] = []

    def remember(_: Any, __: Any, statement: str, parameters: Any, ___: Any, many: bool) -> None:
        if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE|INSERT)", statement) and "advisory" not in statement:
            executed.append((statement, parameters[0] if many else parameters))

    event.listen(connection, "before_cursor_execute", remember)
    try:
        work(connection)
    finally:
        event.remove(connection, "before_cursor_execute", remember)
    # PostgreSQL reads small tables as a whole. Without that it shows whether it has an index to use.
    connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    plans_by_statement: Plans = {}
    for statement, parameters in executed:
        plans_by_statement[statement] = [
            row[0]
            for row in connection.exec_driver_sql(f"EXPLAIN {'(ANALYZE) ' if analyze else ''}{statement}", parameters)
        ]
    return plans_by_statement


def check_plans(plans_by_statement: Plans) -> None:
    """Fail if a statement reads all rows of a table that grows."""
    assert plans_by_statement
    for statement, plan in plans_by_statement.items():
        for line in plan:
            assert not re.search(rf"Seq Scan on ({BIG_TABLES}|units|journal)\b", line), (statement, plan)


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in RANKING])
async def test_no_query_scans_a_table_that_grows(large_url: str, name: str) -> None:
    store = await Store.open(large_url)
    try:
        check_plans(await store.read(partial(plans, work=QUERIES[name])))
    finally:
        await store.close()


async def test_neither_claims_nor_commits_scan_a_table_that_grows(large_url: str) -> None:
    store = await Store.open(large_url)
    try:
        check_plans(await store.write(partial(plans, work=_claim_and_commit)))
    finally:
        await store.close()


def _claim_and_commit(connection: Connection) -> None:
    """Do what a referee of a cluster does to the database while it plays, apart from its heartbeats."""
    tournament: Tournament = get_tournament(connection, "fresh")
    claims = claim_next(connection, tournament.id, REFEREE.name, holding=(), played=(), most=2)
    games = [made_up_game(tournament, claim.attempt, slot) for claim in claims for slot in claim.slots]
    report = commit_games(connection, games, FoldingState(), now_ms=NOW)
    assert report.games


async def test_commit_reads_few_games_that_other_referees_have_stored(large_url: str) -> None:
    store = await Store.open(large_url)
    try:
        with store._writing.connect() as connection:  # it is rolled back at the end
            plans_by_statement = _commit_behind_a_gap(connection)
    finally:
        await store.close()
    assert rows_read(plans_by_statement, "FROM games")
    assert max(rows_read(plans_by_statement, "FROM games")) < 100, plans_by_statement


def _commit_behind_a_gap(connection: Connection) -> Plans:
    """Commit a game after another referee has stored all others but the first one."""
    tournament = get_tournament(connection, "fresh")
    claims = claim_next(connection, tournament.id, REFEREE.name, holding=(), played=(), most=1_000)
    [_, *games, last] = [made_up_game(tournament, claim.attempt, slot) for claim in claims for slot in claim.slots]
    assert len(games) > 1_000
    here, there = FoldingState(), FoldingState()
    commit_games(connection, [games.pop(0)], here, now_ms=NOW)
    here.confirm()
    commit_games(connection, games, there, now_ms=NOW)
    connection.exec_driver_sql("ANALYZE games")

    def commit(connection: Connection) -> None:
        assert commit_games(connection, [last], here, now_ms=NOW).games == [last]

    return plans(connection, commit, analyze=True)


async def test_claim_reads_few_of_ten_thousand_units(large_url: str) -> None:
    store = await Store.open(large_url)
    try:
        with store._writing.connect() as connection:  # it is rolled back at the end
            read = _look_among_many_units(connection)
    finally:
        await store.close()
    assert read
    assert max(read) < 100, read


def _look_among_many_units(connection: Connection) -> list[int]:
    """Look for a unit among 10,000 complete ones, and return how many rows of units each query reads."""
    tournament = get_tournament(connection, "fresh")
    games_total = 20_000 * tournament.unit_games
    connection.exec_driver_sql(f"UPDATE tournaments SET games_total = {games_total} WHERE id = {tournament.id}")
    connection.exec_driver_sql(f"DELETE FROM units WHERE tournament_id = {tournament.id}")
    row = f"{tournament.id}, number, 1, CASE WHEN number = 5000 THEN 0 ELSE {tournament.unit_games} END"
    connection.exec_driver_sql(
        f"INSERT INTO units (tournament_id, number, attempt, played) SELECT {row} FROM generate_series(0, 9999) number"
    )
    connection.exec_driver_sql("ANALYZE units")

    def look(connection: Connection) -> None:
        assert has_free_units(connection, tournament.id, REFEREE.name, holding=())

    return rows_read(plans(connection, look, analyze=True), "FROM units")


def rows_read(plans_by_statement: Plans, part: str) -> list[int]:
    """Return how many rows each statement that contains `part` has read."""
    return [
        sum(
            round(float(rows))
            for rows in re.findall(r"(?:actual .*rows=|Removed by Filter: )([0-9.]+)", "\n".join(plan))
        )
        for statement, plan in plans_by_statement.items()
        if part in statement
    ]
