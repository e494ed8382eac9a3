"""A tournament on this machine alone: the ordinary server on a loopback socket, each bot a process of its own."""

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from noughts_bots.process import PARENT_VARIABLE
from noughts_bots.specs import BotSpec, unique_labels
from noughts_proto.transport import SERVER_VARIABLE, TICKET_VARIABLE, TOKEN_VARIABLE
from noughts_referee.children.child_player import MOST_STARTS
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import ChildSettings
from noughts_server.competition.settings import TournamentSettings
from noughts_server.errors import WrongState
from noughts_server.local.children import LocalChildren, LocalError, LocalFault
from noughts_server.local.launcher import Locking, launching
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import Server, ServerSettings, running_server
from noughts_server.store.entries import CrosstableCell as PairScore
from noughts_server.store.entries import Standing, crosstable
from noughts_server.store.games import ExportedGame, export, terminations
from noughts_server.store.tournaments import Tournament, TournamentState, get_tournament

__all__ = [
    "ExportedGame",
    "LocalError",
    "LocalFault",
    "LocalOutcome",
    "LocalPlan",
    "LocalProgress",
    "LocalStop",
    "PairScore",
    "Standing",
    "play_locally",
]

_START_SECONDS = 30.0
_STOP_SECONDS = 2.0
_KEPT_LINES = 40
_ATTEMPTS = 3
_CHILDREN = ChildSettings()

Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """What is to be played."""

    specs: tuple[BotSpec, ...]
    settings: TournamentSettings
    margin_us: int = 50_000
    database: str | None = None
    """None: a temporary file, gone afterwards."""
    children: ChildSettings = _CHILDREN
    """Times of the bots that are neither reference bots nor registered."""
    locking: Locking = Locking.USUAL
    """How programs and plugins are locked in."""

    @property
    def has_children(self) -> bool:
        """Whether any of the bots is started by the referee."""
        return any(spec.child_kind for spec in self.specs)


@dataclass(frozen=True, slots=True)
class LocalProgress:
    """How far it is."""

    bots_online: int
    bots_expected: int
    games_done: int
    games_total: int
    plies: int
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class LocalOutcome:
    """What came of it."""

    games: int
    games_total: int
    interrupted: bool
    standings: tuple[Standing, ...]
    pairs: tuple[PairScore, ...]
    terminations: dict[str, int]
    faults: tuple[LocalFault, ...] = ()
    """Why child players died, and what they wrote."""


class LocalStop:
    """The two stages of stopping, from any signal handler of the event loop."""

    def __init__(self) -> None:
        self.finishing = asyncio.Event()
        self.aborting = asyncio.Event()

    def finish(self) -> None:
        """Begin no new game, finish those running."""
        self.finishing.set()

    def abort(self) -> None:
        """Stop at once; running games stay unplayed."""
        self.finishing.set()
        self.aborting.set()


def _nothing(note: str) -> None:
    """The default listener."""


async def play_locally(
    plan: LocalPlan,
    *,
    on_progress: Callable[[LocalProgress], None],
    stop: LocalStop,
    export: Callable[[Iterator[ExportedGame]], None] | None = None,
    on_note: Callable[[str], None] = _nothing,
) -> LocalOutcome:
    """Plays the plan to its end or to `stop`. Raises LocalError, LockIncomplete, or what keeps a server from starting.

    `on_note` gets lines for people about how child players are locked.

    `export` is called once at the end with all stored games in slot order.
    """
    async with AsyncExitStack() as stack:
        database = plan.database
        if database is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="noughts-", ignore_cleanup_errors=True))
            database = f"sqlite:///{Path(folder) / 'noughts.sqlite'}"
        settings = ServerSettings(listen="127.0.0.1:0", database=database, margin_us=plan.margin_us, grace=5.0)
        server = await stack.enter_async_context(running_server(settings))
        # Of the lock nothing is said where nobody is locked in.
        tell = on_note if plan.has_children else _nothing
        launcher = await stack.enter_async_context(launching(plan.locking, tell))
        run = _Run(plan, server, launcher, on_progress, stop)
        await run.play()
        return await run.outcome(export)


