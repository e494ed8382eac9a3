"""Run a server under full load for a long time, to see whether it slows down, grows, or computes wrong ratings.

    python benchmarks/soak.py [--minutes 10] [--flight 1024]

Prints a line every ten seconds. Exits with 1 if memory grew by more than a third after the first minute, or if the
ratings differ from a rebuild.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.reference.specs import parse_spec
from noughts_referee.clock import TimeControl
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalPlan, LocalProgress, LocalStop
from noughts_server.local.run import play_locally
from noughts_server.store.engine.database import Store
from noughts_server.store.ratings.rating_lists import RebuildReport, rebuild_ratings

_EVERY_SECONDS = 10.0
"""Seconds between two lines of output."""
_WARM_SECONDS = 60.0
"""Seconds until the memory is first measured."""
_GROWTH = 4 / 3
"""Limit of the growth of the memory since the first measurement."""


class _Watch:
    """Print the progress, and stop the run in time."""

    def __init__(self, seconds: float, stop: LocalStop) -> None:
        self.warm_memory = 0.0
        self.memory = 0.0
        self._stop = stop
        self._process = psutil.Process()
        self._began = self._printed = time.perf_counter()
        self._plies = 0
        self._end = self._began + seconds

    def __call__(self, progress: LocalProgress) -> None:
        now = time.perf_counter()
        if now >= self._end:
            self._stop.finish()
        if now - self._printed < _EVERY_SECONDS:
            return
        self.memory = self._process.memory_info().rss / 2**20
        if not self.warm_memory and now - self._began >= _WARM_SECONDS:
            self.warm_memory = self.memory
        rate = (progress.plies - self._plies) / (now - self._printed)
        progress_text = f"{now - self._began:6.0f} s {progress.games_done:>12,} games"
        print(f"{progress_text} {rate:>9,.0f} plies/s {self.memory:5.0f} MiB", flush=True)
        self._printed, self._plies = now, progress.plies


async def _soak(minutes: float, flight: int, database: str) -> tuple[_Watch, RebuildReport]:
    plan = LocalPlan(
        specs=tuple(map(parse_spec, ("random", "three-stage", "pascal:level=0"))),
        settings=TournamentSettings(
            variant="tictactoe",
            time=TimeControl(),
            games_per_pair=1_000_000,
            concurrency=flight,
            seed=1,
        ),
        database=database,
    )
    stop = LocalStop()
    watch = _Watch(minutes * 60, stop)
    await play_locally(plan, on_progress=watch, stop=stop)
    store = await Store.open(database)
    try:
        return watch, await store.write(rebuild_ratings)
    finally:
        await store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--flight", type=int, default=1024)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'noughts.sqlite'}"
        watch, report = run_loop(_soak(options.minutes, options.flight, database))
    print(f"{report.slots:,} rated games, {len(report.differences)} ratings differ from a rebuild")
    has_grown = bool(watch.warm_memory) and watch.memory > watch.warm_memory * _GROWTH
    if has_grown:
        print(f"memory grew from {watch.warm_memory:.0f} to {watch.memory:.0f} MiB")
    return 1 if has_grown or report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
