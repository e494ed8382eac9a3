"""A server and bots as processes, a network between them, tournaments of every format, and checks at the end."""

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
from noughts_referee.rules import Result
from noughts_server.store.engine.database import Store
from noughts_server.store.people.scopes import DEFAULT_SCOPES
from noughts_server.store.people.tokens import create_token
from noughts_server.store.ratings.rating_lists import rebuild_ratings
from tests.chaos.child_processes import ForkedProcess, WallClock, noughts
from tests.support.loopback import Link, link_to, other_tasks

Returned = TypeVar("Returned")
AnyWorld = TypeVar("AnyWorld", bound="World")

PATIENCE = 120.0
"""Seconds after which an awaited event counts as missing."""
_LOOK = 0.05
"""Seconds between two looks at the database or server."""
PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
"""Statuses of calls while the server restarts or the network is broken: the call is repeated."""
_OPTIONS = (*CLIENT_OPTIONS, ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200))

LADDER = "ladder"
_SCHEDULES = tournaments_pb2.Schedule
FORMATS: Mapping[str, Mapping[str, Any]] = {
    LADDER: {"schedule": _SCHEDULES.SCHEDULE_LADDER, "games_per_pair": 4},
    "knockout": {"schedule": _SCHEDULES.SCHEDULE_KNOCKOUT, "games_per_pair": 30, "stop_when_decided": True},
    "swiss": {"schedule": _SCHEDULES.SCHEDULE_SWISS, "rounds": 5, "games_per_pair": 60},
    "danish": {"schedule": _SCHEDULES.SCHEDULE_DANISH, "rounds": 5, "games_per_pair": 60},
    "candidates": {"schedule": _SCHEDULES.SCHEDULE_CANDIDATES, "games_per_pair": 200, "sprt": "elo0=0,elo1=80"},
    # With a throughput, the server decides how many of its games run at once.
    "match": {
        "schedule": _SCHEDULES.SCHEDULE_MATCH,
        "games_per_pair": 1_000,
        "sprt": "elo0=-30,elo1=30",
        "throughput": 100,
        "concurrency": 0,
    },
    "gauntlet": {"schedule": _SCHEDULES.SCHEDULE_GAUNTLET, "games_per_pair": 400},
    "round-robin": {"schedule": _SCHEDULES.SCHEDULE_ROUND_ROBIN, "games_per_pair": 140},
}
"""Settings of a tournament of each format, the longest first. The ladder is cancelled after the others have ended."""
_MOST_ENTRIES = {"match": 2, "candidates": 4}
BOTS = tuple(f"bot{number}" for number in range(6))
ORGANISER = "ada"
_CONCURRENCY = 16
"""Concurrent games of a tournament; as many can be lost if the server is killed."""
_ALL_BUT_ADMIN = ("play", "organise", "submit")

_OF_SLUG = "WHERE tournament_id = (SELECT id FROM tournaments WHERE slug = ?)"
_RECORDS = (
    f"SELECT ordinal, first_entry, second_entry, result, termination, moves FROM games {_OF_SLUG} ORDER BY ordinal",
    f"SELECT ordinal, first_entry, second_entry, encounter, round FROM pairings {_OF_SLUG} ORDER BY ordinal",
    f"SELECT round, entry FROM byes {_OF_SLUG} ORDER BY round",
    "SELECT state, games_done, games_total, reason, match_counts FROM tournaments WHERE slug = ?",
)


@dataclass(slots=True)
class Tally:
    """Counts of events, and of events that must not happen."""

    disruptions: Counter[str] = field(default_factory=Counter)
    games: int = 0
    rounds: int = 0
    replayed: int = 0
    """Units that were claimed more than once."""
    lost: int = 0
    """Missing games and uploads."""
    doubled: int = 0
    """Games and uploads that are stored twice."""
    differing: int = 0
    """Games, pairings, byes and verdicts that differ from those of an undisturbed run."""
    crashed: int = 0
    """Games that an uploaded bot lost because its process was killed."""
    uploads: int = 0
    """The number of acknowledged uploads."""
    visits: Counter[str] = field(default_factory=Counter)
    """Outcomes of visits of the website."""
    ratings: int = 0
    """The number of ratings that differ from a rebuild."""
    died: list[str] = field(default_factory=list)
    """For each process that ended by itself, the last line of its log."""
    traceback: str = ""
    """The first traceback in the log of a server."""
    left: list[str] = field(default_factory=list)
    """Processes, files and tasks that remain at the end."""
    server_mib: float = 0.0
    """The largest size of a server."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing happened that must not happen."""
        return not (self.lost or self.doubled or self.differing or self.ratings or self.left or self.traceback)


