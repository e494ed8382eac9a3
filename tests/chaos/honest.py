"""Honest matches with clocks while their server is attacked: losses on time, and the resources that the server uses."""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, ClassVar
from urllib.parse import urlsplit

import grpc.aio
import psutil

from noughts_bots import Bot
from noughts_bots.connection.process import allow_many_files
from noughts_bots.connection.session import Login, play
from noughts_proto.security import Dialling
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import bots_pb2, status_pb2, status_pb2_grpc, tournaments_pb2, types_pb2
from noughts_referee.rules import Position, Termination, parse_variant
from noughts_referee.work_units import pack_moves, pack_times
from tests.chaos.attacks import OTHER_SURFACES, STOPPED_BY_THE_PROXY, Attack, Target, attack_for
from tests.chaos.child_processes import ForkedProcess, noughts
from tests.chaos.world import ORGANISER, World, running_world
from tests.cluster.cluster import Nats
from tests.support.arena import open_arena
from tests.support.databases import POSTGRESQL, databases_of, make_database, rows_of, url_of
from tests.support.proxy import proxy_before

_NICE = 15
"""Nice value of the attackers, so that the server has the processor first."""
_THINKING_SHARE = 0.2
"""The share of its time limit for which an honest bot thinks."""
_CLOCKS = {"fast": (100_000, 16), "slow": (1_000_000, 8)}
"""Tournaments of the honest bots: microseconds for a move, and concurrent games."""
_LOOK = 0.1
"""Seconds between two looks at the server or its database."""
_FIRST_PLIES = 100
"""The number of stored plies after which the matches count as begun."""
_ARCHIVED, _ARCHIVED_PLIES = 3_000, 60
"""Finished games in the archive, and the plies of each."""
_FAILURES = (Termination.TIMEOUT, Termination.DISCONNECTED, Termination.CRASHED)


@dataclass(slots=True)
class AttackResult:
    """The effects of an attack."""

    attack: str
    seconds: float = 0.0
    plies: int = 0
    """The plies of the honest bots during the attack."""
    calm_rate: float = 0.0
    """Plies a second before the attack; 0 if not measured."""
    answer_seconds: list[float] = field(default_factory=list, repr=False)
    """The times in which another caller of the server got its answers."""
    visit_seconds: list[float] = field(default_factory=list, repr=False)
    """The times in which another visitor of the website got its pages."""
    lost: int = 0
    """Games of honest bots that ended by a timeout, a disconnection or a crash."""
    page_seconds: float = 0.0
    """The longest of `visit_seconds`."""
    child_mib: float = 0.0
    """The largest size of a child of the server: its website, or the trial of a bot."""
    before_mib: float = 0.0
    most_mib: float = 0.0
    after_mib: float = 0.0
    """Sizes of the server before and after the attack, and the largest during it."""
    died: list[str] = field(default_factory=list)
    """For each process of the server that ended by itself, the last line of its log."""
    counts: Counter[str] = field(default_factory=Counter)
    """The outcomes of the attack: `Target.counts`."""
    visits: Counter[str] = field(default_factory=Counter)
    """The answers to the other visitor of the website, by status."""

    @property
    def share(self) -> float:
        """Return the rate of plies during the attack as a share of the undisturbed rate."""
        return self.plies / self.seconds / self.calm_rate if self.calm_rate else 1.0

    @property
    def median_seconds(self) -> float:
        """Return the slower of the medians of answers and pages."""
        return max((median(times) for times in (self.answer_seconds, self.visit_seconds) if times), default=0.0)


class ThinkingBot(Bot):
    """A bot that thinks for a share of its time before each move, and plays several games at once."""

    max_games = 32

    async def choose(self, position: Position) -> int:
        await asyncio.sleep(_THINKING_SHARE * (position.limit_us or 0) / 1e6)
        return position.rng().choice(position.free)


