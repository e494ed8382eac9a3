"""Compare the processor time of the website's pages with a small store and with a large one.

    python benchmarks/pages.py [--games 1000000] [--bots 30] [--tournaments 10000] [--rounds 7]

Two servers with websites have 10,000 games and GAMES games, invented as in `history.py`, with the same number of bots
and tournaments. Three others have a bot that has played 10, 1,000 and TOURNAMENTS tournaments of two games. The
requests for each page alternate, ten per round; the result is the median of the rounds. Prints milliseconds of
processor time of server and website, and the ratio of the last to the first.
"""

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

from history import build, build_career

from noughts_server.store.engine.database import Connection, Store

_SMALL = 10_000
"""Games of the smaller of two databases, to compare."""
_REQUESTS = 10
"""Requests of which the mean is taken."""
PAGES = (
    "/",
    "/tournaments",
    "/tournaments/cup0",
    "/tournaments/cup1",
    "/tournaments/cup1/games",
    "/tournaments/cup1/games/7",
    "/leaderboard",
    "/leaderboard?search=7&min_games=10",
    "/bots",
    "/bots?search=bot5",
    "/bots/bot7",
    "/bots/bot7/against/bot8",
    "/api/v1/bots/bot7/games?page_size=100",
    "/api/v1/tournaments/cup1/crosstable",
)


BOT_PAGES = (
    "/bots/bot0",
    "/bots/bot0/against/bot2",
    "/api/v1/bots/bot0/games",
    "/api/v1/bots/bot0/statistics",
    "/api/v1/bots/bot0/against/bot2",
)
"""Pages about a bot. Once it has played enough to fill them, their time must not depend on its tournaments."""


class Site(NamedTuple):
    """A server with a website."""

    connection: HTTPConnection
    processes: Sequence[int]

    def milliseconds(self, page: str) -> float:
        """Return the processor time of one request of the page."""
        before = self._nanoseconds()
        for _ in range(_REQUESTS):
            self.connection.request("GET", page)
            answer = self.connection.getresponse()
            body = answer.read()
            assert answer.status == 200, (page, answer.status, body[:500])
        return (self._nanoseconds() - before) / _REQUESTS / 1e6

    def _nanoseconds(self) -> int:
        threads = (thread for pid in self.processes for thread in Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


async def _make_store(path: Path, build: Callable[[Connection], None]) -> None:
    store = await Store.open(f"sqlite:///{path}")
    await store.write(build)
    await store.close()


@contextmanager
def _site(path: Path) -> Iterator[Site]:
    line = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {path} --format json --log-level error"
    command = [sys.executable, "-m", "noughts_server.cli", *line.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["web"].removeprefix("http://")
            children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            yield Site(HTTPConnection(address, timeout=600), [server.pid, *map(int, children)])
        finally:
            # The second signal ends the server without waiting for its games.
            server.send_signal(signal.SIGINT)
            server.send_signal(signal.SIGINT)


def _compare(pages: Sequence[str], builds: Mapping[int, Callable[[Connection], None]], rounds: int) -> None:
    """Print the time of each page with each store. `builds` fill the stores; their keys are titles of columns."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        sites = []
        for number, build in builds.items():
            path = Path(folder) / f"{number}.sqlite"
            asyncio.run(_make_store(path, build))
            sites.append(stack.enter_context(_site(path)))
        print(f"{'':45}", *(f"{number:>9,}" for number in builds), " ratio")
        worst = 0.0
        for page in pages:
            for site in sites:
                site.milliseconds(page)
            times = [[site.milliseconds(page) for site in sites] for _ in range(rounds)]
            medians = [statistics.median(column) for column in zip(*times, strict=True)]
            ratio = medians[-1] / medians[0]
            worst = max(worst, ratio)
            print(f"{page:45}", *(f"{median:9.2f}" for median in medians), f"{ratio:6.2f}", flush=True)
        print(f"the largest ratio: {worst:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--bots", type=int, default=30)
    parser.add_argument("--tournaments", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if options.games:
        sizes = (_SMALL, options.games)
        _compare(PAGES, {size: partial(build, bots=options.bots, games=size) for size in sizes}, options.rounds)
    lengths = (10, 1_000, options.tournaments)
    careers = {length: partial(build_career, bots=options.bots, tournaments=length) for length in lengths}
    _compare(BOT_PAGES, careers, options.rounds)


if __name__ == "__main__":
    main()
