"""Measure what analyses of finished games cost the games that a server plays meanwhile.

    python -m benchmarks.analysis_cost [--rounds 5] [--seconds 15]

A server and two random bots, each in a process of its own, play a match of gomoku with 256 concurrent
games. The server also has a finished tournament of Connect Four. In every second round, a client requests analyses of
its games, each once, so that one always waits or is computed. The next round begins when the last one is stored. Prints
the finished games per second of each round, the medians without and with analyses, the median of the ratios of
neighbouring rounds, and the share of the machine's processor time that the analyses used in the rounds with them and
the waits after these. The ratio varies with the machine, the share hardly.
"""

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import grpc.aio
import psutil

from noughts_bots.connection.event_loop import run_loop
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import games_pb2, games_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc
from tests.support.arena import open_arena
from tests.support.random_games import store_random_games

if TYPE_CHECKING:
    from noughts_proto.v1.games_pb2_grpc import GameServiceAsyncStub
    from noughts_proto.v1.tournaments_pb2_grpc import TournamentServiceAsyncStub

_NOUGHTS = [sys.executable, "-m", "noughts_server.cli"]
_ANALYSED_GAMES = 2_000
_MATCH = "tournaments/match"
_BOTS = ("eve", "mallory")
_SETTLE_SECONDS = 3.0
_POLL_SECONDS = 0.5
"""Seconds between two looks at the progress."""


class _Measurement:
    """The calls of the benchmark to the server."""

    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        self._metadata = ((TOKEN_KEY, f"Bearer {token}"),)
        self._games: GameServiceAsyncStub = games_pb2_grpc.GameServiceStub(channel)
        self._tournaments: TournamentServiceAsyncStub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        self._unanalysed: Iterator[int] = count(1)
        self.analysed = 0

    async def start_match(self) -> None:
        match = tournaments_pb2.Tournament(
            name=_MATCH, variant="gomoku", games_per_pair=1_000_000, schedule=tournaments_pb2.SCHEDULE_MATCH
        )
        match.concurrency = 256
        request = tournaments_pb2.CreateTournamentRequest(tournament=match)
        await self._tournaments.CreateTournament(request, metadata=self._metadata)
        for bot in _BOTS:
            join = tournaments_pb2.JoinTournamentRequest(name=_MATCH, bot=f"bots/{bot}")
            await self._tournaments.JoinTournament(join, metadata=self._metadata)
        start = tournaments_pb2.StartTournamentRequest(name=_MATCH)
        await self._tournaments.StartTournament(start, metadata=self._metadata)

    async def games_per_second(self, seconds: float) -> float:
        before, began = await self._games_done(), time.monotonic()
        await asyncio.sleep(seconds)
        return (await self._games_done() - before) / (time.monotonic() - began)

    async def _games_done(self) -> int:
        request = tournaments_pb2.GetTournamentRequest(name=_MATCH)
        return (await self._tournaments.GetTournament(request)).tournament.games_done

    async def analyse(self, stop: asyncio.Event) -> None:
        """Request one analysis after the other. After `stop`, wait for the last one, so that none is left."""
        while not stop.is_set():
            number = next(self._unanalysed)
            request = games_pb2.GetAnalysisRequest(name=f"tournaments/cup/games/{number}")
            answer = await self._games.GetAnalysis(request)
            while answer.state == games_pb2.ANALYSIS_STATE_PENDING:
                await asyncio.sleep(_POLL_SECONDS)
                answer = await self._games.GetAnalysis(request)
            self.analysed += 1


async def _measure(address: str, token: str, server: psutil.Process, rounds: int, seconds: float) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        measurement = _Measurement(channel, token)
        await measurement.start_match()
        await asyncio.sleep(_SETTLE_SECONDS)
        without, with_analyses = [], []
        analysing, used_before = 0.0, _processor_seconds_of_children(server)
        for number in range(1, rounds + 1):
            without.append(await measurement.games_per_second(seconds))
            began = time.monotonic()
            async with asyncio.TaskGroup() as tasks:
                stop = asyncio.Event()
                tasks.create_task(measurement.analyse(stop))
                with_analyses.append(await measurement.games_per_second(seconds))
                stop.set()
            analysing += time.monotonic() - began
            print(f"round {number}: {without[-1]:,.0f} games/s without, {with_analyses[-1]:,.0f} with", flush=True)
    ratio = statistics.median(late / early for early, late in zip(without, with_analyses, strict=True))
    medians = statistics.median(without), statistics.median(with_analyses)
    print(f"medians: {medians[0]:,.0f} games/s without, {medians[1]:,.0f} with analyses; ratio {ratio:.3f}")
    used = _processor_seconds_of_children(server) - used_before
    share = used / analysing / len(psutil.Process().cpu_affinity())
    print(f"{measurement.analysed} games were analysed with {share:.1%} of the machine's processor time")


def _processor_seconds_of_children(process: psutil.Process) -> float:
    """Return the processor time of the ended children of a process. Analyses are the only ones here."""
    times = process.cpu_times()
    return float(times.children_user + times.children_system)


async def _store_games(file: Path) -> None:
    async with open_arena(file) as arena:
        await store_random_games(arena, "connect4", _ANALYSED_GAMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "games.sqlite"
        run_loop(_store_games(file))
        database = f"sqlite:///{file}"
        create = [*_NOUGHTS, "token", "create", "--owner", "carol", "--db", database, "--format", "json"]
        token = json.loads(subprocess.run(create, check=True, capture_output=True, text=True).stdout)["token"]
        serve = f"serve --listen 127.0.0.1:0 --no-web --no-puzzle-search --db {database} --format json"
        server = stack.enter_context(
            subprocess.Popen([*_NOUGHTS, *serve.split(), "--log-level", "error"], stdout=subprocess.PIPE, text=True)
        )
        # The second signal ends the server without waiting for its games.
        stack.callback(server.send_signal, signal.SIGTERM)
        stack.callback(server.send_signal, signal.SIGTERM)
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["grpc"]
        for bot in _BOTS:
            run = [*_NOUGHTS, "bot", "run", "random", "--name", bot, "--server", address, "--token", token]
            player = stack.enter_context(subprocess.Popen(run, stdout=subprocess.PIPE, text=True))
            stack.callback(player.kill)
            assert player.stdout is not None
            player.stdout.readline()  # it is online
        run_loop(_measure(address, token, psutil.Process(server.pid), arguments.rounds, arguments.seconds))


if __name__ == "__main__":
    main()