class HonestWorld(World):
    """Four bots that play two matches with clocks, and an attacker with an account of its own."""

    names = tuple(f"honest{number}" for number in range(4))
    other_owners = ("mallory",)
    visit = b"GET /tournaments HTTP/1.0\r\n\r\n"
    """The request that the other visitor of the website repeats."""
    entrance: tuple[str, Dialling]
    """The address and the security that bots and attackers use: the server's, or those of a proxy."""

    async def start(self) -> None:
        """Start the server; bots connect to it directly."""
        await super().start()
        self.entrance = (self.address, Dialling())

    def start_bot(self, name: str) -> None:
        """Start one of the honest bots."""
        self.bots[name] = ForkedProcess(self.folder / name, _run_bot, *self.entrance, self.tokens[name], name)

    @property
    def bus(self) -> str:
        """The address of the server's bus, if it has one."""
        return ""

    async def close(self) -> None:
        """Kill all processes, because a polite end would wait for the endless matches and for games of the attacker."""
        for process in (*self.own_processes, *self.bots.values()):
            process.kill()
        await super().close()

    async def begin_matches(self) -> None:
        """Start a match for each clock. None ends during an attack."""
        for name in self.names:
            registration = bots_pb2.RegisterBotRequest(name=f"bots/{name}", open_to_tests=True)
            await self.call(self.bot_service.RegisterBot, registration, name)
        for name, (move_us, concurrency) in _CLOCKS.items():
            settings = {
                "schedule": tournaments_pb2.Schedule.SCHEDULE_ROUND_ROBIN,
                "games_per_pair": 100_000,
                "concurrency": concurrency,
                "time": types_pb2.TimeControl(move_us=move_us),
            }
            await self.start_tournament(name, settings)

    def counts(self) -> tuple[int, int]:
        """Return the stored plies of the honest matches, and the number of their games that were lost by a failure."""
        honest_games = "FROM games WHERE tournament_id IN (SELECT id FROM tournaments WHERE slug IN ('fast', 'slow'))"
        failures = ", ".join(str(int(termination)) for termination in _FAILURES)
        ((plies,),) = self.rows(f"SELECT coalesce(sum(length(moves)), 0) {honest_games}")
        ((lost,),) = self.rows(f"SELECT count(*) {honest_games} AND termination IN ({failures})")
        return int(plies), int(lost)


class ProxiedWorld(HonestWorld):
    """An honest world behind the reverse proxy of docs/how-to/operations.md, which bots and attackers use."""

    serve_options = ("--no-web", "--proxy", "127.0.0.1")

    async def start(self) -> None:
        """Also start the proxy."""
        await super().start()
        self._proxy = ExitStack()
        self.entrance = self._proxy.enter_context(proxy_before(self.address, self.folder))

    async def close(self) -> None:
        """Also end the proxy."""
        self._proxy.close()
        await super().close()


class WebWorld(HonestWorld):
    """An honest world with a website."""

    serve_options = ("--web", "127.0.0.1:0")


class AgentWorld(HonestWorld):
    """An honest world with tools for agents over HTTP, which trust a proxy on this machine."""

    visit = (
        b"POST /mcp HTTP/1.0\r\nhost: localhost:80\r\naccept: application/json, text/event-stream\r\n"
        b"content-type: application/json\r\ncontent-length: 46\r\n\r\n"
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    )

    async def start(self) -> None:
        """Also start the tools."""
        await super().start()
        arguments = ["mcp", "--listen", "127.0.0.1:0", "--proxy", "127.0.0.1", "--server", self.address]
        self._tools = noughts([*arguments, "--format", "json"], self.folder / "tools", {})
        self.website = urlsplit((await self._read_addresses(self._tools))["mcp"]).netloc

    @property
    def own_processes(self) -> tuple[ForkedProcess, ...]:
        """The server and the tools."""
        return (self.server, self._tools)


