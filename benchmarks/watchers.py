"""Measure the cost of browsers that watch games: the website with thousands of event streams.

    python benchmarks/watchers.py [--rate 5] [--watchers 2000] [--others 200] [--rounds 5] [--seconds 10]

The server, its website, the two bots and the browsers are separate processes. The bots play eleven games at once with
RATE plies per second each. WATCHERS browsers watch the first game, OTHERS the ten others. Rounds without and with
browsers alternate. Prints the speed of the games in both (the median of the rounds), whether each browser received
every ply of its game in order, how many got a snapshot because they lagged, and the website's processor time per
browser and ply. First, a bare loop sends as many bytes to as many browsers: the processor time of its calls of `send`
is the kernel's part. Linux only, because processor times come from /proc.
"""

import argparse
import asyncio
import itertools
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import grpc.aio
import psutil

from noughts_bots import Bot, Position
from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import tournaments_pb2, tournaments_pb2_grpc

_CUP = "tournaments/cup"
_GAMES = 11
"""One game for the watchers, and ten for the others."""
_VARIANT, _PLIES = "mnk:30,30,30", 900  # nobody wins
_CONNECTING_AT_ONCE = 50
"""Browsers that connect at the same time."""
_STREAMS_EACH = 50
"""Event streams of each address."""
_SETTLE_SECONDS = 2.0
_PLY = b"fa\r\n%b\r\n" % (b"x" * 250)
"""About as many bytes as the event of a ply."""
_BARE_PLIES = 20
"""Events in each round of the bare loop."""
_CHILD = "noughts_server.web.child"


# The bots.


class PacedBot(Bot):
    """Makes a move in each game at a fixed pace. A late bot does not speed up later."""

    answers = 0
    """The answers of all bots of this class."""

    def __init__(self, rate: float) -> None:
        self._pause_seconds = 1 / rate

    async def choose(self, position: Position) -> int:
        await asyncio.sleep(self._pause_seconds)
        PacedBot.answers += 1
        return position.rng().choice(position.free)


async def _bots(address: str, token: str, rate: float) -> None:
    """Play, and print the number of answers so far for each input line, as soon as both bots are online."""
    online: asyncio.Queue[SessionEvent] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        for name in ("ada", "bob"):
            tasks.create_task(play(PacedBot(rate), Login(address, token, name), online.put_nowait))
        await online.get()
        await online.get()
        while await asyncio.to_thread(sys.stdin.readline):
            print(PacedBot.answers, flush=True)


# The browsers.


