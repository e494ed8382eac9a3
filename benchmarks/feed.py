"""What watching costs: a paced load, and hundreds who watch it.

    python benchmarks/feed.py [--rate 2000] [--seconds 30] [--watchers 200] [--lazy 10] [--game-watchers 20]

A server, two bots that together make RATE plies a second, and the watchers, each in a process of their own. First the
load alone, then with watchers: so many of one tournament, some of whom never read until the end (each over a
connection of its own, with a small window), and some of single games, one game after the other. Prints the plies a
second and the server's share of a core both times, whether what the readers got was without a gap, and how many of
those who never read were told to resync when at last they read. Linux only: processor times are read in /proc.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from noughts_bots import Bot, Position
from noughts_bots.event_loop import run_loop
from noughts_bots.events import SessionEvent
from noughts_bots.session import Login, play
from noughts_proto.feed_view import View
from noughts_proto.transport import CLIENT_OPTIONS, TOKEN_KEY
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import feed_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc

_CUP = "tournaments/cup"
_IN_FLIGHT = 400
_WARM_SECONDS = 5.0
_WATCHERS_A_CHANNEL = 20
_OWN_CONNECTION = (*CLIENT_OPTIONS, ("grpc.use_local_subchannel_pool", 1))
_SMALL_WINDOW = (*_OWN_CONNECTION, ("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0))


# The bots.


class Paced(Bot):
    """Random moves at a common pace: each answer of all bots has a moment of its own."""

    next_at = 0.0
    answers = 0

    def __init__(self, rate: float) -> None:
        self._every = 1 / rate

    async def choose(self, position: Position) -> int:
        now = time.monotonic()
        # Whoever is late does not hurry later: at most a tenth of a second is made up for.
        Paced.next_at = moment = max(Paced.next_at + self._every, now - 0.1)
        if moment > now:
            await asyncio.sleep(moment - now)
        Paced.answers += 1
        return position.rng().choice(position.free)


async def _bots(address: str, token: str, rate: float) -> None:
    """Plays, and prints the number of answers so far for each line that comes in, once both are online."""
    online: asyncio.Queue[SessionEvent] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        for name in ("ada", "bob"):
            tasks.create_task(play(Paced(rate), Login(address, token, name), online.put_nowait))
        await online.get()
        await online.get()
        while await asyncio.to_thread(sys.stdin.readline):
            print(Paced.answers, flush=True)


# The watchers.


class _Check:
    """Whether the messages of one stream are without a gap, and fit together."""

    def __init__(self) -> None:
        self.view = View()
        self.sequence = -1
        self.messages = self.plies = self.gaps = self.resyncs = 0

    def take(self, message: pb.WatchResponse) -> None:
        self.messages += 1
        self.resyncs += message.HasField("resync")
        if message.HasField("increments"):
            self.gaps += message.sequence != self.sequence + 1
            for ply in message.increments.plies:
                self.plies += 1
                known = self.view.games.get(ply.game)
                if known is not None:
                    self.gaps += ply.ply != len(known.moves)
        self.sequence = message.sequence
        self.view.take(message)


async def _watch(stub: Any, name: str, until: float, check: _Check) -> None:
    call = stub.Watch(pb.WatchRequest(name=name))
    try:
        async with asyncio.timeout_at(until):
            async for message in call:
                check.take(message)
    except TimeoutError:
        call.cancel()


async def _watch_games(stub: Any, place: int, follow: _Check, until: float, checks: list[_Check]) -> None:
    """One game after the other, each from before its begin."""
    while asyncio.get_running_loop().time() < until:
        cup = follow.view.tournaments.get(_CUP)
        if cup is None:
            await asyncio.sleep(0.1)
            continue
        number = cup.games_done + _IN_FLIGHT + 50 + place
        check = _Check()
        await _watch(stub, f"{_CUP}/games/{number}", until, check)
        checks.append(check)


async def _never_read(stub: Any, until: float) -> bool:
    """Whether it is told to resync once it reads at last."""
    loop = asyncio.get_running_loop()
    call = stub.Watch(pb.WatchRequest(name=_CUP))
    await call.read()
    await asyncio.sleep(until - loop.time())
    try:
        async with asyncio.timeout(10):
            while (message := await call.read()) is not grpc.aio.EOF:
                if message.HasField("resync"):
                    return True
    except TimeoutError:
        pass
    finally:
        call.cancel()
    return False


async def _watchers(arguments: argparse.Namespace) -> None:
    until = asyncio.get_running_loop().time() + arguments.seconds
    readers = [_Check() for _ in range(arguments.watchers - arguments.lazy)]
    games: list[_Check] = []
    channels = [
        grpc.aio.insecure_channel(arguments.address, options=_OWN_CONNECTION)
        for _ in range(-(-len(readers) // _WATCHERS_A_CHANNEL))
    ]
    stubs = [feed_pb2_grpc.FeedServiceStub(channel) for channel in channels]
    own = [grpc.aio.insecure_channel(arguments.address, options=_SMALL_WINDOW) for _ in range(arguments.lazy)]
    async with asyncio.TaskGroup() as tasks:
        for index, check in enumerate(readers):
            tasks.create_task(_watch(stubs[index % len(stubs)], _CUP, until, check))
        for place in range(arguments.game_watchers):
            tasks.create_task(_watch_games(stubs[place % len(stubs)], place, readers[0], until, games))
        lazy = [tasks.create_task(_never_read(feed_pb2_grpc.FeedServiceStub(channel), until)) for channel in own]
    for channel in (*channels, *own):
        await channel.close()
    document = {
        "readers": len(readers),
        "messages_each": round(sum(check.messages for check in readers) / len(readers)),
        "plies_each": round(sum(check.plies for check in readers) / len(readers)),
        "gaps": sum(check.gaps for check in readers),
        "resyncs": sum(check.resyncs for check in readers),
        "games_watched": len(games),
        "game_plies": sum(check.plies for check in games),
        "game_gaps": sum(check.gaps for check in games),
        "lazy": len(lazy),
        "lazy_told": sum(task.result() for task in lazy),
    }
    print(json.dumps(document))


# The main process.


async def _set_up(address: str, token: str) -> None:
    metadata = ((TOKEN_KEY, f"Bearer {token}"),)
    async with grpc.aio.insecure_channel(address) as channel:
        stub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        tournament = tournaments_pb2.Tournament(name=_CUP, games_per_pair=1_000_000, concurrency=_IN_FLIGHT, seed=1)
        await stub.CreateTournament(tournaments_pb2.CreateTournamentRequest(tournament=tournament), metadata=metadata)
        for name in ("ada", "bob"):
            request = tournaments_pb2.JoinTournamentRequest(name=_CUP, bot=f"bots/{name}")
            await stub.JoinTournament(request, metadata=metadata)
        await stub.StartTournament(tournaments_pb2.StartTournamentRequest(name=_CUP), metadata=metadata)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _measured(pid: int, bots: "subprocess.Popen[str]", seconds: float) -> dict[str, float]:
    """Over the time: plies answered a second, and the server's share of a core."""
    cpu, began, plies = _cpu_seconds(pid), time.monotonic(), _answered(bots)
    time.sleep(seconds)
    took = time.monotonic() - began
    return {
        "plies_per_second": round((_answered(bots) - plies) / took),
        "server_cores": round((_cpu_seconds(pid) - cpu) / took, 3),
    }


