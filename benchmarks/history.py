"""Measure pages of leaderboards, games, rating history and head-to-head scores in a small and in a large store.

The small store has 100 bots and 10,000 games, the large one 1,000 bots and 1,000,000 games. The games are invented and
written in bulk. Every query runs many times in both stores alternately; the result is the median of five rounds.
Usage: python benchmarks/history.py [--games 1000000]
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from noughts_referee.rules import Draws
from noughts_server.competition.formats.round_robin import RoundRobin
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.engine.schema import tournaments as tournaments_table
from noughts_server.store.games.bot_games import head_to_head, list_bot_games
from noughts_server.store.games.bot_statistics import bot_statistics
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.ratings.leaderboards import (
    Filters,
    leaderboard,
    list_bot_ratings,
    list_rating_lists,
    rating_history,
)
from noughts_server.store.tournaments.tournaments import NewTournament, Tournament, create_tournament, start_tournament

ROUNDS = 5
REPEATS = 40

QUERIES: dict[str, Callable[[Connection], Any]] = {
    "leaderboard": leaderboard,
    "leaderboard, an owner's bots": partial(leaderboard, filters=Filters(owner="owner3")),
    "rating lists": list_rating_lists,
    "a bot's ratings": partial(list_bot_ratings, bot="bot7"),
    "a bot's games": partial(list_bot_games, bot="bot7"),
    "a bot's games against another": partial(list_bot_games, bot="bot7", opponent="bot8"),
    "rating history": partial(rating_history, bot="bot7"),
    "head to head": partial(head_to_head, bot="bot7", opponent="bot8"),
    "a bot's statistics": partial(bot_statistics, bot="bot7"),
}
BOT_QUERIES = ("a bot's games", "a bot's games against another", "head to head", "a bot's statistics")
"""The queries about a bot, with the default page size of 50."""


def build(connection: Connection, bots: int, games: int) -> None:
    """Fill an empty store: a running tournament of all bots with a tenth of the games, and ten smaller, finished ones.

    Each bot is in two tournaments; every owner has ten bots.
    """
    owners = [create_owner(connection, f"owner{number}") for number in range(bots // 10)]
    for number in range(bots):
        log_in(connection, owner_id=owners[number // 10], name=f"bot{number}", now_ms=0)
    groups = [range(bots), *(range(begin, begin + bots // 10) for begin in range(0, bots, bots // 10))]
    for number, group in enumerate(groups):
        share = games // 10 if number == 0 else games * 9 // 100
        pairs = len(group) * (len(group) - 1) // 2
        per_pair = -(-share // pairs) if number else max(2, 2 * share // pairs)
        tournament = _tournament(connection, f"cup{number}", group, owners[0], per_pair)
        _fill(connection, tournament, RoundRobin(len(group), per_pair), min(share, tournament.games_total))
    _derive(connection)


def build_career(connection: Connection, bots: int, tournaments: int) -> None:
    """Fill an empty store: `bot0` has played this number of matches of two games, in turn against all other bots."""
    owner = create_owner(connection, "owner")
    for number in range(bots):
        log_in(connection, owner_id=owner, name=f"bot{number}", now_ms=0)
    first = _tournament(connection, "match1", range(2), owner, 2)
    columns = [column.name for column in tournaments_table.columns if column.name not in ("id", "slug")]
    _driver(connection).execute(
        f"""
        WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < {int(tournaments)})
        INSERT INTO tournaments (id, slug, {", ".join(columns)})
        SELECT n, 'match' || n, {", ".join(columns)} FROM n, tournaments WHERE id = {first.id}
        """  # noqa: S608  # only names and numbers
    )
    _driver(connection).execute(
        """
        INSERT INTO entries (tournament_id, number, bot_version_id, label, bot_id)
        SELECT t.id, b.id > 1, v.id, b.name, b.id
        FROM tournaments t JOIN bots b ON b.id IN (1, 2 + t.id % (? - 1)) JOIN bot_versions v ON v.bot_id = b.id
        WHERE t.id > 1
        """,
        (bots,),
    )
    _driver(connection).execute(
        """
        INSERT INTO games (tournament_id, ordinal, attempt, first_entry, second_entry, result, termination, moves,
            times, ended_at)
        SELECT id, 1 + e.number, 1, e.number, 1 - e.number, 1 + (id + e.number) % 3, 1, x'00010203040506',
            zeroblob(28), 0
        FROM tournaments JOIN entries e ON e.tournament_id = id
        """
    )
    _driver(connection).execute(
        "UPDATE tournaments SET games_done = 2, folded = 2, explored = 2, state = ?", (int(TournamentState.FINISHED),)
    )
    _derive(connection)


def _tournament(connection: Connection, slug: str, group: range, owner_id: int, games_per_pair: int) -> Tournament:
    settings = TournamentSettings(games_per_pair=games_per_pair)
    create_tournament(connection, NewTournament(slug, settings), owner_id=owner_id, now_ms=0)
    # The rows that `join_tournament` writes, in one statement.
    _driver(connection).execute(
        """
        INSERT INTO entries (tournament_id, number, bot_version_id, label, bot_id)
        SELECT t.id, row_number() OVER (ORDER BY b.id) - 1, v.id, b.name, b.id
        FROM tournaments t, bots b JOIN bot_versions v ON v.bot_id = b.id
        WHERE t.slug = ? AND b.name IN (SELECT value FROM json_each(?))
        """,
        (slug, json.dumps([f"bot{number}" for number in group])),
    )
    return start_tournament(connection, slug, now_ms=0)


def _fill(connection: Connection, tournament: Tournament, schedule: RoundRobin, count: int) -> None:
    def rows() -> Iterator[tuple[Any, ...]]:
        for slot in schedule.slots(range(1, count + 1)):
            result = 1 + Draws(tournament.settings.seed, slot.ordinal).below(3)
            yield (tournament.id, slot.ordinal, slot.first, slot.second, result, b"\0\1\2\3\4\5\6", b"\0" * 28)

    _driver(connection).executemany(
        "INSERT INTO games (tournament_id, ordinal, attempt, first_entry, second_entry, result, termination, moves,"
        " times, ended_at) VALUES (?, ?, 1, ?, ?, ?, 1, ?, ?, 0)",
        rows(),
    )
    _driver(connection).execute(
        "UPDATE tournaments SET games_done = ?, folded = ?, explored = ? WHERE id = ?",
        (count, count, count, tournament.id),
    )


def _derive(connection: Connection) -> None:
    """Write scores and invented ratings; the log has one run for each tournament."""
    for statement in _DERIVED_TABLES:
        _driver(connection).execute(statement)


_DERIVED_TABLES = (
    """
    INSERT INTO pair_scores
    SELECT tournament_id, first_entry, second_entry, sum(result = 1), sum(result = 2), sum(result = 3)
    FROM games GROUP BY 1, 2, 3
    """,
    """
    INSERT INTO bot_scores
    SELECT one.bot_id, other.bot_id, t.variant, sum(p.wins), sum(p.draws), sum(p.losses)
    FROM pair_scores p
    JOIN tournaments t ON t.id = p.tournament_id
    JOIN entries one ON one.tournament_id = p.tournament_id AND one.number = p.first_entry
    JOIN entries other ON other.tournament_id = p.tournament_id AND other.number = p.second_entry
    GROUP BY 1, 2, 3
    """,
    """
    INSERT INTO meetings
    SELECT DISTINCT min(one.bot_id, other.bot_id), max(one.bot_id, other.bot_id), p.tournament_id
    FROM pair_scores p
    JOIN entries one ON one.tournament_id = p.tournament_id AND one.number = p.first_entry
    JOIN entries other ON other.tournament_id = p.tournament_id AND other.number = p.second_entry
    """,
    """
    INSERT INTO ratings
    SELECT 1, v.bot_id, 1500 + v.bot_id * 7919 % 600, sum(p.wins + p.draws + p.losses), sum(p.wins), sum(p.draws),
        sum(p.losses)
    FROM pair_scores p
    JOIN entries e ON e.tournament_id = p.tournament_id AND e.number IN (p.first_entry, p.second_entry)
    JOIN bot_versions v ON v.id = e.bot_version_id
    GROUP BY v.bot_id
    """,
    """
    INSERT INTO rating_runs
    SELECT sum(games_done) OVER (ORDER BY id) - games_done + 1, 1, id, 1, games_done FROM tournaments
    """,
    """
    INSERT INTO rating_history
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 64)
    SELECT 1, bot_id, n, rating, 0 FROM ratings, n WHERE n <= games
    """,
)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _seconds(query: Callable[[Connection], Any], connection: Connection) -> float:
    begin = time.perf_counter()
    for _ in range(REPEATS):
        query(connection)
    return (time.perf_counter() - begin) / REPEATS


async def measure(folder: Path, games: int) -> None:
    """Build both stores and print the table."""
    stores = []
    for bots, count in ((100, 10_000), (1_000, games)):
        store = await Store.open(f"sqlite:///{folder / f'{count}.db'}")
        begin = time.perf_counter()
        await store.write(partial(build, bots=bots, games=count))
        stores.append(store)
        print(f"{bots:,} bots, {count:,} games: built in {time.perf_counter() - begin:.1f} s")
    print(
        f"median of {ROUNDS} alternating rounds; milliseconds per query in the small and the large store, and the ratio"
    )
    for name, query in QUERIES.items():
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for store, times_of_store in zip(stores, times, strict=True):
                times_of_store.append(1e3 * await store.read(partial(_seconds, query)))
        small, large = map(statistics.median, times)
        print(f"{name:30} {small:8.2f} {large:8.2f} {large / small:6.2f}")
    for store in stores:
        await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), parser.parse_args().games))


if __name__ == "__main__":
    main()
