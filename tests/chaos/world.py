"""A server and bots as processes, a network between them, tournaments of every format; what must hold at the end."""

import asyncio
import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
import grpc.aio
import psutil

from noughts_proto.transport import CLIENT_OPTIONS, TOKEN_KEY, TOKEN_VARIABLE
from noughts_proto.v1 import bots_pb2, bots_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc
from noughts_server.store.engine.database import Store
from noughts_server.store.people.scopes import DEFAULT_SCOPES
from noughts_server.store.people.tokens import create_token
from noughts_server.store.ratings.rating_lists import rebuild_ratings
from tests.chaos.child_processes import Forked, WallClock, noughts
from tests.support.loopback import Link, link_to, other_tasks

Returned = TypeVar("Returned")
Some = TypeVar("Some", bound="World")

PATIENCE = 120.0
"""Seconds after which something that must come has failed to."""
_LOOK = 0.05
PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
_OPTIONS = (*CLIENT_OPTIONS, ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200))

LADDER = "ladder"
_KINDS = tournaments_pb2.Schedule
FORMATS: Mapping[str, Mapping[str, Any]] = {
    LADDER: {"schedule": _KINDS.SCHEDULE_LADDER, "games_per_pair": 4},
    "knockout": {"schedule": _KINDS.SCHEDULE_KNOCKOUT, "games_per_pair": 30, "stop_when_decided": True},
    "swiss": {"schedule": _KINDS.SCHEDULE_SWISS, "rounds": 5, "games_per_pair": 60},
    "danish": {"schedule": _KINDS.SCHEDULE_DANISH, "rounds": 5, "games_per_pair": 60},
    "candidates": {"schedule": _KINDS.SCHEDULE_CANDIDATES, "games_per_pair": 200, "sprt": "elo0=0,elo1=80"},
    # Its pace decides how many of its games run at once.
    "match": {
        "schedule": _KINDS.SCHEDULE_MATCH,
        "games_per_pair": 1_000,
        "sprt": "elo0=-30,elo1=30",
        "throughput": 100,
        "concurrency": 0,
    },
    "gauntlet": {"schedule": _KINDS.SCHEDULE_GAUNTLET, "games_per_pair": 400},
    "round-robin": {"schedule": _KINDS.SCHEDULE_ROUND_ROBIN, "games_per_pair": 140},
}
"""Those that take longest first. The ladder ends when the others have."""
_MOST_ENTRIES = {"match": 2, "candidates": 4}
BOTS = tuple(f"bot{number}" for number in range(6))
ORGANISER = "ada"
_CONCURRENCY = 16
_ALL_BUT_ADMIN = ("play", "organise", "submit")

_OF = "WHERE tournament_id = (SELECT id FROM tournaments WHERE slug = ?)"
_STORED = (
    f"SELECT ordinal, first_entry, second_entry, result, termination, moves FROM games {_OF} ORDER BY ordinal",
    f"SELECT ordinal, first_entry, second_entry, encounter, round FROM pairings {_OF} ORDER BY ordinal",
    f"SELECT round, entry FROM byes {_OF} ORDER BY round",
    "SELECT state, games_done, games_total, reason, match_counts FROM tournaments WHERE slug = ?",
)


@dataclass(slots=True)
class Tally:
    """Counts of events, and of events that must not happen."""

    troubles: Counter[str] = field(default_factory=Counter)
    games: int = 0
    rounds: int = 0
    replayed: int = 0
    """Units that were claimed more than once."""
    lost: int = 0
    doubled: int = 0
    differing: int = 0
    """Games, pairings, byes and verdicts that are not those of an undisturbed run."""
    crashed: int = 0
    """Games that an uploaded bot lost because its process was killed."""
    uploads: int = 0
    """Acknowledged uploads of other bots."""
    visits: Counter[str] = field(default_factory=Counter)
    """Counts of what people at the website did and saw."""
    ratings: int = 0
    """That differ from a rebuild."""
    died: list[str] = field(default_factory=list)
    """The last line that each process wrote which ended by itself."""
    traceback: str = ""
    """The first that one of ours has logged."""
    left: list[str] = field(default_factory=list)
    """Processes, files and tasks that are there when all has ended."""
    server_mib: float = 0.0
    """The most that a server has used."""

    @property
    def is_clean(self) -> bool:
        """Has nothing happened that must not?"""
        return not (self.lost or self.doubled or self.differing or self.ratings or self.left or self.traceback)


