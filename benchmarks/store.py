"""Measure the cost of storing a finished game, compared with bare SQLite.

Stores batches of finished 3x3 games of one tournament, as the recorder does: rows, scores, ratings, progress,
commit. The reference writes the same rows with a bare `executemany` of the standard library. Runs alternate; the
result is the median of five, in processor time.

Usage: python benchmarks/store.py [--batches 20] [--entries 2] [--commit 3000]
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from noughts_referee.rules import Draws, Termination
from noughts_referee.work_units import FinishedGame, pack_times
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.results import commit_games
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.tournaments.claims import claim_unit, unfinished_units
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import NewTournament, Tournament, create_tournament, start_tournament

RUNS = 5
SHUFFLED = 1_024
"""Games end out of order within this number, as with that number of concurrent games."""


def prepare(connection: Connection, entries: int, games: int) -> Tournament:
    """Create a running tournament of at least this number of games."""
    owner = create_owner(connection, "benchmark")
    pairs = entries * (entries - 1) // 2
    settings = TournamentSettings(games_per_pair=-(-games // pairs))
    create_tournament(connection, NewTournament("speed", settings), owner_id=owner, now_ms=0)
    for number in range(entries):
        log_in(connection, owner_id=owner, name=f"bot{number}", now_ms=0)
        join_tournament(connection, "speed", bot=f"bot{number}")
    return start_tournament(connection, "speed", now_ms=0)


def played_games(connection: Connection, tournament: Tournament, count: int) -> list[FinishedGame]:
    """Return invented results of the first `count` scheduled games, in a possible order of their ends."""
    games: list[FinishedGame] = []
    for number in unfinished_units(connection, tournament.id):
        if len(games) >= count:
            break
        claim = claim_unit(connection, tournament.id, number)
        for slot in claim.slots:
            draws = Draws(tournament.settings.seed, slot.ordinal)
            plies = 5 + draws.below(5)
            games.append(
                FinishedGame(
                    tournament=tournament.id,
                    ordinal=slot.ordinal,
                    attempt=claim.attempt,
                    first=slot.first,
                    second=slot.second,
                    result=1 + draws.below(3),
                    termination=Termination.BOARD_FULL if plies == 9 else Termination.LINE,
                    moves=bytes(draws.below(9) for _ in range(plies)),
                    times=pack_times([draws.below(400) for _ in range(plies)]),
                )
            )
    games.sort(key=lambda game: game.ordinal + Draws(1, game.ordinal).below(SHUFFLED))
    return games[:count]


def batches(games: list[FinishedGame], size: int) -> Iterator[list[FinishedGame]]:
    """Yield the games in groups of the size of a commit."""
    for begin in range(0, len(games), size):
        yield games[begin : begin + size]


async def run_store(path: Path, entries: int, count: int, size: int) -> tuple[float, list[FinishedGame]]:
    """Return microseconds per game, and the games."""
    store = await Store.open(f"sqlite:///{path}")
    try:
        tournament = await store.write(partial(prepare, entries=entries, games=count))
        games = await store.write(partial(played_games, tournament=tournament, count=count))
        state, elapsed = FoldingState(), 0.0
        for batch in batches(games, size):
            begin = time.process_time()
            report = await store.write(partial(commit_games, games=batch, state=state, now_ms=1))
            state.confirm()
            elapsed += time.process_time() - begin
            assert len(report.games) == len(batch)
    finally:
        await store.close()
    return elapsed / count * 1e6, games


def run_bare(path: Path, games: list[FinishedGame], size: int) -> tuple[float, float]:
    """Return microseconds and bytes per game of bare SQLite."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(
        "CREATE TABLE games (tournament INTEGER, ordinal INTEGER, attempt INTEGER, first INTEGER,"
        " second INTEGER, result INTEGER, termination INTEGER, moves BLOB, times BLOB, fault TEXT,"
        " opening_plies INTEGER, allowances BLOB, scores BLOB, comments BLOB, thoughts BLOB,"
        " PRIMARY KEY (tournament, ordinal)) WITHOUT ROWID"
    )
    elapsed, insert = 0.0, f"INSERT INTO games VALUES ({', '.join('?' * len(FinishedGame._fields))})"  # noqa: S608
    for batch in batches(games, size):
        begin = time.process_time()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(insert, batch)
        connection.execute("COMMIT")
        elapsed += time.process_time() - begin
    connection.close()
    return elapsed / len(games) * 1e6, path.stat().st_size / len(games)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--entries", type=int, default=2)
    parser.add_argument("--commit", type=int, default=3_000, help="games in one commit")
    arguments = parser.parse_args()
    size = arguments.commit
    count = arguments.batches * size
    stored, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(RUNS):
            path = Path(folder) / f"store{number}.db"
            microseconds, games = asyncio.run(run_store(path, arguments.entries, count, size))
            stored.append((microseconds, path.stat().st_size / count))
            bare.append(run_bare(Path(folder) / f"bare{number}.db", games, size))
    print(f"{RUNS} runs of {count:,} games, {arguments.entries} entries, commits of {size:,}; median")
    for name, runs in (("store", stored), ("bare executemany", bare)):
        times = sorted(microseconds for microseconds, _ in runs)
        print(
            f"{name:17} {statistics.median(times):6.2f} us/game ({times[0]:.2f}-{times[-1]:.2f})"
            f" {statistics.median(size for _, size in runs):7.1f} bytes/game"
        )


if __name__ == "__main__":
    main()
