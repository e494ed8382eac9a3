"""Compare the time of the website's pages with a small store and with a large one.

    python benchmarks/pages.py [--games 1000000] [--bots 30] [--rounds 7]

Two servers with websites have 10,000 games and GAMES games, invented as in `history.py`, with the same number of bots
and tournaments. The requests for each page alternate, ten per round; the result is the median of the rounds. Prints
milliseconds and their ratio.
"""

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

from history import build

from noughts_server.store.engine.database import Store

_SMALL = 10_000
_TIMES = 10
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


async def _made(path: Path, bots: int, games: int) -> None:
    store = await Store.open(f"sqlite:///{path}")
    await store.write(partial(build, bots=bots, games=games))
    await store.close()


@contextmanager
def _site(path: Path) -> Iterator[HTTPConnection]:
    line = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {path} --format json --log-level error"
    command = [sys.executable, "-m", "noughts_server.cli", *line.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield HTTPConnection(json.loads(server.stdout.readline())["web"].removeprefix("http://"), timeout=600)
        finally:
            server.send_signal(signal.SIGINT)
            server.send_signal(signal.SIGINT)


def _milliseconds(connection: HTTPConnection, page: str) -> float:
    began = time.perf_counter()
    for _ in range(_TIMES):
        connection.request("GET", page)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (page, answer.status, body[:500])
    return (time.perf_counter() - began) / _TIMES * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--bots", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        paths = [Path(folder) / f"{games}.sqlite" for games in (_SMALL, options.games)]
        for path, games in zip(paths, (_SMALL, options.games), strict=True):
            asyncio.run(_made(path, options.bots, games))
        sites = [stack.enter_context(_site(path)) for path in paths]
        worst = 0.0
        for page in PAGES:
            times: tuple[list[float], list[float]] = ([], [])
            for site in sites:
                _milliseconds(site, page)
            for _ in range(options.rounds):
                for site, into in zip(sites, times, strict=True):
                    into.append(_milliseconds(site, page))
            small, large = map(statistics.median, times)
            worst = max(worst, large / small)
            print(f"{page:45} {small:8.2f} {large:8.2f} {large / small:6.2f}", flush=True)
        print(f"{'the largest ratio':45} {'':8} {'':8} {worst:6.2f}")


if __name__ == "__main__":
    main()