class World:
    """One server, its bots and their network; `going` sets it going."""

    names: tuple[str, ...] = BOTS
    """Its bots, each of an owner of that name."""
    others: tuple[str, ...] = ()
    """Other owners of a token."""
    served_with: tuple[str, ...] = ("--no-web",)
    """Further options of `noughts serve`."""

    def __init__(self, folder: Path, seed: int = 1, database_folder: Path | None = None) -> None:
        self.chance = random.Random(seed)
        self.tally = Tally()
        self.clock = WallClock(folder / "clock")
        self.database_folder = database_folder or folder
        self.database = self.database_folder / "noughts.sqlite"
        self.tokens: dict[str, str] = {}
        self.server_variables: dict[str, str] = {}
        self.bots: dict[str, Forked] = {}
        self.link = Link(0)
        self.server: Forked
        self.address = "127.0.0.1:0"
        self.website = ""
        """HOST:PORT of the server's website, if it has one."""
        self.folder = folder
        self._channel: grpc.aio.Channel

    async def begin(self) -> None:
        """Makes the tokens, and starts the server: from now on it has its port."""
        store = await Store.open(self.url, alone=True)
        for owner in (ORGANISER, *self.names, *self.others):
            scopes = _ALL_BUT_ADMIN if owner in self.others else DEFAULT_SCOPES
            made = await store.write(
                partial(create_token, owner=owner, scopes=scopes, now_ms=store.now_ms()),
            )
            self.tokens[owner] = made.secret
        await store.close()
        self.start_server()
        places = await self._announced(self.server)
        self.address, self.website = places["grpc"], (places["web"] or "").removeprefix("http://")
        self._channel = grpc.aio.insecure_channel(self.address, options=_OPTIONS)
        self.tournaments: Any = tournaments_pb2_grpc.TournamentServiceStub(self._channel)
        self.registered: Any = bots_pb2_grpc.BotServiceStub(self._channel)

    @property
    def url(self) -> str:
        """The address of the database."""
        return f"sqlite:///{self.database}"

    @property
    def ours(self) -> tuple[Forked, ...]:
        """The processes that must not end."""
        return (self.server,)

    @property
    def port(self) -> int:
        """The server's."""
        return int(self.address.rpartition(":")[2])

    async def close(self) -> None:
        """Stops everything, politely."""
        await self._channel.close()
        for process in (self.server, *self.bots.values()):
            if process.alive:
                await asyncio.to_thread(process.stop)

    # Processes

    def start_server(self) -> None:
        """Starts the server, at its port if it has one already."""
        self.server = noughts(
            [
                "serve",
                "--rate-own-games",
                "--listen",
                self.address,
                "--db",
                self.url,
                "--format",
                "json",
                *self.server_options(),
            ],
            self.folder / "server",
            self.server_variables,
            self.clock,
        )

    def server_options(self) -> tuple[str, ...]:
        """Return further options of `noughts serve`."""
        return self.served_with

    def start_bot(self, name: str) -> None:
        """Starts a bot, which dials through the link."""
        self.bots[name] = noughts(
            ["bot", "run", "random", "--name", name, "--server", f"127.0.0.1:{self.link.port}"],
            self.folder / name,
            {TOKEN_VARIABLE: self.tokens[name]},
        )

    def mend(self) -> None:
        """Starts again whatever has ended by itself."""
        if not self.server.alive:
            self.tally.died.append(self.server.last_line())
            self.start_server()
        for name, bot in self.bots.items():
            if not bot.alive:
                self.tally.died.append(bot.last_line())
                self.start_bot(name)

    async def _announced(self, process: Forked) -> dict[str, Any]:
        """Return the address at which a process listens, by its log."""
        deadline = time.monotonic() + PATIENCE
        while not (process.said.exists() and (said := process.said.read_text()).endswith("\n")):
            assert process.alive, self.log()
            assert time.monotonic() < deadline, self.log()
            await asyncio.sleep(_LOOK)
        places: dict[str, Any] = json.loads(said)
        return places

    def log(self) -> str:
        """Return the logs of all servers."""
        return self.server.said.with_suffix(".log").read_text(errors="replace")

    # Tournaments

    async def asked(
        self, call: Callable[..., Awaitable[Returned]], request: object, owner: str = ORGANISER
    ) -> Returned:
        """The answer to a call, which is made again while the server is away."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await call(request, metadata=((TOKEN_KEY, f"Bearer {self.tokens[owner]}"),), timeout=20)
            except grpc.aio.AioRpcError as error:
                if error.code() not in PASSING or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK)

    async def all_online(self) -> None:
        """Returns when every bot has registered."""
        listing = bots_pb2.ListBotsRequest()
        deadline = time.monotonic() + PATIENCE
        wanted = {f"bots/{name}" for name in self.names}
        while not wanted <= {bot.name for bot in (await self.asked(self.registered.ListBots, listing)).bots}:
            assert time.monotonic() < deadline, "the bots do not come"
            await asyncio.sleep(_LOOK)

    async def play_round(self, number: int) -> None:
        """Plays a tournament of each format at once."""
        for name, settings in FORMATS.items():
            bots = self.names[: _MOST_ENTRIES.get(name)]
            await self.organise(f"{name}-{number}", settings, dict(zip(bots, bots, strict=True)))
        others = {f"{name}-{number}" for name in FORMATS if name != LADDER}
        while self.unfinished() & others:  # noqa: ASYNC110  # other processes end them
            await asyncio.sleep(_LOOK)
        cancel = tournaments_pb2.CancelTournamentRequest(name=f"tournaments/{LADDER}-{number}")
        await self._unless(self.tournaments.CancelTournament, cancel)
        self.tally.rounds += 1

    async def organise(self, slug: str, settings: Mapping[str, Any], entries: Mapping[str, str] | None = None) -> None:
        """Makes a tournament of these bots with their owners, of all by default, and starts it."""
        name = f"tournaments/{slug}"
        usual = {"variant": "tictactoe", "concurrency": _CONCURRENCY, "seed": 5}
        wanted = tournaments_pb2.Tournament(name=name, **{**usual, **settings})
        request = tournaments_pb2.CreateTournamentRequest(tournament=wanted, request_id=slug)
        await self.asked(self.tournaments.CreateTournament, request)
        for bot, owner in (entries or dict(zip(self.names, self.names, strict=True))).items():
            entry = tournaments_pb2.JoinTournamentRequest(name=name, bot=f"bots/{bot}", request_id=f"{slug}-{bot}")
            await self.asked(self.tournaments.JoinTournament, entry, owner)
        await self._unless(self.tournaments.StartTournament, tournaments_pb2.StartTournamentRequest(name=name))

    async def _unless(self, call: Any, request: Any) -> None:
        """Makes a call that may have been answered already when the server was killed."""
        before = await self._state(request.name)
        try:
            await self.asked(call, request)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION or await self._state(request.name) == before:
                raise

    async def _state(self, name: str) -> int:
        request = tournaments_pb2.GetTournamentRequest(name=name)
        return int((await self.asked(self.tournaments.GetTournament, request)).tournament.state)

    def unfinished(self) -> set[str]:
        """Return the tournaments and challenges that are not over."""
        return {str(slug) for (slug,) in self.rows("SELECT slug FROM tournaments WHERE ended_at IS NULL")}

    # What was stored

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Return rows of the file, read by another program."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
            return connection.execute(query, values).fetchall()

    def stored(self) -> int:
        """Return the number of stored games."""
        return int(self.rows("SELECT count(*) FROM games")[0][0])

    def of(self, slug: str) -> list[list[tuple[Any, ...]]]:
        """All that was stored of a tournament's games, pairings and byes."""
        return [self.rows(query, slug) for query in _STORED]


