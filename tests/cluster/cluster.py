"""A cluster on this machine: a real PostgreSQL and NATS, servers, referees and bots as processes, and links to cut."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import grpc
import grpc.aio

from noughts_proto.transport import CLIENT_OPTIONS, TOKEN_KEY
from noughts_proto.v1 import bots_pb2, bots_pb2_grpc, tournaments_pb2, tournaments_pb2_grpc
from noughts_server.records.replay import errors_of_stored_game
from noughts_server.store.checking import check_database
from noughts_server.store.engine.database import Store
from noughts_server.store.people.tokens import create_token
from noughts_server.store.ratings.rating_lists import rebuild_ratings
from tests.chaos.child_processes import ForkedProcess, command_line, noughts
from tests.cluster import players
from tests.support.databases import (
    POSTGRESQL,
    change,
    databases_of,
    kill_postgresql,
    make_database,
    rows_of,
    socket_folder,
    url_of,
)
from tests.support.namespaces import Host, enter
from tests.support.patience import PATIENCE

Returned = TypeVar("Returned")

NATS_SERVER = str(Path(sysconfig.get_path("scripts")) / "nats-server")
_LOOK = 0.05
"""Seconds between two looks at a file or the database."""
_PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
_OPTIONS = (*CLIENT_OPTIONS, ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200))
ORGANISER = "ada"


class Nats:
    """A NATS server, which can be killed and started again at the same port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = 0
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, at the same port after the first time."""
        log = self._folder / f"nats-{time.monotonic_ns()}.log"
        port = str(self.port or -1)
        command = [NATS_SERVER, "--addr", "127.0.0.1", "--port", port, "--log", str(log), *self._options]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not (log.exists() and "Server is ready" in log.read_text()):
            assert self._process.poll() is None, log.read_text() if log.exists() else "nats-server has ended"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        found = re.search(r"client connections on 127\.0\.0\.1:(\d+)", log.read_text())
        assert found is not None
        self.port = int(found[1])

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)


class Relay:
    """A TCP relay that can be cut: an address with changing servers behind it, or a long cable."""

    def __init__(self, target: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]) -> None:
        self.port = 0
        self._target = target
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._open: set[asyncio.StreamWriter] = set()
        self._is_connected = asyncio.Event()
        self._is_connected.set()

    async def start(self, listener: socket.socket | None = None) -> None:
        """Listen with `listener`, otherwise at a free port of this machine, after a stop at the same as before."""
        listener = listener or socket.create_server(("127.0.0.1", self.port))
        self._server = await asyncio.start_server(self._accept, sock=listener)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Drop all packets and report it to nobody: as if the cable had been pulled."""
        self._is_connected.clear()

    def restore(self) -> None:
        """Break the old connections, whose packets are lost; both ends can make new ones."""
        for writer in list(self._open):
            writer.transport.abort()
        self._is_connected.set()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.restore()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._is_connected.wait()
        try:
            target_reader, target_writer = await self._target()
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, target_writer}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._carry(reader, target_writer))
                tasks.create_task(self._carry(target_reader, writer))
        except* (OSError, EOFError):
            pass
        finally:
            for open_writer in (writer, target_writer):
                self._open.discard(open_writer)
                open_writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._is_connected.wait()
            writer.write(data)
            await writer.drain()
        raise EOFError