class World:
    """One server, its bots and their network. `running_world` starts and ends it."""

    names: tuple[str, ...] = BOTS
    """The bots, each of an owner with the same name."""
    other_owners: tuple[str, ...] = ()
    """Owners of tokens that have no bot at the start."""
    serve_options: tuple[str, ...] = ("--no-web",)
    """Further options of `noughts serve`."""

    def __init__(self, folder: Path, seed: int = 1, database_folder: Path | None = None) -> None:
        self.rng = random.Random(seed)
        self.tally = Tally()
        self.clock = WallClock(folder / "clock")
        self.database_folder = database_folder or folder
        self.database = self.database_folder / "noughts.sqlite"
        self.tokens: dict[str, str] = {}
        self.server_variables: dict[str, str] = {}
        self.bots: dict[str, ForkedProcess] = {}
        self.link = Link(0)
        self.server: ForkedProcess
        self.address = "127.0.0.1:0"
        self.website = ""
        """HOST:PORT of the server's website, if it has one."""
        self.folder = folder
        self._channel: grpc.aio.Channel

    async def start(self) -> None:
        """Create the tokens, and start the server, which keeps its port after restarts."""
        store = await Store.open(self.url, alone=True)
        for owner in (ORGANISER, *self.names, *self.other_owners):
            scopes = _ALL_BUT_ADMIN if owner in self.other_owners else DEFAULT_SCOPES
            token = await store.write(
                partial(create_token, owner=owner, scopes=scopes, now_ms=store.now_ms()),
            )
            self.tokens[owner] = token.secret
        await store.close()
        self.start_server()
        addresses = await self._read_addresses(self.server)
        self.address, self.website = addresses["grpc"], (addresses["web"] or "").removeprefix("http://")
        self._channel = grpc.aio.insecure_channel(self.address, options=_OPTIONS)
        self.tournaments: Any = tournaments_pb2_grpc.TournamentServiceStub(self._channel)
        self.bot_service: Any = bots_pb2_grpc.BotServiceStub(self._channel)

    @property
    def url(self) -> str:
        """The address of the database."""
        return f"sqlite:///{self.database}"

    @property
    def own_processes(self) -> tuple[ForkedProcess, ...]:
        """The processes of the server, which must not end by themselves."""
        return (self.server,)

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.address.rpartition(":")[2])

    async def close(self) -> None:
        """End all processes with SIGTERM."""
        await self._channel.close()
        for process in (self.server, *self.bots.values()):
            if process.alive:
                await asyncio.to_thread(process.stop)

    # Processes

    def start_server(self) -> None:
        """Start the server, at its old port after a restart."""
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
        return self.serve_options

    def start_bot(self, name: str) -> None:
        """Start a bot, which connects through `link`."""
        self.bots[name] = noughts(
            ["bot", "run", "random", "--name", name, "--server", f"127.0.0.1:{self.link.port}"],
            self.folder / name,
            {TOKEN_VARIABLE: self.tokens[name]},
        )

    def restart_dead_processes(self) -> None:
        """Restart processes that have ended by themselves."""
        if not self.server.alive:
            self.tally.died.append(self.server.last_line())
            self.start_server()
        for name, bot in self.bots.items():
            if not bot.alive:
                self.tally.died.append(bot.last_line())
                self.start_bot(name)

    async def _read_addresses(self, process: ForkedProcess) -> dict[str, Any]:
        """Return the addresses at which a process listens, as it prints them in JSON."""
        deadline = time.monotonic() + PATIENCE
        while not (process.output.exists() and (output := process.output.read_text()).endswith("\n")):
            assert process.alive, self.log()
            assert time.monotonic() < deadline, self.log()
            await asyncio.sleep(_LOOK)
        addresses: dict[str, Any] = json.loads(output)
        return addresses

    def log(self) -> str:
        """Return the logs of all servers."""
        return self.server.output.with_suffix(".log").read_text(errors="replace")

    # Tournaments

    async def call(self, call: Callable[..., Awaitable[Returned]], request: object, owner: str = ORGANISER) -> Returned:
        """Make a call, repeat it while the server is unavailable, and return the response."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await call(request, metadata=((TOKEN_KEY, f"Bearer {self.tokens[owner]}"),), timeout=20)
            except grpc.aio.AioRpcError as error:
                if error.code() not in PASSING or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK)

    async def all_online(self) -> None:
        """Wait until every bot has logged in."""
        listing = bots_pb2.ListBotsRequest()
        deadline = time.monotonic() + PATIENCE
        names = {f"bots/{name}" for name in self.names}
        while not names <= {bot.name for bot in (await self.call(self.bot_service.ListBots, listing)).bots}:
            assert time.monotonic() < deadline, "not all bots have logged in"
            await asyncio.sleep(_LOOK)

    async def play_round(self, number: int) -> None:
        """Play a tournament of each format, all at the same time."""
        for name, settings in FORMATS.items():
            bots = self.names[: _MOST_ENTRIES.get(name)]
            await self.start_tournament(f"{name}-{number}", settings, dict(zip(bots, bots, strict=True)))
        others = {f"{name}-{number}" for name in FORMATS if name != LADDER}
        while self.unfinished() & others:  # noqa: ASYNC110  # other processes end them
            await asyncio.sleep(_LOOK)
        cancel = tournaments_pb2.CancelTournamentRequest(name=f"tournaments/{LADDER}-{number}")
        await self._call_once(self.tournaments.CancelTournament, cancel)
        self.tally.rounds += 1

    async def start_tournament(
        self, slug: str, settings: Mapping[str, Any], entries: Mapping[str, str] | None = None
    ) -> None:
        """Create and start a tournament. `entries` are bots with their owners; default: all bots of the world."""
        name = f"tournaments/{slug}"
        defaults = {"variant": "tictactoe", "concurrency": _CONCURRENCY, "seed": 5}
        tournament = tournaments_pb2.Tournament(name=name, **{**defaults, **settings})
        request = tournaments_pb2.CreateTournamentRequest(tournament=tournament, request_id=slug)
        await self.call(self.tournaments.CreateTournament, request)
        for bot, owner in (entries or dict(zip(self.names, self.names, strict=True))).items():
            entry = tournaments_pb2.JoinTournamentRequest(name=name, bot=f"bots/{bot}", request_id=f"{slug}-{bot}")
            await self.call(self.tournaments.JoinTournament, entry, owner)
        await self._call_once(self.tournaments.StartTournament, tournaments_pb2.StartTournamentRequest(name=name))

    async def _call_once(self, call: Any, request: Any) -> None:
        """Make a call that changes the tournament's state, and ignore the refusal of its repetition after a kill."""
        state_before = await self._state(request.name)
        try:
            await self.call(call, request)
        except grpc.aio.AioRpcError as error:
            if (
                error.code() is not grpc.StatusCode.FAILED_PRECONDITION
                or await self._state(request.name) == state_before
            ):
                raise

    async def _state(self, name: str) -> int:
        request = tournaments_pb2.GetTournamentRequest(name=name)
        return int((await self.call(self.tournaments.GetTournament, request)).tournament.state)

    def unfinished(self) -> set[str]:
        """Return the tournaments and challenges that are not over."""
        return {str(slug) for (slug,) in self.rows("SELECT slug FROM tournaments WHERE ended_at IS NULL")}

    # Stored records

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Return rows of the file, read by another program."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
            return connection.execute(query, values).fetchall()

    def stored_games(self) -> int:
        """Return the number of stored games."""
        return int(self.rows("SELECT count(*) FROM games")[0][0])

    def records_of(self, slug: str) -> list[list[tuple[Any, ...]]]:
        """Return the rows of a tournament: its games, pairings, byes, and its state."""
        return [self.rows(query, slug) for query in _RECORDS]


