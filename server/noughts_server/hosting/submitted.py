"""Try submitted bots on arrival, and run them in sandboxed processes whenever a tournament needs them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from noughts_bots.reference.specs import BotSpec
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_player import ChildPlayer, ChildProcess, Fault
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.forfeiting_players import ForfeitingPlayers
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import RunningChild
from noughts_referee.children.scratch import OwnedFolder
from noughts_referee.children.watch import processor_seconds
from noughts_referee.referee import Referee
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.core.errors import InvalidArgument, LimitReached, NoughtsError
from noughts_server.core.limits import Limits
from noughts_server.hosting.fault_notes import FaultNotes
from noughts_server.hosting.processor_time import ProcessorTime
from noughts_server.hosting.program_cache import ProgramCache
from noughts_server.hosting.programs import PY, Program, examine_and_place, open_for_passage, program_folder
from noughts_server.hosting.trials import Trials
from noughts_server.hosting.unpacked import UnpackedPrograms, space_of
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.launching.players import start_process
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import wait_until_set
from noughts_server.runtime.recorder import COMMITTED_HERE, PROGRESSED
from noughts_server.runtime.sessions import OnlineBot, Sessions
from noughts_server.runtime.tournament_play import CHANGED
from noughts_server.server import Server
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.results import CommitReport
from noughts_server.store.nodes import accepted_kinds
from noughts_server.store.people.submissions import (
    Submission,
    Upload,
    needed_submissions,
    program_of,
    ready_submissions,
)

logger = structlog.get_logger("noughts.submitted")

_UNPACKED_AT_ONCE = 4
"""Limit of the programs that are unpacked at the same time, because each can exceed the limits until it is measured."""
MOST_PLAYING = 500
"""Limit of the processes of submitted bots."""
_TICK_SECONDS = 2.0
"""Seconds between two charges of running bots. Charging does not read the database."""
_READ_SECONDS = 30.0
"""Seconds between two reads of the database without local events. Other servers can have changed it."""
_MOST_OUTPUT = 1_500
"""Characters at the end of a process's stderr that are logged."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The operator's limits on submissions."""

    kinds: tuple[str, ...]
    """Some of `programs.KINDS`."""
    packages: tuple[str, ...] = ()
    """Packages that Python bots can import in addition to the standard library."""

    @property
    def sandbox_mode(self) -> SandboxMode:
        """Return the required sandbox: WebAssembly has its own, Python needs the complete one."""
        return SandboxMode.REQUIRED if PY in self.kinds else SandboxMode.USUAL


@dataclass(frozen=True, slots=True)
class Host:
    """The server or referee that runs submitted bots."""

    store: Store
    bus: Bus
    referee: "Referee | RemoteReferee"
    sessions: Sessions
    limits: Limits
    leads: Callable[[], bool] = lambda: True
    """Returns whether this host runs bots now. Of the servers of a cluster, only the leader does."""
    left_to_others: Callable[[Connection], frozenset[str]] = lambda connection: frozenset()
    """Returns the kinds of bots that other hosts run, read from the database."""
    installed: set[int] = field(default_factory=set)
    """The keys of the bot versions whose processes run here."""
    refused: dict[int, str] | None = None
    """The bots that this referee cannot run and leaves to other hosts, with the reasons.

    None: such bots lose their games.
    """
    on_ready: Callable[[], None] = lambda: None
    """Called when `installed` has changed."""

    @classmethod
    def of_server(cls, server: Server) -> "Host":
        """Return the host of a server, which leaves the kinds of bots that its cluster's referees accept to them."""
        return cls(
            store=server.store,
            bus=server.bus,
            referee=server.referee,
            sessions=server.sessions,
            limits=server.settings.limits,
            leads=server.leads,
            left_to_others=accepted_kinds,
        )


@dataclass(slots=True)
class _Playing:
    """A bot that is being started or runs."""

    submission: Submission
    task: "asyncio.Task[None]"
    process: RunningChild | None = field(default=None, repr=False)
    seconds: float = 0.0
    """The processor time of this process that was charged to its owner."""


@asynccontextmanager
async def submitted_bots(acceptance: Acceptance) -> AsyncIterator[Callable[[Host], "SubmittedBots"]]:
    """Yield a function that returns the submitted bots of a host. They can run inside the block.

    Raises SandboxIncomplete if Python is accepted and the sandbox is incomplete.
    """
    with closing(OwnedFolder("noughts-bots-")) as folder:
        open_for_passage(folder.path)
        async with launching(acceptance.sandbox_mode, logger.warning) as launcher:
            yield lambda host: SubmittedBots(host, launcher, acceptance, Path(folder.path))


@asynccontextmanager
async def submitted_bots_of_server(acceptance: Acceptance) -> AsyncIterator[Callable[[Server], "SubmittedBots"]]:
    """Do the same for a server. Raises SandboxIncomplete."""
    async with submitted_bots(acceptance) as make:
        yield lambda server: make(Host.of_server(server))