class ArchiveWorld(HonestWorld):
    """An honest world with an archive of many finished games."""

    archived: ClassVar = ("gomoku", _ARCHIVED, _ARCHIVED_PLIES)
    """The variant, the games and the plies of each."""

    async def start(self) -> None:
        name, count, plies = self.archived
        variant = parse_variant(name)
        async with open_arena(self.database) as arena:
            archive = await arena.tournament("archive", variant=name, games_per_pair=count, rated=False)
            games = await arena.play(archive)
            times = pack_times([1_000] * plies)
            for number, game in enumerate(games):
                cells = random.Random(number).sample(range(variant.cells), plies)
                games[number] = game._replace(moves=pack_moves(cells, variant.cells), times=times)
            await arena.commit(games)
        await super().start()


class WebArchiveWorld(ArchiveWorld, WebWorld):
    """An archive world with a website."""


class LargeBoardsWorld(WebArchiveWorld):
    """An archive world with a website, in which the games have full boards of 900 cells."""

    archived = ("mnk:30,30,5", 100, 900)


class UploadWorld(HonestWorld):
    """An honest world whose server accepts bots in Python."""

    serve_options = ("--no-web", "--accept", "py")


class ClusterWorld(HonestWorld):
    """An honest world that is a cluster of a server and a referee."""

    async def start(self) -> None:
        """Also start the bus and the referee."""
        make_database(self.database)
        self._nats = Nats(self.folder)
        await asyncio.to_thread(self._nats.start)
        self.serve_options = ("--no-web", "--bus", self.bus)
        self._start_referee()
        await super().start()

    @property
    def url(self) -> str:
        """The address of the database."""
        return url_of(self.database)

    @property
    def bus(self) -> str:
        """The address of the NATS of the cluster."""
        return self._nats.url

    @property
    def own_processes(self) -> tuple[ForkedProcess, ...]:
        """The server and the referee."""
        return (self.server, self._referee)

    def _start_referee(self) -> None:
        arguments = ["referee", "--format", "json", "--db", self.url, "--bus", self.bus]
        self._referee = noughts(arguments, self.folder / "referee", {})

    def restart_dead_processes(self) -> None:
        """Also restart the referee."""
        super().restart_dead_processes()
        if not self._referee.alive:
            self.tally.died.append(self._referee.last_line())
            self._start_referee()

    def log(self) -> str:
        """Return the logs of the server and the referee."""
        return super().log() + self._referee.output.with_suffix(".log").read_text(errors="replace")

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Return rows of the database, read by another program."""
        assert not values
        return rows_of(self.database, query)

    async def close(self) -> None:
        """Also end the bus."""
        await super().close()
        self._nats.kill()


WORLDS: Mapping[str, type[HonestWorld]] = {
    **dict.fromkeys(STOPPED_BY_THE_PROXY, ProxiedWorld),
    **{name: WebWorld for name in OTHER_SURFACES if name.startswith("site ")},
    "agent waits": AgentWorld,
    "long lists": ArchiveWorld,
    "site long lists": WebArchiveWorld,
    "site expensive pages": LargeBoardsWorld,
    "waiting calls": ArchiveWorld,
    **dict.fromkeys(("source bomb", "trial queue"), UploadWorld),
    "forged messages": ClusterWorld,
}
"""The world of each attack; all other attacks use `HonestWorld`."""


def _run_bot(address: str, dialling: Dialling, token: str, name: str) -> None:
    asyncio.run(play(ThinkingBot(), Login(address, token, name, dialling=dialling), lambda event: None))


def _run_attack(attack: Attack, seconds: float, target: Target, nice: int) -> None:
    os.nice(nice)
    allow_many_files()
    counts = asyncio.run(attack_for(seconds, attack, target))
    sys.stdout.write(json.dumps(counts))


@asynccontextmanager
async def honest_matches(folder: Path, kind: type[HonestWorld] = HonestWorld) -> AsyncIterator[HonestWorld]:
    """Run a server in this folder with the honest matches, which have begun."""
    with databases_of(POSTGRESQL) if kind is ClusterWorld else nullcontext():
        async with running_world(kind(folder)) as world:
            await world.begin_matches()
            while world.counts()[0] < _FIRST_PLIES:  # noqa: ASYNC110  # another process plays
                await asyncio.sleep(_LOOK)
            yield world


async def _visit(world: HonestWorld, result: AttackResult) -> None:
    """Repeat the visitor's request, and note times and statuses."""
    host, _, port = world.website.rpartition(":")
    while True:
        began, status = time.monotonic(), "no answer"
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port), local_addr=("127.0.0.2", 0))
            with closing(writer):
                writer.write(world.visit)
                status = (await reader.read(12)).decode().partition(" ")[2]
        result.visits[status] += 1
        result.visit_seconds.append(time.monotonic() - began)
        result.page_seconds = max(result.visit_seconds)
        await asyncio.sleep(_LOOK)