@asynccontextmanager
async def running_world(world: AnyWorld) -> AsyncIterator[AnyWorld]:
    """Run a world inside the block. After it, the world's tally has the results."""
    tasks = other_tasks()
    processes = set(psutil.Process().children(recursive=True))
    await world.start()
    try:
        async with link_to(world.port) as world.link:
            for name in world.names:
                world.start_bot(name)
            await world.all_online()
            yield world
            await world.close()
    finally:
        for process in (*world.own_processes, *world.bots.values()):
            process.kill()
    await _complete_tally(world, tasks, processes)


async def _complete_tally(world: World, tasks: set["asyncio.Task[Any]"], processes: set[psutil.Process]) -> None:
    """Add to the tally what can be checked when all processes have ended."""
    tally = world.tally
    if ending := other_tasks() - tasks:
        await asyncio.wait(ending, timeout=10)
    tally.left += [f"task {task.get_name()}" for task in other_tasks() - tasks]
    for process in set(psutil.Process().children(recursive=True)) - processes:
        command = " ".join(process.cmdline())
        if "multiprocessing" not in command and "tests.support.forking" not in command:
            tally.left.append(f"process {process.pid} {command}")
    known_suffixes = {"", "-wal", "-shm", ".lock", "-journal"}
    suffixes = {
        path.name.removeprefix(world.database.name) for path in world.database_folder.glob(f"{world.database.name}*")
    }
    tally.left += [f"file {world.database.name}{suffix}" for suffix in sorted(suffixes - known_suffixes)]
    log = world.log()
    if "Traceback" in log:
        tally.traceback = log[max(0, log.index("Traceback") - 500) :][:8_000]
    tally.games = world.stored_games()
    tally.replayed = int(world.rows("SELECT count(*) FROM units WHERE attempt > 1")[0][0])
    scored_games = world.rows("SELECT coalesce(sum(wins + draws + losses), 0) FROM pair_scores")[0][0]
    games = world.rows(f"SELECT count(*) FROM games WHERE result != {int(Result.VOID)}")[0][0]
    tally.doubled += abs(int(scored_games) - int(games))
    store = await Store.open(world.url, alone=True)
    try:
        tally.ratings = len((await store.write(rebuild_ratings)).differences)
    finally:
        await store.close()


