"""A cluster under load and trouble: `python -m tests.cluster --games 20000`. Prints what came of it; exits with 1 if
a game was lost or stored twice, ratings are not those that follow from the games, a watcher missed something, or play
stood still for longer than it may.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.cluster.ground import Cluster, running
from tests.cluster.troubles import MOST_SECONDS, TROUBLES, Tally, attempts, cut_link, observed, refused, suffer

_CONSOLE = Console(soft_wrap=True)
_CHILD = """
from noughts_bots import Bot


class Lowest(Bot):
    def choose(self, position):
        return position.legal_moves[0]
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--games", type=int, default=20_000)
    parser.add_argument("--calm", action="store_true", help="no troubles")
    parser.add_argument("--logs", type=Path, help="an empty folder for what the processes log")
    parser.add_argument("--variant", default="mnk:11,11,5")
    options = parser.parse_args()
    tally = asyncio.run(_run(options.games, options.variant, options.logs, calm=options.calm))
    return _told(tally)


async def _run(games: int, variant: str, logs: Path | None, *, calm: bool) -> Tally:
    tally = Tally(say=_CONSOLE.print)
    with _child() as path:
        offers = [f"child{number}=py:{path}:Lowest" for number in (1, 2)]
        options = [word for offer in offers for word in ("--offers", offer)]
        async with running(servers=2, referees=3, options=("--owner", "ada", *options), logs=logs) as cluster:
            await _play(cluster, tally, games, variant, calm=calm)
    return tally


@contextmanager
def _child() -> Iterator[Path]:
    """The file of a bot, where locked children may read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lowest.py"
        path.write_text(_CHILD)
        path.chmod(0o644)
        Path(folder).chmod(0o755)
        yield path


async def _play(cluster: Cluster, tally: Tally, games: int, variant: str, *, calm: bool) -> None:
    names = [f"bot{number}" for number in range(10)]
    cluster.start_bots(names[:5])
    cluster.start_bots(names[5:])
    everybody = [*names, "child1", "child2"]
    await cluster.all_online(everybody)
    pairs = len(everybody) * (len(everybody) - 1) // 2
    began = time.monotonic()
    each = -(-games // pairs // 2) * 2
    await cluster.organise("league", everybody, games_per_pair=each, variant=variant, rated=True)
    async with observed(cluster, "tournaments/league") as observers:
        tally.observers = observers
        if not calm:
            await suffer(cluster, tally, list(TROUBLES))
            await cut_link(cluster, tally)
        _CONSOLE.print(f"all troubles are over after {time.monotonic() - began:.0f} s: {cluster.stored():,} games")
        await cluster.finished("league", 600)
    tally.games = cluster.stored()
    tally.games_a_second = tally.games / (time.monotonic() - began)
    await cluster.look_back("league")
    tally.refused = refused(cluster)
    _CONSOLE.print(f"{attempts(cluster)} units were claimed more than once")


def _told(tally: Tally) -> int:
    table = Table("what", "", title=f"{tally.games:,} games")
    for name, seconds in tally.seconds.items():
        table.add_row(f"seconds until play goes on: {name}", f"{seconds:.1f}")
    gaps = [gap for each in tally.observers for gap in each.gaps]
    table.add_row("lost, stored twice, ratings that differ", "0, 0, 0")
    table.add_row("late writes refused", str(tally.refused))
    table.add_row("messages to watchers", f"{sum(each.messages for each in tally.observers):,}")
    table.add_row("their gaps, resyncs", f"{len(gaps)}, {sum(each.resyncs for each in tally.observers)}")
    table.add_row("games a second", f"{tally.games_a_second:,.0f}")
    _CONSOLE.print(table)
    if gaps:
        _CONSOLE.print(gaps[:10])
    return int(bool(gaps) or max(tally.seconds.values(), default=0) >= MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