@asynccontextmanager
async def going(made: Some) -> AsyncIterator[Some]:
    """A world that runs as long as the block. Its tally has the results afterwards."""
    tasks = other_tasks()
    processes = set(psutil.Process().children(recursive=True))
    await made.begin()
    try:
        async with link_to(made.port) as made.link:
            for name in made.names:
                made.start_bot(name)
            await made.all_online()
            yield made
            await made.close()
    finally:
        for process in (*made.ours, *made.bots.values()):
            process.kill()
    await _look_back(made, tasks, processes)


async def _look_back(made: World, tasks: set["asyncio.Task[Any]"], processes: set[psutil.Process]) -> None:
    """Fills in the tally what is seen when everything has ended."""
    tally = made.tally
    if ending := other_tasks() - tasks:
        await asyncio.wait(ending, timeout=10)
    tally.left += [f"task {task.get_name()}" for task in other_tasks() - tasks]
    for process in set(psutil.Process().children(recursive=True)) - processes:
        command = " ".join(process.cmdline())
        if "multiprocessing" not in command:
            tally.left.append(f"process {process.pid} {command}")
    known = {"", "-wal", "-shm", ".lock", "-journal"}
    extra = {path.name.removeprefix(made.database.name) for path in made.database_folder.glob(f"{made.database.name}*")}
    tally.left += [f"file {made.database.name}{suffix}" for suffix in sorted(extra - known)]
    log = made.log()
    if "Traceback" in log:
        tally.traceback = log[max(0, log.index("Traceback") - 500) :][:8_000]
    tally.games = made.stored()
    tally.replayed = int(made.rows("SELECT count(*) FROM units WHERE attempt > 1")[0][0])
    counted = made.rows("SELECT coalesce(sum(wins + draws + losses), 0) FROM pair_scores")[0][0]
    decided = made.rows("SELECT count(*) FROM games WHERE result != 4")[0][0]
    tally.doubled += abs(int(counted) - int(decided))
    store = await Store.open(made.url, alone=True)
    try:
        tally.ratings = len((await store.write(rebuild_ratings)).differences)
    finally:
        await store.close()


