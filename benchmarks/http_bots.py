"""Measure the latency that playing over HTTP adds to each move: many bots with one second for a move.

    python benchmarks/http_bots.py [--bots 200] [--rounds 1] [--think 0.6] [--spread 0.2] [--over http|grpc]
        [--requests 1|2]

The server with its website, and the bots are separate processes. All bots play Connect Four at the same time, in pairs,
with 1 s for each move. Each bot sleeps THINK seconds before each answer, more or less by up to SPREAD seconds at
random (0: all bots answer at the same time). The server charges all network time
(`--network-cap 0`), so that the latency of a move is the time that the server has recorded, minus the time between
question and answer in the bot. Over HTTP, a bot answers and waits in one request, or in two (`--requests 2`). Prints
how many moves were made, how many games were lost on time, the percentiles of the latency in milliseconds, and the
cores that the server, the website and the bots used. Linux only, because processor times come from /proc.
"""

import argparse
import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import grpc.aio
import psutil

from noughts_bots import Bot, GameInfo, Position
from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import games_pb2, games_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc, types_pb2

_CUP = "tournaments/cup"
_OPENING_AT_ONCE = 16
"""Sessions that are opened at the same time."""
_MOVE_US = 1_000_000
"""Time of each move."""
_CHILD = "noughts_server.web.child"
_LONGEST_SECONDS = 600.0
"""Limit of the whole measurement."""

Thoughts = dict[tuple[str, int], float]
"""The time between question and answer in the bot, in seconds, by game and ply."""
Think = Callable[[], float]
"""Returns the seconds for which a bot thinks about its next move."""


# The bots.