class _Run:
    """One tournament played locally."""

    def __init__(
        self,
        plan: LocalPlan,
        server: Server,
        launcher: Launcher,
        on_progress: Callable[[LocalProgress], None],
        stop: LocalStop,
    ) -> None:
        self._plan = plan
        self._server = server
        self._on_progress = on_progress
        self._stop = stop
        self._specs = dict(zip(unique_labels(plan.specs), plan.specs, strict=True))
        # What is played under a label is a version of the bot with that name: a label may mean another spec next time.
        versions = {label: spec.short for label, spec in self._specs.items()}
        self._tournament = LocalTournament(server, plan.settings, versions)
        self._children = LocalChildren(server, self._tournament, plan.settings.variant, launcher, plan.children)

    async def play(self) -> None:
        await self._tournament.create()
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            processes = [
                tasks.create_task(self._play_bot(label, spec), name=label) for label, spec in self._specs.items()
            ]
            try:
                if await self._unless(self._stop.finishing, self._all_online()):
                    playing = self._tournament.play(self._report)
                    if not await self._unless(self._stop.finishing, playing):
                        await self._unless(self._stop.aborting, self._server.drain())
                        self._server.director.abandon()
            finally:
                for process in processes:
                    process.cancel()
                if self._stop.finishing.is_set() and self._plan.database is not None:
                    # Nobody will go on with it: the next server on this database must not try.
                    with suppress(WrongState):  # it has just finished
                        await self._server.director.cancel(self._tournament.slug)

    async def outcome(self, write: Callable[[Iterator[ExportedGame]], None] | None) -> LocalOutcome:
        """What is stored; `write` gets the games."""
        store = self._server.store
        await self._server.recorder.flush()
        await self._children.keep_notes()

        def read(connection: Any) -> tuple[Tournament, tuple[Standing, ...], tuple[PairScore, ...], dict[str, int]]:
            tournament = get_tournament(connection, self._tournament.slug)
            table = crosstable(connection, tournament)
            if write is not None:
                write(export(connection, tournament.id))
            return tournament, tuple(table.standings), tuple(table.cells), terminations(connection, tournament.id)

        tournament, table, pairs, ends = await store.read(read)
        self._report(tournament, table)
        return LocalOutcome(
            games=tournament.games_done,
            games_total=tournament.games_total,
            interrupted=tournament.state is not TournamentState.FINISHED,
            standings=table,
            pairs=pairs,
            terminations=ends,
            faults=self._children.faults,
        )

    # The bots' processes.

    async def _play_bot(self, label: str, spec: BotSpec) -> None:
        if spec.child_kind:
            await self._children.play(label, spec)
        else:
            await self._keep_alive(label, spec)

    async def _keep_alive(self, label: str, spec: BotSpec) -> None:
        """Runs the bot's process; one that dies loses its running games and is started again, a few times."""
        for _ in range(_ATTEMPTS):
            ticket = self._tournament.ticket(label)
            async with _bot_process(spec, self._server.address, ticket, self._plan.settings.concurrency) as (
                process,
                lines,
            ):
                code = await process.wait()
            self._tournament.dismiss(label)
        what = f"{label}: its process ended {_ATTEMPTS} times, at last with exit code {code}"
        raise LocalError("\n".join([what, *lines]))

    async def _all_online(self) -> None:
        tournament, times = self._tournament, self._plan.children
        patience = _START_SECONDS + MOST_STARTS * (times.start + 2 * times.stop) * self._plan.has_children
        try:
            async with asyncio.timeout(patience):
                await tournament.all_online(lambda: self._report(None, (), missing=len(tournament.missing())))
        except TimeoutError:
            names = ", ".join(tournament.missing())
            raise LocalError(f"{names}: not online after {patience:.0f} s") from None

    def _report(self, tournament: Tournament | None, table: tuple[Standing, ...], *, missing: int = 0) -> None:
        self._on_progress(
            LocalProgress(
                bots_online=len(self._specs) - missing,
                bots_expected=len(self._specs),
                games_done=tournament.games_done if tournament else 0,
                games_total=tournament.games_total if tournament else 0,
                plies=self._server.referee.plies,
                standings=table,
            )
        )

    async def _unless(self, event: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
        """Whether the work was done before the event; otherwise it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(work)
            waiting = tasks.create_task(event.wait())
            await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
            done = working.done()
            working.cancel()
            waiting.cancel()
        return done


@asynccontextmanager
async def _bot_process(
    spec: BotSpec, address: str, ticket: str, max_games: int
) -> AsyncIterator[tuple[Process, deque[str]]]:
    """A reference bot's process and the last lines it wrote to stderr. It is gone when the block is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # what lies in the working folder must not hide modules of Python
        "-m",
        "noughts_bots.reference",
        str(spec),
        str(max_games),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env={
            **{name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},
            SERVER_VARIABLE: address,
            TICKET_VARIABLE: ticket,
            PARENT_VARIABLE: str(os.getpid()),
            # We start processes while gRPC's threads run: there is nothing for them to do at a fork.
            "GRPC_ENABLE_FORK_SUPPORT": "0",
        },
        # A Ctrl-C in the terminal is for us; the bots finish their games.
        start_new_session=True,
    )
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    assert process.stderr is not None
    try:
        async with asyncio.TaskGroup() as tasks:
            draining = tasks.create_task(_drain(process.stderr, lines))
            try:
                yield process, lines
            finally:
                if process.returncode is None:
                    process.terminate()
                    try:
                        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
                    except TimeoutError:
                        process.kill()
                        await process.wait()
                draining.cancel()
    finally:
        # asyncio closes the pipe's transport only when the reader is done.
        process._transport.close()  # type: ignore[attr-defined]


async def _drain(stream: asyncio.StreamReader, lines: deque[str]) -> None:
    with suppress(ValueError):  # a line longer than the reader's buffer
        async for line in stream:
            lines.append(line.decode(errors="replace").rstrip())