def _answered(bots: "subprocess.Popen[str]") -> int:
    """The bots' count of their answers."""
    assert bots.stdin is not None
    assert bots.stdout is not None
    bots.stdin.write("\n")
    bots.stdin.flush()
    return int(bots.stdout.readline())


def _run(arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    database = f"{folder}/feed.sqlite"
    noughts = [sys.executable, "-m", "noughts_server.cli"]
    made = subprocess.run(
        [*noughts, "token", "create", "--owner", "ada", "--db", database, "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    token = json.loads(made.stdout)["token"]
    serve = [
        *noughts,
        "serve",
        "--no-web",
        "--listen",
        "127.0.0.1:0",
        "--db",
        database,
        "--format",
        "json",
        "--log-level",
        "error",
    ]
    this = [sys.executable, __file__]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["grpc"]
        paced = [*this, "--part", "bots", "--address", address, "--token", token, "--rate", str(arguments.rate)]
        with subprocess.Popen(paced, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bots:
            try:
                _answered(bots)  # they are online
                run_loop(_set_up(address, token))
                time.sleep(_WARM_SECONDS)
                alone = _measured(server.pid, bots, arguments.seconds)
                lengths = {"seconds": arguments.seconds + _WARM_SECONDS, "watchers": arguments.watchers}
                lengths |= {"lazy": arguments.lazy, "game-watchers": arguments.game_watchers}
                options = [str(part) for name, value in lengths.items() for part in (f"--{name}", value)]
                watch = [*this, "--part", "watchers", "--address", address, *options]
                with subprocess.Popen(watch, stdout=subprocess.PIPE, text=True) as watchers:
                    time.sleep(_WARM_SECONDS)
                    watched = _measured(server.pid, bots, arguments.seconds - 1)
                    said, _ = watchers.communicate()
                return {"alone": alone, "watched": watched, "watchers": json.loads(said)}
            finally:
                bots.kill()
                server.send_signal(signal.SIGTERM)
                server.send_signal(signal.SIGTERM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--lazy", type=int, default=10)
    parser.add_argument("--game-watchers", type=int, default=20)
    parser.add_argument("--part", choices=("bots", "watchers"), help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part == "bots":
        run_loop(_bots(arguments.address, arguments.token, arguments.rate))
    elif arguments.part == "watchers":
        run_loop(_watchers(arguments))
    else:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(_run(arguments, folder), indent=2))


if __name__ == "__main__":
    main()