def compare(world: World, slug: str, expected: list[list[tuple[Any, ...]]]) -> None:
    """Add to the tally how a tournament differs from the same one that was played undisturbed."""
    records = world.records_of(slug)
    ordinals = [row[0] for row in records[0]]
    expected_ordinals = {row[0] for row in expected[0]}
    world.tally.lost += len(expected_ordinals - set(ordinals))
    world.tally.doubled += len(ordinals) - len(set(ordinals))
    for rows, expected_rows in zip(records, expected, strict=True):
        world.tally.differing += len(set(rows) - set(expected_rows))


def check_ladder(world: World, slug: str) -> None:
    """Check the tournament of a ladder, and add wrong records to the tally.

    Its pairings depend on the order in which games end, so they differ from an undisturbed run. Only games that were
    running when it was cancelled can be missing.
    """
    games, pairings, *_ = world.records_of(slug)
    slots = {row[0]: row[1:] for row in pairings}
    world.tally.lost += max(0, len(slots) - len(games) - _CONCURRENCY)
    world.tally.doubled += len(games) - len({row[0] for row in games})
    world.tally.differing += sum(slots[row[0]][:2] != row[1:3] for row in games)
    assert list(slots) == list(range(1, len(slots) + 1))
    # Two bots can meet twice in a row: the others may have been offline. `test_ladder.py` checks that rule.
    for begin in range(1, len(slots) + 1, 4):
        one, other = slots[begin][:2]
        pairing = [slots[begin + game][:2] for game in range(4)]
        world.tally.differing += pairing != [(one, other), (other, one)] * 2
