"""An honest match with clocks during an attack on its server: losses on time, and the server's use of resources."""

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
from tests.chaos.attacks import ENDS_AT_THE_PROXY, OTHER_SURFACES, Attack, Target, attack_for
from tests.chaos.child_processes import Forked, noughts
from tests.chaos.world import ORGANISER, World, going
from tests.cluster.cluster import Nats
from tests.support.arena import open_arena
from tests.support.databases import POSTGRESQL, databases_of, make_database, rows_of, url_of
from tests.support.proxy import proxy_before

_NICE = 15
_SHARE = 0.2
"""The share of its limit that an honest bot thinks for."""
_CLOCKS = {"fast": (100_000, 16), "slow": (1_000_000, 8)}
"""Microseconds a move, and games at once."""
_LOOK = 0.1
_UNDER_WAY = 100
_ARCHIVED, _ARCHIVED_PLIES = 3_000, 60
"""Games that are over in an archive, and the plies of each."""
_FAILURES = (Termination.TIMEOUT, Termination.DISCONNECTED, Termination.CRASHED)


@dataclass(slots=True)
class AttackResult:
    """The effects of an attack."""

    attack: str
    seconds: float = 0.0
    plies: int = 0
    """The plies of honest bots, in games with clocks."""
    calm_rate: float = 0.0
    """Plies a second before the attack; 0 if that was not measured."""
    answer_seconds: list[float] = field(default_factory=list, repr=False)
    """The waits of another caller of the server, one for each answer."""
    visit_seconds: list[float] = field(default_factory=list, repr=False)
    """The waits of another visitor of the website, one for each page."""
    lost: int = 0
    """Games of honest bots that ended on time, or by an absence."""
    page_seconds: float = 0.0
    """The longest that another visitor of the website waited for a page."""
    child_mib: float = 0.0
    """The most that a child of the server used: its website, or the trial of a bot."""
    before_mib: float = 0.0
    most_mib: float = 0.0
    after_mib: float = 0.0
    died: list[str] = field(default_factory=list)
    """The last lines of our processes that ended by themselves."""
    counts: Counter[str] = field(default_factory=Counter)
    """The answers to the attacker, by status."""
    visits: Counter[str] = field(default_factory=Counter)
    """The answers to the other visitor of the website, by status."""

    @property
    def share(self) -> float:
        """Return which part of the undisturbed rate was played during the attack."""
        return self.plies / self.seconds / self.calm_rate if self.calm_rate else 1.0

    @property
    def median_seconds(self) -> float:
        """Return the slower of the medians of answers and pages."""
        return max((median(each) for each in (self.answer_seconds, self.visit_seconds) if each), default=0.0)


class Paced(Bot):
    """A bot that uses a part of its time for each move, and plays several games at once."""

    max_games = 32

    async def choose(self, position: Position) -> int:
        await asyncio.sleep(_SHARE * (position.limit_us or 0) / 1e6)
        return position.rng().choice(position.free)


class HonestWorld(World):
    """Four bots that play two matches with clocks, and an attacker with an account of its own."""

    names = tuple(f"honest{number}" for number in range(4))
    others = ("mallory",)
    visit = b"GET /tournaments HTTP/1.0\r\n\r\n"
    """The pages that the other visitor of the website requests."""
    door: tuple[str, Dialling]
    """The address and the security for all but the organiser."""

    async def begin(self) -> None:
        """Also opens the door: the server's own."""
        await super().begin()
        self.door = (self.address, Dialling())

    def start_bot(self, name: str) -> None:
        """Starts one of the honest bots."""
        self.bots[name] = Forked(self.folder / name, _play, *self.door, self.tokens[name], name)

    @property
    def bus(self) -> str:
        """The address of the server's bus, if it has one."""
        return ""

    async def close(self) -> None:
        """Ends everything at once: the matches have no end, and games of attackers who are gone would be waited for."""
        for process in (*self.ours, *self.bots.values()):
            process.kill()
        await super().close()

    async def begin_matches(self) -> None:
        """Begins a match for each clock; neither ends by itself."""
        for name in self.names:
            opened = bots_pb2.RegisterBotRequest(name=f"bots/{name}", open_to_tests=True)
            await self.asked(self.registered.RegisterBot, opened, name)
        for name, (move_us, concurrency) in _CLOCKS.items():
            settings = {
                "schedule": tournaments_pb2.Schedule.SCHEDULE_ROUND_ROBIN,
                "games_per_pair": 100_000,
                "concurrency": concurrency,
                "time": types_pb2.TimeControl(move_us=move_us),
            }
            await self.organise(name, settings)

    def counts(self) -> tuple[int, int]:
        """Plies of the honest matches, and games in them that were lost by what no honest bot does."""
        of_honest = "FROM games WHERE tournament_id IN (SELECT id FROM tournaments WHERE slug IN ('fast', 'slow'))"
        failures = ", ".join(str(int(each)) for each in _FAILURES)
        plies = self.rows(f"SELECT coalesce(sum(length(moves)), 0) {of_honest}")[0][0]
        return int(plies), int(self.rows(f"SELECT count(*) {of_honest} AND termination IN ({failures})")[0][0])