class _HttpBot:
    """A bot with one connection to the website, which it keeps open."""

    def __init__(self, site: str, token: str, name: str, thoughts: Thoughts) -> None:
        self._host, _, port = site.removeprefix("http://").rpartition(":")
        self._port = int(port)
        self._token = token
        self._name = name
        self._thoughts = thoughts
        self._session = ""

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        answer = await self._request("POST", "", {"bot": self._name, "variants": ["connect4"]})
        self._session = f"/{answer['session']}"

    async def play(self, think: Think, *, requests: int) -> None:
        moves: list[dict[str, int]] = []
        while True:
            if requests == 1:
                report = await self._request("POST", f"{self._session}/moves?wait=25", {"moves": moves})
            else:
                if moves:
                    await self._request("POST", f"{self._session}/moves", {"moves": moves})
                report = await self._request("GET", f"{self._session}/turns?wait=25", None)
            asked = time.monotonic()
            moves = []
            for turn in report["turns"]:
                await asyncio.sleep(think())
                legal = turn["legal"]
                moves.append({"turn": turn["turn"], "move": legal[int(turn["seed"]) * (turn["ply"] + 1) % len(legal)]})
                self._thoughts[turn["game"], turn["ply"]] = time.monotonic() - asked

    async def _request(self, method: str, path: str, content: Any) -> Any:
        body = b"" if content is None else json.dumps(content).encode()
        self._writer.write(
            f"{method} /api/v1/play{path} HTTP/1.1\r\nHost: site\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        answer = json.loads(await self._reader.readexactly(int(head.partition("content-length: ")[2].split()[0])))
        if "error" in answer:
            sys.exit(f"{self._name}: {answer['error']}")
        return answer


class _GrpcBot(Bot):
    """The same bot with the SDK."""

    max_games = 1
    variants = ("connect4",)

    def __init__(self, think: Think, thoughts: Thoughts) -> None:
        self._think = think
        self._thoughts = thoughts
        self._game = ""

    def start(self, game: GameInfo) -> None:
        self._game = game.name

    async def choose(self, position: Position) -> int:
        asked = time.monotonic()
        game, ply = self._game, position.ply
        await asyncio.sleep(self._think())
        self._thoughts[game, ply] = time.monotonic() - asked
        return position.rng().choice(position.free)


async def _bots(arguments: argparse.Namespace) -> None:
    """Play, and print the thoughts of all bots as JSON after an input line."""
    thoughts: Thoughts = {}
    random = Random(1)

    def think() -> float:
        return random.uniform(arguments.think - arguments.spread, arguments.think + arguments.spread)

    opening = asyncio.Semaphore(_OPENING_AT_ONCE)
    names = [f"bot-{number}" for number in range(arguments.bots)]
    http_bots = [_HttpBot(arguments.address, arguments.token, name, thoughts) for name in names]

    async def open_one(bot: _HttpBot) -> None:
        async with opening:
            await bot.open()

    online: asyncio.Queue[None] = asyncio.Queue()

    def note(event: SessionEvent) -> None:
        if isinstance(event, Online):
            online.put_nowait(None)

    async with asyncio.TaskGroup() as tasks:
        if arguments.over == "http":
            await asyncio.gather(*map(open_one, http_bots))
            playing = [tasks.create_task(bot.play(think, requests=arguments.requests)) for bot in http_bots]
        else:
            playing = [
                tasks.create_task(
                    play(_GrpcBot(think, thoughts), Login(arguments.address, arguments.token, name), note)
                )
                for name in names
            ]
            for _ in names:
                await online.get()
        print("online", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(json.dumps([[game, ply, seconds] for (game, ply), seconds in thoughts.items()]), flush=True)
        for task in playing:
            task.cancel()


# The main process.


async def _play_cup(address: str, token: str, bots: int, rounds: int) -> list[games_pb2.Game]:
    """Play a Swiss tournament of all bots, and return its games."""
    metadata = ((TOKEN_KEY, f"Bearer {token}"),)
    async with grpc.aio.insecure_channel(address) as channel, asyncio.timeout(_LONGEST_SECONDS):
        stub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        cup = tournaments_pb2.Tournament(
            name=_CUP,
            variant="connect4",
            schedule=tournaments_pb2.SCHEDULE_SWISS,
            rounds=rounds,
            games_per_pair=2,
            concurrency=bots,
            time=types_pb2.TimeControl(move_us=_MOVE_US),
            rated=False,
        )
        await stub.CreateTournament(tournaments_pb2.CreateTournamentRequest(tournament=cup), metadata=metadata)
        for number in range(bots):
            request = tournaments_pb2.JoinTournamentRequest(name=_CUP, bot=f"bots/bot-{number}")
            await stub.JoinTournament(request, metadata=metadata)
        await stub.StartTournament(tournaments_pb2.StartTournamentRequest(name=_CUP), metadata=metadata)
        get = tournaments_pb2.GetTournamentRequest(name=_CUP)
        state = tournaments_pb2.TOURNAMENT_STATE_RUNNING
        while state != tournaments_pb2.TOURNAMENT_STATE_FINISHED:
            await asyncio.sleep(1)
            state = (await stub.GetTournament(get)).tournament.state
        games = games_pb2_grpc.GameServiceStub(channel)
        page = await games.ListGames(games_pb2.ListGamesRequest(parent=_CUP, page_size=1000))
        return list(page.games)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run(arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    database = f"{folder}/bots.sqlite"
    noughts = [sys.executable, "-m", "noughts_server.cli"]
    create = [*noughts, "token", "create", "--owner", "ada", "--db", database, "--format", "json"]
    token = json.loads(subprocess.run(create, check=True, capture_output=True, text=True).stdout)["token"]
    serve = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {database} --format json --log-level error"
    piped: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen([*noughts, *serve.split(), "--network-cap", "0"], **piped))
        # The second signal ends the server without waiting for its games.
        stack.callback(server.send_signal, signal.SIGTERM)
        stack.callback(server.send_signal, signal.SIGTERM)
        assert server.stdout is not None
        places = json.loads(server.stdout.readline())
        this = [sys.executable, __file__, "--part", "bots", "--token", token, "--over", arguments.over]
        options = ["--bots", str(arguments.bots), "--think", str(arguments.think), "--spread", str(arguments.spread)]
        options += ["--requests", str(arguments.requests)]
        address = places["web" if arguments.over == "http" else "grpc"]
        bots = stack.enter_context(subprocess.Popen([*this, *options, "--address", address], **piped))
        stack.callback(bots.kill)
        assert bots.stdout is not None
        assert bots.stdin is not None
        if bots.stdout.readline() != "online\n":
            sys.exit("The bots did not get online.")
        (site,) = (child.pid for child in psutil.Process(server.pid).children() if _CHILD in child.cmdline())
        pids = {"server": server.pid, "website": site, "bots": bots.pid}
        before, began = {name: _cpu_seconds(pid) for name, pid in pids.items()}, time.monotonic()
        games = asyncio.run(_play_cup(places["grpc"], token, arguments.bots, arguments.rounds))
        took = time.monotonic() - began
        cores = {name: round((_cpu_seconds(pid) - before[name]) / took, 3) for name, pid in pids.items()}
        print(file=bots.stdin, flush=True)
        thoughts = {(game, ply): seconds for game, ply, seconds in json.loads(bots.stdout.readline())}
    moves = [
        (charged / 1e3 - 1e3 * thoughts[game.name, ply], ply)
        for game in games
        for ply, charged in enumerate(game.times_us)
        if (game.name, ply) in thoughts
    ]
    latencies = sorted(latency for latency, _ in moves)
    slowest = sorted(moves)[-len(moves) // 100 :]
    endings = Counter(types_pb2.Termination.Name(game.termination).lower() for game in games)
    return {
        "games": len(games),
        "moves": len(latencies),
        "lost_on_time": endings["termination_timeout"],
        "endings": dict(endings),
        **{f"p{percent:g}_ms": round(_percentile(latencies, percent), 1) for percent in (50, 90, 99, 99.9, 100)},
        "plies_of_the_slowest_percent": dict(sorted(Counter(ply for _, ply in slowest).items())),
        "moves_a_second": round(len(latencies) / took, 1),
        "cores": cores,
        "load": [round(average, 1) for average in os.getloadavg()],
    }


def _percentile(values: list[float], percent: float) -> float:
    """Return the smallest value that at least this share of the sorted values does not exceed."""
    return values[max(0, math.ceil(len(values) * percent / 100) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bots", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--think", type=float, default=0.6)
    parser.add_argument("--spread", type=float, default=0.2)
    parser.add_argument("--over", choices=("http", "grpc"), default="http")
    parser.add_argument("--requests", type=int, choices=(1, 2), default=1)
    parser.add_argument("--part", choices=("bots",), help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        run_loop(_bots(arguments))
    else:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(_run(arguments, folder), indent=2))


if __name__ == "__main__":
    main()