class Cluster:
    """The processes, links and tokens of a cluster. `running_cluster` makes one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "cluster"
        self.nats = Nats(folder)
        self.servers: list[ForkedProcess] = []
        self.referees: list[ForkedProcess] = []
        self.bots: list[ForkedProcess] = []
        self.addresses: dict[str, str] = {}
        """HOST:PORT of each server, by the file of its output."""
        self.tokens: dict[str, str] = {}
        self.front = Relay(self._any_server)
        self.referee_options: tuple[str, ...] = ()
        """The options of each referee."""
        self._started = 0
        self._channel: grpc.aio.Channel | None = None
        self._turn = 0

    @property
    def url(self) -> str:
        """The address of the database."""
        return url_of(self.database)

    @property
    def database_name(self) -> str:
        """The name of the database in PostgreSQL."""
        return self.url.partition("@/")[2].partition("?")[0]

    async def _any_server(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to one of the running servers, to each in turn."""
        alive = [server for server in self.servers if server.alive]
        for _ in range(len(alive)):
            self._turn += 1
            address = self.addresses.get(str(alive[self._turn % len(alive)].output))
            if address is not None:
                with suppress(OSError):
                    return await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        raise ConnectionRefusedError("no server is there")

    async def store(self) -> Store:
        """Open the database."""
        return await Store.open(self.url)

    async def make_tokens(self, *owners: str) -> None:
        store = await self.store()
        for owner in owners:
            new = partial(create_token, owner=owner, scopes=("play", "organise", "submit"), now_ms=store.now_ms())
            made_token = await store.write(new)
            self.tokens[owner] = made_token.secret
        await store.close()

    # Processes

    def _said(self, what: str) -> Path:
        self._started += 1
        return self.folder / f"{what}-{self._started}"

    async def start_server(self, *options: str, alone: bool = False) -> ForkedProcess:
        """Start a server; `alone`: outside the cluster, with a referee of its own."""
        output = self._said("server")
        words = [
            *("serve", "--no-web", "--listen", "127.0.0.1:0", "--rate-own-games", "--format", "json"),
            *("--db", self.url, *options, *(() if alone else ("--bus", self.nats.url))),
        ]
        server = noughts(words, output, {})
        self.servers.append(server)
        self.addresses[str(output)] = (await self.wait_for_announcement(server))["grpc"]
        return server

    async def start_referee(self, *options: str, bus: str = "", database: str = "", host: str = "") -> ForkedProcess:
        """Start a referee; `host`: see `tests.support.namespaces`."""
        words = ["referee", "--format", "json", "--db", database or self.url, "--bus", bus or self.nats.url]
        words += [*self.referee_options, *options]
        referee = ForkedProcess(self._said("referee"), _command_at, host, words)
        self.referees.append(referee)
        await self.wait_for_announcement(referee)
        return referee

    def start_bots(
        self, names: Sequence[str], spec: str = "random", address: str = "", **variables: str
    ) -> ForkedProcess:
        """Start bots of the organiser in one process; by default they connect to the front."""
        bots = ForkedProcess(
            self._said("bots"), _play, spec, list(names), address or f"127.0.0.1:{self.front.port}",
            self.tokens[ORGANISER], variables,
        )  # fmt: skip
        self.bots.append(bots)
        return bots

    async def wait_for_announcement(self, process: ForkedProcess) -> dict[str, Any]:
        """Wait for the first line of a process, and return its JSON."""
        deadline = time.monotonic() + PATIENCE
        while not (process.output.exists() and (text := process.output.read_text()).endswith("\n")):
            assert process.alive, self.log(process)
            assert time.monotonic() < deadline, self.log(process)
            await asyncio.sleep(_LOOK)
        announcement: dict[str, Any] = json.loads(text)
        return announcement

    @staticmethod
    def log(process: ForkedProcess) -> str:
        log = process.output.with_suffix(".log")
        return log.read_text(errors="replace") if log.exists() else ""

    def logs(self) -> str:
        """Return the logs of all servers and referees."""
        return "".join(f"--- {process.output.name}\n{self.log(process)}" for process in (*self.servers, *self.referees))

    async def close(self) -> None:
        """Stop all processes by SIGTERM."""
        if self._channel is not None:
            await self._channel.close()
        for process in (*self.bots, *self.referees, *self.servers):
            process.signal(signal.SIGCONT)
            if process.alive:
                await asyncio.to_thread(process.stop)

    def kill(self) -> None:
        for process in (*self.bots, *self.referees, *self.servers):
            process.kill()
        self.nats.kill()

    # Tournaments

    def stub(self, kind: Callable[[grpc.aio.Channel], Any]) -> Any:
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{self.front.port}", options=_OPTIONS)
        return kind(self._channel)

    async def call(self, call: Callable[..., Awaitable[Returned]], request: object) -> Returned:
        """Make a call of the organiser; repeat it while no server answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                metadata = ((TOKEN_KEY, f"Bearer {self.tokens[ORGANISER]}"),)
                return await call(request, metadata=metadata, timeout=20)
            except grpc.aio.AioRpcError as error:
                if error.code() not in _PASSING or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK)

    async def wait_until_online(self, names: Sequence[str]) -> None:
        """Wait until a server lists these bots as online."""
        bots = self.stub(bots_pb2_grpc.BotServiceStub)
        deadline = time.monotonic() + PATIENCE
        wanted = {f"bots/{name}" for name in names}
        while True:
            answer = await self.call(bots.ListBots, bots_pb2.ListBotsRequest(page_size=1000))
            if wanted <= {bot.name for bot in answer.bots if bot.online}:
                return
            assert time.monotonic() < deadline, f"the bots do not come\n{self.logs()}"
            await asyncio.sleep(_LOOK)

    async def organise(self, slug: str, bots: Sequence[str], **settings: Any) -> None:
        """Create and start a tournament of these bots."""
        await self.create(slug, bots, **settings)
        await self.start(slug)

    async def create(self, slug: str, bots: Sequence[str], **settings: Any) -> None:
        """Create a tournament of these bots, which does not start yet."""
        stub = self.stub(tournaments_pb2_grpc.TournamentServiceStub)
        name = f"tournaments/{slug}"
        usual: Mapping[str, Any] = {"variant": "tictactoe", "concurrency": 4_096, "seed": 5}
        wanted = tournaments_pb2.Tournament(name=name, **{**usual, **settings})
        request = tournaments_pb2.CreateTournamentRequest(tournament=wanted, request_id=slug)
        await self.call(stub.CreateTournament, request)
        for bot in bots:
            entry = tournaments_pb2.JoinTournamentRequest(name=name, bot=f"bots/{bot}", request_id=f"{slug}-{bot}")
            await self.call(stub.JoinTournament, entry)

    async def start(self, slug: str) -> None:
        """Start a tournament."""
        stub = self.stub(tournaments_pb2_grpc.TournamentServiceStub)
        await self.call(stub.StartTournament, tournaments_pb2.StartTournamentRequest(name=f"tournaments/{slug}"))

    async def cancel(self, slug: str) -> None:
        """End a tournament, so that nobody has to finish its games."""
        stub = self.stub(tournaments_pb2_grpc.TournamentServiceStub)
        request = tournaments_pb2.CancelTournamentRequest(name=f"tournaments/{slug}")
        await self.call(stub.CancelTournament, request)

    async def tournament(self, slug: str) -> tournaments_pb2.Tournament:
        stub = self.stub(tournaments_pb2_grpc.TournamentServiceStub)
        request = tournaments_pb2.GetTournamentRequest(name=f"tournaments/{slug}")
        answer = await self.call(stub.GetTournament, request)
        found: tournaments_pb2.Tournament = answer.tournament
        return found

    async def wait_until_finished(self, slug: str, seconds: float = PATIENCE) -> tournaments_pb2.Tournament:
        """Wait until the last game is stored, and return the tournament."""
        deadline = time.monotonic() + seconds
        while True:
            tournament = await self.tournament(slug)
            if tournament.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED:
                return tournament
            assert time.monotonic() < deadline, f"{tournament}\n{self.logs()[-20_000:]}"
            await asyncio.sleep(_LOOK)

    def stored(self) -> int:
        """Return the number of stored games, as another program sees it."""
        return int(rows_of(self.database, "SELECT coalesce(sum(games_done), 0) FROM tournaments")[0][0])

    async def wait_for_more_games(self) -> None:
        """Wait until games are stored again."""
        before = self.stored()
        async with asyncio.timeout(PATIENCE):
            while self.stored() <= before:  # noqa: ASYNC110  # other processes tell nobody
                await asyncio.sleep(_LOOK)

    def moves(self, slug: str) -> list[tuple[Any, ...]]:
        """Return the number and the moves of each game of a tournament."""
        return rows_of(self.database, _MOVES.format(slug))

    def endings(self, slug: str) -> Counter[int]:
        """Count how its games ended, by `Termination`."""
        return Counter(dict(rows_of(self.database, _ENDINGS.format(slug))))

    async def check_records(self, *slugs: str) -> None:
        """Assert that each scheduled game is stored once and that the ratings follow from the games."""
        counted = await self.count_errors(*slugs)
        assert not any(counted.values()), counted

    async def count_errors(self, *slugs: str) -> dict[str, int]:
        """Count errors: games lost or stored twice, ratings that do not follow from the games, other damage."""
        counted = Counter[str](dict.fromkeys(("lost", "stored twice", "ratings that differ"), 0))
        for slug in slugs:
            ordinals = [row[0] for row in rows_of(self.database, _ORDINALS.format(slug))]
            total = rows_of(self.database, f"SELECT games_total FROM tournaments WHERE slug = '{slug}'")[0][0]
            counted["lost"] += len(set(range(1, total + 1)).difference(ordinals))
            counted["stored twice"] += len(ordinals) - len(set(ordinals))
        store = await self.store()
        try:
            report = await store.read(lambda connection: check_database(connection, errors_of_stored_game))
            counted["other damage"] = len(report.findings)
            counted["ratings that differ"] = len((await store.write(rebuild_ratings)).differences)
        finally:
            await store.close()
        return counted


_MOVES = "SELECT ordinal, moves FROM games JOIN tournaments ON id = tournament_id WHERE slug = '{}' ORDER BY ordinal"
_ENDINGS = "SELECT termination, count(*) FROM games JOIN tournaments ON id = tournament_id WHERE slug = '{}' GROUP BY 1"
_ORDINALS = "SELECT ordinal FROM games JOIN tournaments ON id = tournament_id WHERE slug = '{}' ORDER BY ordinal"


@asynccontextmanager
async def running_cluster(
    *,
    servers: int = 2,
    referees: int = 2,
    options: Sequence[str] = (),
    logs: Path | None = None,
    database: str = POSTGRESQL,
) -> AsyncIterator[Cluster]:
    """Run a cluster inside the block. It has the organiser's token. `logs`: a folder in which the logs stay.

    With SQLite, only servers that are `alone` can be started.
    """
    with ExitStack() as stack:
        folder = logs or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="noughts-cluster-")))
        if database == POSTGRESQL:
            stack.enter_context(databases_of(POSTGRESQL))
        cluster = Cluster(folder)
        make_database(cluster.database)
        if database == POSTGRESQL:
            # Tests kill PostgreSQL: it must have written all commits that it has confirmed.
            change(cluster.database, f'ALTER DATABASE "{cluster.database_name}" SET synchronous_commit = on')
        try:
            await cluster.make_tokens(ORGANISER)
            await asyncio.to_thread(cluster.nats.start)
            for _ in range(servers):
                await cluster.start_server()
            cluster.referee_options = tuple(options)
            for _ in range(referees):
                await cluster.start_referee()
            await cluster.front.start()
            try:
                yield cluster
                await cluster.close()
            finally:
                await cluster.front.stop()
        finally:
            cluster.kill()


@asynccontextmanager
async def postgresql_killed() -> AsyncIterator[None]:
    """PostgreSQL is killed, and started again at the end of the block."""
    again = await asyncio.to_thread(kill_postgresql)
    yield
    await asyncio.to_thread(again)


@asynccontextmanager
async def distant_addresses(cluster: Cluster, host: Host | None = None) -> AsyncIterator[tuple[str, str, list[Relay]]]:
    """Yield addresses of bus and database behind relays, for `host` at its gate, and the relays, which can be cut."""

    async def bus() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", cluster.nats.port)

    async def database() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(os.path.join(socket_folder(), ".s.PGSQL.5432"))

    cables = [Relay(bus), Relay(database)]
    for cable in cables:
        await cable.start(host.listener() if host else None)
    address = host.gate_address if host else "127.0.0.1"
    try:
        yield (
            f"nats://{address}:{cables[0].port}",
            f"postgresql+psycopg://postgres@{address}:{cables[1].port}/{cluster.database_name}",
            cables,
        )
    finally:
        for cable in cables:
            await cable.stop()


def _command_at(host: str, words: list[str]) -> None:
    if host:
        enter(host)
    command_line(words, {})


def _play(spec: str, names: list[str], address: str, token: str, variables: dict[str, str]) -> None:
    """Run bots until this process ends. `spec` is a class of `players` or the spec of a reference bot."""
    os.environ.update(variables)
    from noughts_bots.connection.event_loop import run_loop
    from noughts_bots.connection.session import Login, play
    from noughts_bots.reference.specs import make_bot, parse_spec

    async def all_of_them() -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                bot = getattr(players, spec)() if hasattr(players, spec) else make_bot(parse_spec(spec))
                tasks.create_task(play(bot, Login(address, token, name=name)))

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    run_loop(all_of_them())