class SubmittedBots:
    """All submitted bots of a server or referee."""

    def __init__(self, host: Host, launcher: Launcher, acceptance: Acceptance, folder: Path) -> None:
        self.accepts = acceptance.kinds
        self._host = host
        self._launcher = launcher
        self._packages = acceptance.packages
        self._folder = folder
        self._cache = ProgramCache(folder / "programs")
        self._unpacked = UnpackedPrograms(host.limits)
        self._unpacking = asyncio.Semaphore(_UNPACKED_AT_ONCE)
        self._times = ChildSettings()
        self._forfeiting_players = ForfeitingPlayers(host.referee)
        self._ready: list[Submission] = []
        self._needed: list[Submission] = []
        self._playing: dict[int, _Playing] = {}
        """The running bots, by key of the bot version."""
        self._disabled: set[int] = set()
        self._time = ProcessorTime(host.store, host.limits)
        self._notes = FaultNotes(host.store)
        self._news = asyncio.Event()
        self._checked = asyncio.Event()
        """Set at the end of the next check. Each check has its own event."""
        self._trials = Trials(
            store=host.store,
            limits=host.limits,
            launcher=launcher,
            packages=acceptance.packages,
            folder=folder,
            processor_time=self._time,
        )

    async def try_out(self, upload: Upload, variant: str, owner: int) -> Upload:
        """Try an upload as `Hosting.try_out` describes."""
        return await self._trials.try_out(upload, variant, owner)

    async def prepare(self) -> None:
        """Let submitted bots count as online."""
        await self._read()
        self._stand_by()

    async def refresh(self) -> None:
        """Check which bots exist and which are needed. Return when the online bots are up to date."""
        # The event of the next check, so that a check that is already running does not count.
        checked = self._checked
        self._news.set()
        await checked.wait()

    async def run(self) -> None:
        """Run the bots that are needed, until it is cancelled."""
        bus = self._host.bus
        loop = asyncio.get_running_loop()
        due = 0.0
        was_leading = False
        checked = self._checked
        with (
            listening(bus, CHANGED, lambda tournament: self._news.set()),
            listening(bus, COMMITTED_HERE, self._committed),
            listening(bus, PROGRESSED, self._progressed),
        ):
            try:
                async with asyncio.TaskGroup() as tasks:
                    while True:
                        news = self._news.is_set()
                        self._news.clear()
                        checked = self._checked
                        self._checked = asyncio.Event()
                        leads = self._host.leads()
                        if news or leads != was_leading or loop.time() >= due:
                            due = loop.time() + await self._read()
                        elif not self._time.is_saved:
                            await self._time.try_to_save()
                        if not self._notes.are_saved:
                            await self._notes.try_to_save(self._stderr_of)
                        was_leading = leads
                        if not leads:
                            self._needed = []
                            for playing in self._playing.values():
                                playing.task.cancel()
                        self._start_and_charge(tasks)
                        checked.set()
                        await wait_until_set(self._news, _TICK_SECONDS)
            finally:  # No task waits for a server that has stopped.
                checked.set()
                self._checked.set()
                await self._time.try_to_save()
                await self._notes.try_to_save(self._stderr_of)

    def playing(self) -> list[Submission]:
        return [playing.submission for playing in self._playing.values()]

    def _stderr_of(self, version: int) -> str:
        playing = self._playing.get(version)
        return playing.process.stderr if playing is not None and playing.process is not None else ""

    def _committed(self, report: CommitReport) -> None:
        if self._playing:
            self._notes.note_commit(report)

    def _progressed(self, report: CommitReport) -> None:
        if any(progress.finished or progress.withdrawn for progress in report.progress):
            self._news.set()

    async def _read(self) -> float:
        """Read which bots are needed; return the seconds until the next read, unless an event comes first."""
        store = self._host.store
        try:
            await self._time.save()
            ready, needed = await store.read(ready_submissions), await store.read(needed_submissions)
            elsewhere = await store.read(self._host.left_to_others)
        except NoughtsError as error:
            logger.warning("submission_check_failed", reason=error.reason, error=str(error))
            return _TICK_SECONDS
        self._ready = [each for each in ready if each.kind in self.accepts]
        self._needed = [each for each in needed if each.kind in self.accepts and each.kind not in elsewhere]
        return _READ_SECONDS

    def _start_and_charge(self, tasks: asyncio.TaskGroup) -> None:
        """Start the bots that are needed and allowed, and charge the running ones."""
        sessions = self._host.sessions
        playing = self._playing
        for bot in playing.values():
            if bot.process is not None:
                self._charge_process(bot, processor_seconds(bot.process.started.pid))
        self._stand_by()
        needed = {each.bot_version_id: each for each in self._needed if not self._time.is_spent(each.owner_id)}
        for key, submission in needed.items():
            if key not in playing and key not in self._disabled and len(playing) < MOST_PLAYING:
                playing[key] = _Playing(submission, tasks.create_task(self._play(submission)))
        for key, each in playing.items():
            is_spent = self._time.is_spent(each.submission.owner_id)
            if key not in needed and (is_spent or not sessions.wire(key, self._times.wire).player.games):
                each.task.cancel()

    def _stand_by(self) -> None:
        """Count the bots as online whose owners have processor time left."""
        ready = [submission for submission in self._ready if not self._time.is_spent(submission.owner_id)]
        known = self._host.sessions.logins_here()
        logins = {bot.bot_version_id: OnlineBot.submitted(bot) for bot in ready}
        self._host.sessions.stand_by({version: known.get(version) or login for version, login in logins.items()})

    def _charge_process(self, playing: _Playing, seconds: float) -> None:
        """Charge the part of a process's total time (seconds) that was not charged yet."""
        self._time.charge(playing.submission.owner_id, seconds - playing.seconds)
        playing.seconds = max(seconds, playing.seconds)

    async def _play(self, submission: Submission) -> None:
        key = submission.bot_version_id
        try:
            content = await self._program(submission)
            # Each version has its own folder, because bots of several owners can have the same file.
            async with program_folder(self._folder) as folder:
                program = Program(kind=submission.kind, entry=submission.entry, content=content)
                async with self._unpacking:
                    self._unpacked.check(submission.owner_id)
                    spec, _ = await examine_and_place(program, folder, self._launcher, self._packages)
                    size = await asyncio.to_thread(space_of, folder)
                with self._unpacked.holding(submission.owner_id, size):
                    await self._play_as(submission, spec, self._playing[key])
        except InvalidArgument as error:  # the operator accepts less here than where it was submitted
            self._refuse(submission, f"is not a bot that this server accepts: {error}", str(error))
        except (NoughtsError, OSError) as error:  # the next tick starts it again
            if isinstance(error, LimitReached) and error.name == "unpacked_mib":
                self._refuse(submission, f"was not started: {error}", str(error))
            logger.warning("submission_start_failed", bot=submission.resource, error=str(error))
        except Exception:  # an error with one bot must not end the games of the others; the next tick starts it again
            logger.exception("submission_failed", bot=submission.resource)
        finally:
            del self._playing[key]
            self._host.installed.discard(key)
            self._host.on_ready()

    def _refuse(self, submission: Submission, problem: str, error: str) -> None:
        """Let the bot lose its games, because this server or referee does not run it."""
        logger.warning("submission_not_accepted", bot=submission.resource, error=error)
        if self._host.refused is None:
            self._disable(submission, problem)
        else:
            self._disabled.add(submission.bot_version_id)
            self._host.refused[submission.bot_version_id] = f"a referee does not accept it: {error}"

    async def _play_as(self, submission: Submission, spec: BotSpec, playing: _Playing) -> None:
        sessions = self._host.sessions
        wire = sessions.wire(submission.bot_version_id, self._times.wire)

        def charge_rest() -> None:
            if playing.process is not None:
                self._charge_process(playing, playing.process.started.processor_seconds)

        def note_process(process: ChildProcess) -> None:
            charge_rest()
            playing.process = process if isinstance(process, RunningChild) else None
            playing.seconds = 0.0

        def note_fault(fault: Fault) -> None:
            output = fault.death.stderr[-_MOST_OUTPUT:].strip()
            logger.warning("process_ended", bot=submission.resource, reason=fault.death.reason, said=output)
            self._notes.note_end(submission.bot_version_id, fault)
            if fault.disabled:
                self._disable(submission, f"could not be started; the last time it {fault.death.reason}")

        def accept(hello: pb.Hello) -> pb.Welcome:
            welcome = sessions.child_welcome(hello, submission.bot_version, self._times.heartbeat)
            self._host.installed.add(submission.bot_version_id)
            self._host.on_ready()
            return welcome

        assert spec.child_kind is not None
        start = partial(start_process, spec, self._launcher, self._times)
        kind = spec.child_kind
        player = ChildPlayer(
            kind, wire, self._times, start=start, accept=accept, on_start=note_process, on_fault=note_fault
        )
        try:
            await player.play()
        finally:
            charge_rest()

    def _disable(self, submission: Submission, problem: str) -> None:
        """Start the bot no more, and let it lose its games; `problem` is a phrase that follows "it"."""
        self._disabled.add(submission.bot_version_id)
        self._forfeiting_players.add(self._host.referee.player(submission.bot_version_id), problem, lambda games: None)

    async def _program(self, submission: Submission) -> bytes:
        """Return the program from the cache, or from the database."""
        content = await asyncio.to_thread(self._cache.get, submission.hash)
        if content is None:
            stored = await self._host.store.read(lambda connection: program_of(connection, submission.hash))
            content = await asyncio.to_thread(self._cache.keep, submission.hash, stored)
        return content