def compare(made: World, slug: str, expected: list[list[tuple[Any, ...]]]) -> None:
    """Adds to the tally in what a tournament differs from the same one that was played undisturbed."""
    found = made.of(slug)
    ordinals, wanted = ([row[0] for row in stored[0]] for stored in (found, expected))
    made.tally.lost += len(set(wanted) - set(ordinals))
    made.tally.doubled += len(ordinals) - len(set(ordinals))
    for ours, theirs in zip(found, expected, strict=True):
        made.tally.differing += len(set(ours) - set(theirs))


def check_ladder(made: World, slug: str) -> None:
    """The same for a ladder: whom it pairs depends on which games end first; only what was cancelled may be missing."""
    played, paired, *_ = made.of(slug)
    slots = {row[0]: row[1:] for row in paired}
    made.tally.lost += max(0, len(slots) - len(played) - _CONCURRENCY)
    made.tally.doubled += len(played) - len({row[0] for row in played})
    made.tally.differing += sum(slots[row[0]][:2] != row[1:3] for row in played)
    assert list(slots) == list(range(1, len(slots) + 1))
    last: dict[int, int] = {}
    for begin in range(1, len(slots) + 1, 4):
        one, other = slots[begin][:2]
        encounter = [slots[begin + game] for game in range(4)]
        made.tally.differing += [slot[:2] for slot in encounter] != [(one, other), (other, one)] * 2
        made.tally.differing += last.get(one) == other or last.get(other) == one
        last[one], last[other] = other, one