class ProxiedWorld(HonestWorld):
    """The same behind the reverse proxy of docs/how-to/operations.md, through which bots and attackers come."""

    served_with = ("--no-web", "--proxy", "127.0.0.1")

    async def begin(self) -> None:
        """Also starts the proxy, whose door it is."""
        await super().begin()
        self._proxy = ExitStack()
        self.door = self._proxy.enter_context(proxy_before(self.address, self.folder))

    async def close(self) -> None:
        """Ends the proxy, too."""
        self._proxy.close()
        await super().close()


class WebWorld(HonestWorld):
    """The same with a website."""

    served_with = ("--web", "127.0.0.1:0")


class AgentWorld(HonestWorld):
    """The same with tools for agents over HTTP, behind a reverse proxy on this machine."""

    visit = (
        b"POST /mcp HTTP/1.0\r\nhost: localhost:80\r\naccept: application/json, text/event-stream\r\n"
        b"content-type: application/json\r\ncontent-length: 46\r\n\r\n"
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    )

    async def begin(self) -> None:
        """Also starts the tools."""
        await super().begin()
        words = ["mcp", "--listen", "127.0.0.1:0", "--proxy", "127.0.0.1", "--server", self.address]
        self._tools = noughts([*words, "--format", "json"], self.folder / "tools", {})
        self.website = urlsplit((await self._announced(self._tools))["mcp"]).netloc

    @property
    def ours(self) -> tuple[Forked, ...]:
        """The server and the tools."""
        return (self.server, self._tools)


class ArchiveWorld(HonestWorld):
    """The same with many games that are over."""

    archived: ClassVar = ("gomoku", _ARCHIVED, _ARCHIVED_PLIES)
    """The variant, the games and the plies of each."""

    async def begin(self) -> None:
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
        await super().begin()


class WebArchiveWorld(ArchiveWorld, WebWorld):
    """The same with a website."""


class LargeBoardsWorld(WebArchiveWorld):
    """The same whose games have full boards of 900 cells."""

    archived = ("mnk:30,30,5", 100, 900)


class UploadWorld(HonestWorld):
    """The same with a server that takes bots in Python."""

    served_with = ("--no-web", "--accept", "py")