class _Browser(asyncio.Protocol):
    """A browser that stores what it receives and parses it later, so that only the server is measured."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._received: list[bytes] = []
        self.begun = asyncio.Event()
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.transport.write(f"GET {self._path} HTTP/1.1\r\nHost: site\r\nAccept: text/event-stream\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self.begun.set()

    def count_events(self) -> tuple[int, int, int]:
        """Return the number of plies in increments, of gaps between them, and of snapshots after the first."""
        plies = gaps = snapshots = known = 0
        for kind, document in _events(b"".join(self._received)):
            if kind == "snapshot":
                (game,) = document["games"]
                known = len(game["moves"])
                snapshots += 1
            elif kind == "increments":
                for ply in document["plies"]:
                    gaps += ply["ply"] != known
                    known = ply["ply"] + 1
                    plies += 1
        return plies, gaps, snapshots - 1


def _events(answer: bytes) -> Any:
    """Return the events of a chunked answer, without an incomplete one at the end."""
    body, rest = bytearray(), answer.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size or b"0", 16)
        if len(rest) < length + 2:
            break
        body += rest[:length]
        rest = rest[length + 2 :]
    for event in bytes(body).split(b"\n\n")[:-1]:
        fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if not line.startswith(b":"))
        if b"data" in fields:
            yield fields[b"event"].decode(), json.loads(fields[b"data"])


async def _browsers(site: str, watchers: int, others: int) -> None:
    """For each input line, connect all browsers, or disconnect them and print what they received."""
    host, _, port = site.removeprefix("http://").rpartition(":")
    loop = asyncio.get_running_loop()
    games = [1] * watchers + [2 + number % (_GAMES - 1) for number in range(others)]
    connecting = asyncio.Semaphore(_CONNECTING_AT_ONCE)

    async def connect(number: int, game: int) -> _Browser:
        async with connecting:
            # The website limits the streams of an address, so the browsers use many loopback addresses.
            source = f"127.0.{1 + number // _STREAMS_EACH // 250}.{1 + number // _STREAMS_EACH % 250}"
            path = f"/api/v1/{_CUP}/games/{game}/events"
            _, browser = await loop.create_connection(lambda: _Browser(path), host, int(port), local_addr=(source, 0))
            await browser.begun.wait()
            return browser

    while await asyncio.to_thread(sys.stdin.readline):
        browsers = await asyncio.gather(*map(connect, itertools.count(), games))
        print("connected", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        for browser in browsers:
            browser.transport.abort()
        counts = [browser.count_events() for browser in browsers]
        summary = {
            "fewest_plies": min(plies for plies, _, _ in counts),
            "gaps": sum(gaps for _, gaps, _ in counts),
            "laggards": sum(snapshots > 0 for _, _, snapshots in counts),
        }
        print(json.dumps(summary), flush=True)


# The main process.


async def _set_up(address: str, token: str) -> None:
    metadata = ((TOKEN_KEY, f"Bearer {token}"),)
    async with grpc.aio.insecure_channel(address) as channel:
        stub = tournaments_pb2_grpc.TournamentServiceStub(channel)
        cup = tournaments_pb2.Tournament(
            name=_CUP, variant=_VARIANT, games_per_pair=_GAMES, concurrency=_GAMES, seed=1, rated=False
        )
        await stub.CreateTournament(tournaments_pb2.CreateTournamentRequest(tournament=cup), metadata=metadata)
        for name in ("ada", "bob"):
            request = tournaments_pb2.JoinTournamentRequest(name=_CUP, bot=f"bots/{name}")
            await stub.JoinTournament(request, metadata=metadata)
        await stub.StartTournament(tournaments_pb2.StartTournamentRequest(name=_CUP), metadata=metadata)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _request_line(process: "subprocess.Popen[str]") -> str:
    """Write an empty line to the process, and return the line with which it answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


class _Measurement(NamedTuple):
    plies_per_second: float
    """The plies per second in each game."""
    server_cores: float
    site_cores: float


def _measure(server: int, site: int, bots: "subprocess.Popen[str]", seconds: float) -> _Measurement:
    """Measure for this number of seconds."""
    began = time.monotonic()
    plies = int(_request_line(bots))
    server_seconds, site_seconds = _cpu_seconds(server), _cpu_seconds(site)
    time.sleep(seconds)
    took = time.monotonic() - began
    server_cores = (_cpu_seconds(server) - server_seconds) / took
    site_cores = (_cpu_seconds(site) - site_seconds) / took
    plies_per_second = (int(_request_line(bots)) - plies) / took / _GAMES
    return _Measurement(plies_per_second=plies_per_second, server_cores=server_cores, site_cores=site_cores)


def _medians(rounds: list[_Measurement]) -> _Measurement:
    return _Measurement(*map(statistics.median, zip(*rounds, strict=True)))


