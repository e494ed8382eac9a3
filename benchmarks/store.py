"""Measure the cost of storing a finished game, compared with bare SQLite.

Stores batches of 3,000 finished 3x3 games of one tournament, as the recorder does: rows, scores, ratings, progress,
commit. The reference writes the same rows with a bare `executemany` of the standard library. Runs alternate; the
result is the median of five. Usage: python benchmarks/store.py [--batches 20] [--entries 2]
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

BATCH = 3_000
RUNS = 5
SHUFFLED = 1_024
"""Games end out of order within this number, as with that number of concurrent games."""


def prepare(connection: Connection, entries: int, games: int) -> Tournament:
    """Create a running tournament of at least this number of games, with all its units claimed."""
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
                    tournament.id,
                    slot.ordinal,
                    claim.attempt,
                    slot.first,
                    slot.second,
                    1 + draws.below(3),
                    Termination.BOARD_FULL if plies == 9 else Termination.LINE,
                    bytes(draws.below(9) for _ in range(plies)),
                    pack_times([draws.below(400) for _ in range(plies)]),
                )
            )
    games.sort(key=lambda game: game.ordinal + Draws(1, game.ordinal).below(SHUFFLED))
    return games[:count]


def batches(games: list[FinishedGame]) -> Iterator[list[FinishedGame]]:
    """Yield the games in groups of the size of a commit."""
    for begin in range(0, len(games), BATCH):
        yield games[begin : begin + BATCH]


async def run_store(path: Path, entries: int, count: int) -> tuple[float, list[FinishedGame]]:
    """Return microseconds per game, and the number of games."""
    store = await Store.open(f"sqlite:///{path}")
    try:
        tournament = await store.write(partial(prepare, entries=entries, games=count))
        games = await store.write(partial(played_games, tournament=tournament, count=count))
        state, elapsed = FoldingState(), 0.0
        for batch in batches(games):
            begin = time.perf_counter()
            report = await store.write(partial(commit_games, games=batch, state=state, now_ms=1))
            state.confirm()
            elapsed += time.perf_counter() - begin
            assert len(report.games) == len(batch)
    finally:
        await store.close()
    return elapsed / count * 1e6, games


def run_bare(path: Path, games: list[FinishedGame]) -> tuple[float, float]:
    """Return microseconds and bytes per game of bare SQLite."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(
        "CREATE TABLE games (tournament INTEGER, ordinal INTEGER, attempt INTEGER, first INTEGER,"
        " second INTEGER, result INTEGER, termination INTEGER, moves BLOB, times BLOB,"
        " PRIMARY KEY (tournament, ordinal)) WITHOUT ROWID"
    )
    elapsed = 0.0
    for batch in batches(games):
        begin = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO games VALUES (?,?,?,?,?,?,?,?,?)", batch)
        connection.execute("COMMIT")
        elapsed += time.perf_counter() - begin
    connection.close()
    return elapsed / len(games) * 1e6, path.stat().st_size / len(games)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--entries", type=int, default=2)
    arguments = parser.parse_args()
    count = arguments.batches * BATCH
    stored, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(RUNS):
            path = Path(folder) / f"store{number}.db"
            microseconds, games = asyncio.run(run_store(path, arguments.entries, count))
            stored.append((microseconds, path.stat().st_size / count))
            bare.append(run_bare(Path(folder) / f"bare{number}.db", games))
    print(f"{RUNS} runs of {count:,} games, {arguments.entries} entries, commits of {BATCH:,}; median")
    for name, runs in (("store", stored), ("bare executemany", bare)):
        times = sorted(microseconds for microseconds, _ in runs)
        print(
            f"{name:17} {statistics.median(times):6.2f} us/game ({times[0]:.2f}-{times[-1]:.2f})"
            f" {statistics.median(size for _, size in runs):7.1f} bytes/game"
        )


if __name__ == "__main__":
    main()