class ClusterWorld(HonestWorld):
    """The same as a cluster of a server and a referee."""

    async def begin(self) -> None:
        """Also starts the bus and the referee."""
        make_database(self.database)
        self._nats = Nats(self.folder)
        await asyncio.to_thread(self._nats.start)
        self.served_with = ("--no-web", "--bus", self.bus)
        self._start_referee()
        await super().begin()

    @property
    def url(self) -> str:
        """The address of the database."""
        return url_of(self.database)

    @property
    def bus(self) -> str:
        """The address of the NATS of the cluster."""
        return self._nats.url

    @property
    def ours(self) -> tuple[Forked, ...]:
        """The server and the referee."""
        return (self.server, self._referee)

    def _start_referee(self) -> None:
        words = ["referee", "--format", "json", "--db", self.url, "--bus", self.bus]
        self._referee = noughts(words, self.folder / "referee", {})

    def mend(self) -> None:
        """Also starts the referee again."""
        super().mend()
        if not self._referee.alive:
            self.tally.died.append(self._referee.last_line())
            self._start_referee()

    def log(self) -> str:
        """Return the logs of the server and the referee."""
        return super().log() + self._referee.said.with_suffix(".log").read_text(errors="replace")

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Return rows of the database, read by another program."""
        assert not values
        return rows_of(self.database, query)

    async def close(self) -> None:
        """Ends the bus, too."""
        await super().close()
        self._nats.kill()


WORLDS: Mapping[str, type[HonestWorld]] = {
    **dict.fromkeys(ENDS_AT_THE_PROXY, ProxiedWorld),
    **{name: WebWorld for name in OTHER_SURFACES if name.startswith("site ")},
    "agent waits": AgentWorld,
    "long lists": ArchiveWorld,
    "site long lists": WebArchiveWorld,
    "site expensive pages": LargeBoardsWorld,
    "waiting calls": ArchiveWorld,
    **dict.fromkeys(("source bomb", "trial queue"), UploadWorld),
    "forged messages": ClusterWorld,
}
"""The options of servers by attack; all other attacks need a server without a website."""


def _play(address: str, dialling: Dialling, token: str, name: str) -> None:
    asyncio.run(play(Paced(), Login(address, token, name, dialling=dialling), lambda event: None))


def _attack(attack: Attack, seconds: float, target: Target, nice: int) -> None:
    os.nice(nice)
    allow_many_files()
    told = asyncio.run(attack_for(seconds, attack, target))
    sys.stdout.write(json.dumps(told))


@asynccontextmanager
async def honest_matches(folder: Path, kind: type[HonestWorld] = HonestWorld) -> AsyncIterator[HonestWorld]:
    """A server in this folder, at which the matches are played."""
    with databases_of(POSTGRESQL) if kind is ClusterWorld else nullcontext():
        async with going(kind(folder)) as made:
            await made.begin_matches()
            while made.counts()[0] < _UNDER_WAY:  # noqa: ASYNC110  # another process plays
                await asyncio.sleep(_LOOK)
            yield made


async def _visit(made: HonestWorld, result: AttackResult) -> None:
    """Another visitor of the website asks for one page after the other."""
    host, _, port = made.website.rpartition(":")
    while True:
        began, status = time.monotonic(), "no answer"
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port), local_addr=("127.0.0.2", 0))
            with closing(writer):
                writer.write(made.visit)
                status = (await reader.read(12)).decode().partition(" ")[2]
        result.visits[status] += 1
        result.visit_seconds.append(time.monotonic() - began)
        result.page_seconds = max(result.visit_seconds)
        await asyncio.sleep(_LOOK)


async def _call(made: HonestWorld, result: AttackResult) -> None:
    """The organiser asks for the state of the server, again and again."""
    async with grpc.aio.insecure_channel(made.address) as channel:
        status: Any = status_pb2_grpc.StatusServiceStub(channel)
        while True:
            began = time.monotonic()
            with suppress(grpc.aio.AioRpcError):
                metadata = ((TOKEN_KEY, f"Bearer {made.tokens[ORGANISER]}"),)
                await status.GetStatus(status_pb2.GetStatusRequest(), metadata=metadata, timeout=20)
            result.answer_seconds.append(time.monotonic() - began)
            await asyncio.sleep(_LOOK)


async def measure_attack(
    made: HonestWorld, name: str, attack: Attack, seconds: float, nice: int = _NICE, *, calm_seconds: float = 0.0
) -> AttackResult:
    """Attack for so long, or until the attack is done. Before, measure for `calm_seconds` what the bots play.

    With the default `nice` the attacker leaves the cores to the matches; on a busy machine it hardly runs at all.
    """

    def memory() -> float:
        with suppress(psutil.NoSuchProcess):
            return float(psutil.Process(made.server.pid).memory_info().rss) / 2**20
        return 0.0

    def largest_child() -> float:
        sizes = [0]
        with suppress(psutil.Error):
            for child in psutil.Process(made.server.pid).children(recursive=True):
                with suppress(psutil.Error):
                    sizes.append(child.memory_info().rss)
        return max(sizes) / 2**20

    result = AttackResult(name, before_mib=memory())
    if calm_seconds:
        began, (plies, _) = time.monotonic(), made.counts()
        await asyncio.sleep(calm_seconds)
        result.calm_rate = (made.counts()[0] - plies) / (time.monotonic() - began)
    began, (plies, lost) = time.monotonic(), made.counts()
    address, dialling = made.door
    target = Target(address, made.tokens["mallory"], made.names, dialling, made.website, made.bus)
    attacker = Forked(made.folder / "attacker", _attack, attack, seconds, target, nice)
    async with asyncio.TaskGroup() as tasks:
        visiting = tasks.create_task(_visit(made, result) if made.website else asyncio.sleep(0))
        calling = tasks.create_task(_call(made, result))
        while attacker.alive:
            await asyncio.sleep(_LOOK)
            result.most_mib = max(result.most_mib, memory())
            result.child_mib = max(result.child_mib, largest_child())
        visiting.cancel()
        calling.cancel()
    result.seconds = time.monotonic() - began
    result.died += [each.last_line() for each in made.ours if not each.alive]
    made.mend()
    now = made.counts()
    result.plies, result.lost = now[0] - plies, now[1] - lost
    result.after_mib = memory()
    result.counts.update(json.loads(attacker.said.read_text() or '{"the attacker died": 1}'))
    return result