async def _call(world: HonestWorld, result: AttackResult) -> None:
    """Request the status of the server again and again, as the organiser, and note the times."""
    async with grpc.aio.insecure_channel(world.address) as channel:
        status: Any = status_pb2_grpc.StatusServiceStub(channel)
        while True:
            began = time.monotonic()
            with suppress(grpc.aio.AioRpcError):
                metadata = ((TOKEN_KEY, f"Bearer {world.tokens[ORGANISER]}"),)
                await status.GetStatus(status_pb2.GetStatusRequest(), metadata=metadata, timeout=20)
            result.answer_seconds.append(time.monotonic() - began)
            await asyncio.sleep(_LOOK)


async def measure_attack(
    world: HonestWorld, name: str, attack: Attack, seconds: float, nice: int = _NICE, *, calm_seconds: float = 0.0
) -> AttackResult:
    """Attack for this time, or until the attack has ended. Before, measure the undisturbed rate for `calm_seconds`.

    With the default `nice` the attacker leaves the cores to the matches; on a busy machine it hardly runs at all.
    """

    def server_mib() -> float:
        with suppress(psutil.NoSuchProcess):
            return float(psutil.Process(world.server.pid).memory_info().rss) / 2**20
        return 0.0

    def largest_child_mib() -> float:
        sizes = [0]
        with suppress(psutil.Error):
            for child in psutil.Process(world.server.pid).children(recursive=True):
                with suppress(psutil.Error):
                    sizes.append(child.memory_info().rss)
        return max(sizes) / 2**20

    result = AttackResult(name, before_mib=server_mib())
    if calm_seconds:
        began, (plies, _) = time.monotonic(), world.counts()
        await asyncio.sleep(calm_seconds)
        result.calm_rate = (world.counts()[0] - plies) / (time.monotonic() - began)
    began, (plies, lost) = time.monotonic(), world.counts()
    address, dialling = world.entrance
    target = Target(
        address=address,
        token=world.tokens["mallory"],
        victims=world.names,
        dialling=dialling,
        site=world.website,
        bus=world.bus,
    )
    attacker = ForkedProcess(world.folder / "attacker", _run_attack, attack, seconds, target, nice)
    async with asyncio.TaskGroup() as tasks:
        visiting = tasks.create_task(_visit(world, result) if world.website else asyncio.sleep(0))
        calling = tasks.create_task(_call(world, result))
        while attacker.alive:
            await asyncio.sleep(_LOOK)
            result.most_mib = max(result.most_mib, server_mib())
            result.child_mib = max(result.child_mib, largest_child_mib())
        visiting.cancel()
        calling.cancel()
    result.seconds = time.monotonic() - began
    result.died += [process.last_line() for process in world.own_processes if not process.alive]
    world.restart_dead_processes()
    plies_after, lost_after = world.counts()
    result.plies, result.lost = plies_after - plies, lost_after - lost
    result.after_mib = server_mib()
    result.counts.update(json.loads(attacker.output.read_text() or '{"the attacker died": 1}'))
    return result