def _bare_send(arguments: argparse.Namespace) -> float:
    """Return the processor time of a bare `send` of one event to one browser, in microseconds."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=_CONNECTING_AT_ONCE))
        place = f"http://127.0.0.1:{listener.getsockname()[1]}"
        this = [sys.executable, __file__, "--part", "browsers", "--address", place, "--others", "0"]
        browsers = stack.enter_context(
            subprocess.Popen(
                [*this, "--watchers", str(arguments.watchers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(browsers.kill)
        assert browsers.stdin is not None
        assert browsers.stdout is not None
        print(file=browsers.stdin, flush=True)
        connections = []
        for _ in range(arguments.watchers):
            connection = stack.enter_context(listener.accept()[0])
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.recv(1000)
            connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
            connections.append(connection)
        assert browsers.stdout.readline() == "connected\n"
        costs = []
        for _ in range(arguments.rounds):
            began = time.process_time()
            for _ in range(_BARE_PLIES):
                for connection in connections:
                    connection.send(_PLY)
                time.sleep(1 / arguments.rate)
            costs.append((time.process_time() - began) / _BARE_PLIES / len(connections))
    return 1e6 * statistics.median(costs)


def _run(arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    bare = _bare_send(arguments)
    database = f"{folder}/watchers.sqlite"
    noughts = [sys.executable, "-m", "noughts_server.cli"]
    create = [*noughts, "token", "create", "--owner", "ada", "--db", database, "--format", "json"]
    token = json.loads(subprocess.run(create, check=True, capture_output=True, text=True).stdout)["token"]
    serve = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {database} --format json --log-level error"
    piped: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen([*noughts, *serve.split()], **piped))
        # The second signal ends the server without waiting for its games.
        stack.callback(server.send_signal, signal.SIGTERM)
        stack.callback(server.send_signal, signal.SIGTERM)
        assert server.stdout is not None
        places = json.loads(server.stdout.readline())
        this = [sys.executable, __file__, "--rate", str(arguments.rate), "--token", token]
        bots = stack.enter_context(
            subprocess.Popen([*this, "--part", "bots", "--address", places["grpc"]], **piped),
        )
        stack.callback(bots.kill)
        _request_line(bots)  # answered as soon as both bots are online
        run_loop(_set_up(places["grpc"], token))
        (site,) = (child.pid for child in psutil.Process(server.pid).children() if _CHILD in child.cmdline())
        counts = ["--watchers", str(arguments.watchers), "--others", str(arguments.others)]
        browsers = stack.enter_context(
            subprocess.Popen([*this, "--part", "browsers", "--address", places["web"], *counts], **piped)
        )
        stack.callback(browsers.kill)
        alone, watched, deliveries = [], [], []
        for number in range(arguments.rounds):
            time.sleep(_SETTLE_SECONDS)
            alone.append(_measure(server.pid, site, bots, arguments.seconds))
            assert _request_line(browsers) == "connected\n"
            time.sleep(_SETTLE_SECONDS)
            watched.append(_measure(server.pid, site, bots, arguments.seconds))
            deliveries.append(json.loads(_request_line(browsers)))
            print(number + 1, alone[-1], watched[-1], deliveries[-1], file=sys.stderr)
        if int(_request_line(bots)) > 0.98 * _PLIES * _GAMES:
            sys.exit("The games ended before the last round did. Fix: use a lower --rate, --rounds or --seconds.")
    medians_alone, medians_watched = _medians(alone), _medians(watched)
    cost = medians_watched.site_cores - medians_alone.site_cores
    return {
        "plies_a_second_alone": round(medians_alone.plies_per_second, 2),
        "plies_a_second_watched": round(medians_watched.plies_per_second, 2),
        "ratio": round(medians_watched.plies_per_second / medians_alone.plies_per_second, 4),
        "gaps": sum(delivery["gaps"] for delivery in deliveries),
        "fewest_plies_told": min(delivery["fewest_plies"] for delivery in deliveries),
        "laggards": sum(delivery["laggards"] for delivery in deliveries),
        "server_cores": [round(medians.server_cores, 3) for medians in (medians_alone, medians_watched)],
        "site_cores": [round(medians.site_cores, 3) for medians in (medians_alone, medians_watched)],
        "microseconds_of_a_bare_send": round(bare, 1),
        "microseconds_of_the_site_a_watcher_and_ply": round(
            1e6 * cost / (arguments.watchers + arguments.others) / medians_watched.plies_per_second, 1
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=5)
    parser.add_argument("--watchers", type=int, default=2000)
    parser.add_argument("--others", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--part", choices=("bots", "browsers"), help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if arguments.part == "bots":
        run_loop(_bots(arguments.address, arguments.token, arguments.rate))
    elif arguments.part == "browsers":
        run_loop(_browsers(arguments.address, arguments.watchers, arguments.others))
    else:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(_run(arguments, folder), indent=2))


if __name__ == "__main__":
    main()
