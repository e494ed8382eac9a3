"""The child players of a local tournament: their seats at the server, and what becomes of their faults."""

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from noughts_bots.specs import BotSpec, dials_in
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.bench import Bench
from noughts_referee.children.child_player import MOST_STARTS, ChildPlayer, Fault
from noughts_referee.children.dialled_frames import Carry, DialInvitation
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.lost_games import LostGame
from noughts_referee.children.running_child import Death, NotStarted
from noughts_referee.referee import Seated
from noughts_referee.rules import FORFEITS, GONE, Termination, covers, parse_variant
from noughts_server.engines.command import engine_command
from noughts_server.engines.seat import EngineRefused
from noughts_server.engines.wire import EngineWire, terms_of
from noughts_server.errors import NoughtsError
from noughts_server.local.plan import LocalError, LocalFault, LocalPlan
from noughts_server.local.tournament import LocalTournament
from noughts_server.runtime.bus import Subscription
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.sessions import OnlineBot, check_hello
from noughts_server.server import Server
from noughts_server.store.notes import GameNote, add_notes
from noughts_server.store.results import CommitReport

# Of each bot: a bot that dies in every game of a million says the same in most of them.
_MOST_NOTES = 100
# Of each bot, too: one may end in another way each time.
_MOST_REASONS = 20
_OTHER_REASONS = "ended in yet other ways"
_OUTLIVED = FORFEITS - GONE
_WHAT_IT_DID = {
    Termination.ILLEGAL_MOVE: "made an illegal move",
    Termination.TIMEOUT: "was too slow",
    Termination.RESIGNED: "resigned",
}


class LocalChildren:
    """Plays the child players of one local tournament."""

    def __init__(self, server: Server, tournament: LocalTournament, plan: LocalPlan, launcher: Launcher) -> None:
        self._server = server
        self._tournament = tournament
        self._plan = plan
        self._variant = plan.settings.variant
        self._launcher = launcher
        self._times = plan.children
        self._bench = Bench(server.referee)
        self._faults: dict[tuple[str, str], LocalFault] = {}
        self._notes: dict[str, list[GameNote]] = {}
        self._welcome: set[str] = set()
        """The labels of those that have said a good hello."""
        self._lives: dict[str, Callable[[], str]] = {}
        """What the bot of this label has written last, by label."""
        self._commits: Subscription | None = None
        self._benched: set[str] = set()
        self._cores = Cores(plan.affinity)

    @property
    def faults(self) -> tuple[LocalFault, ...]:
        """What has happened so far, in the order in which each kind of it came first."""
        return tuple(self._faults.values())

    async def play(self, label: str, spec: BotSpec) -> None:
        """Plays the bot of this label until cancelled. Raises LocalError when it does not play the variant."""
        if self._commits is None:
            self._commits = self._server.bus.subscribe(COMMITTED, self._committed)
        assert spec.child_kind is not None
        if spec.child_kind.speaks_frames:
            await self._play_frames(label, spec)
        else:
            await self._play_engine(label, spec)

    async def _play_frames(self, label: str, spec: BotSpec) -> None:
        bot = self._tournament.bot(label)
        dials = dials_in(spec)
        processes = self._plan.processes_of(spec)
        wires = self._server.sessions.team_wires(bot.bot_version_id, processes, self._times.wire)
        bench = self._bench_for(label, [wire.player for wire in wires])
        await _side_by_side(
            ChildPlayer(
                ChildCommand(
                    spec.kind,
                    spec.target,
                    {} if dials else spec.options,
                    memory_bytes=self._plan.memory_bytes,
                    cores=self._cores.take(),
                ),
                self._launcher,
                wire,
                self._times,
                accept=lambda hello: self._accept(label, hello),
                on_life=lambda child: self._lives.update({label: lambda: child.stderr}),
                bench=bench,
                on_fault=lambda fault: self._note(label, fault),
                invite=partial(self._invite, label) if dials else None,
            ).play()
            for wire in wires
        )

    async def _play_engine(self, label: str, spec: BotSpec) -> None:
        server, times = self._server, self._times
        version = self._tournament.bot(label).bot_version_id
        terms = terms_of(parse_variant(self._variant), self._plan.settings.time_of(label))
        if terms is None:
            expected = "five in a row on a flat board, which is all that Gomocup engines play"
            raise LocalError(f"{label}: got a game of {self._variant}, expected {expected}")
        processes = self._plan.processes_of(spec)
        player = server.referee.player(version)
        members = player.enlist(processes) if processes > 1 else (player,)
        bench = self._bench_for(label, members)

        def died(death: Death, lost: tuple[LostGame, ...], benched: bool) -> None:
            self._note(label, Fault(death, lost, benched))
            if benched:
                bench()

        wires = []
        for member in members:
            command, options = engine_command(spec, self._cores.take())
            if self._plan.memory_bytes:
                command = replace(command, memory_bytes=self._plan.memory_bytes)
            wires.append(
                EngineWire(
                    member,
                    server.referee,
                    command,
                    options,
                    self._launcher,
                    times,
                    on_ready=lambda: server.sessions.present_changed(version),
                    on_died=died,
                )
            )
        self._lives[label] = lambda: "".join(wire.seat.stderr for wire in wires)
        server.sessions.seat(version, wires)
        bot = self._tournament.bot(label)
        server.sessions.logged_in(version, OnlineBot(bot.bot_id, bot.version, None, False))
        try:
            await _side_by_side(wire.play(terms) for wire in wires)
        except EngineRefused as refusal:
            raise LocalError(f"{label}: got an engine that {refusal}, expected OK") from None

    def _bench_for(self, label: str, players: Sequence[Seated]) -> Callable[[], None]:
        """What benches a bot with all its processes, which are the same program."""

        def bench() -> None:
            if label not in self._benched:
                self._benched.add(label)
                for player in players:
                    self._bench.add(player, lambda games: self._lost_benched(label, games))
                self._tournament.excuse(label)

        return bench

    async def keep_notes(self) -> None:
        """Stores what is kept with games, after the last of them."""
        if self._commits is not None:
            self._commits.close()
        notes = [note for notes in self._notes.values() for note in notes]
        if notes:
            await self._server.store.write(lambda connection: add_notes(connection, notes))

    def _invite(self, label: str, carry: Carry) -> DialInvitation:
        return DialInvitation(self._server.address, self._tournament.ticket(label, carry))

    def _accept(self, label: str, hello: pb.Hello) -> pb.Welcome:
        try:
            check_hello(hello)
        except NoughtsError as error:
            raise NotStarted(f"said a wrong hello: {error}") from error
        if not covers(tuple(hello.variants), self._variant):
            wrong = f"got a bot that plays {', '.join(hello.variants)}, expected one that plays {self._variant}"
            # To be mended before anything is played; a later life that says so loses its own games only.
            if label in self._welcome:
                raise NotStarted(f"said a wrong hello: {wrong}")
            raise LocalError(f"{label}: {wrong}")
        self._welcome.add(label)
        bot = self._tournament.bot(label)
        login = OnlineBot(bot.bot_id, bot.version, None, hello.declines_challenges, tuple(hello.variants))
        self._server.sessions.logged_in(bot.bot_version_id, login)
        welcome = self._server.sessions.welcome(hello, bot.bot, bot.version)
        welcome.heartbeat_ms, welcome.grace_ms = round(self._times.heartbeat * 1000), 0
        return welcome

    def _note(self, label: str, fault: Fault) -> None:
        death = fault.death
        reason = self._counted_reason(label, fault)
        known = self._faults.get((label, reason), LocalFault(label, reason, 0, 0, False, ""))
        self._faults[label, reason] = replace(
            known,
            times=known.times + 1,
            games=known.games + len(fault.games),
            benched=known.benched or fault.benched,
            stderr=death.stderr,
        )
        self._keep(label, fault.games, death.reason, death.text)

    def _counted_reason(self, label: str, fault: Fault) -> str:
        """The reason under which a fault is counted: its own, unless this bot has had too many others."""
        reason = fault.death.reason
        reasons = sum(bot == label for bot, _ in self._faults)
        return reason if fault.benched or (label, reason) in self._faults or reasons < _MOST_REASONS else _OTHER_REASONS

    def _committed(self, report: CommitReport) -> None:
        """Games that a child lost and lives on: what it wrote may say why."""
        for game in report.games:
            if game.termination not in _OUTLIVED:
                continue
            conditions = self._server.director.conditions(game.tournament)
            if conditions is None:
                continue
            outcome = game.outcome
            side = 1 if outcome.loser else 0
            label = conditions.labels[(game.first, game.second)[side]]
            if label in self._lives and len(self._notes.get(label, ())) < _MOST_NOTES:
                said = self._lives[label]()
                reason = _WHAT_IT_DID[outcome.termination]
                if said:
                    lost = LostGame(game.tournament, game.ordinal, side)
                    self._keep(label, (lost,), reason, f"it {reason}\n{said}")

    def _lost_benched(self, label: str, games: tuple[LostGame, ...]) -> None:
        """A bot that cannot be started loses games: the first of them keeps what it wrote."""
        key, fault = next((key, fault) for key, fault in self._faults.items() if key[0] == label and fault.benched)
        self._faults[key] = replace(fault, games=fault.games + len(games))
        reason = f"could not be started {MOST_STARTS} times: at last it {fault.reason}"
        self._keep(label, games, reason, f"it {reason}\n{fault.stderr}".rstrip())

    def _keep(self, label: str, games: tuple[LostGame, ...], reason: str, text: str) -> None:
        notes = self._notes.setdefault(label, [])
        for index, game in enumerate(games[: max(0, _MOST_NOTES - len(notes))]):
            # What it wrote is the same for all games of this life.
            said = text if index == 0 else f"it {reason}; more with game {games[0].ordinal}"
            notes.append(GameNote(game.tournament, game.ordinal, game.side, said))


class Cores:
    """Deals out cores to processes, in turn; no core at all unless that is wanted."""

    def __init__(self, wanted: bool) -> None:
        self._cores = itertools.cycle(sorted(os.sched_getaffinity(0))) if wanted else None

    def take(self) -> tuple[int, ...]:
        """The core of the next process."""
        return () if self._cores is None else (next(self._cores),)


async def _side_by_side(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All of it at once; the first failure ends the rest, and is raised."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(one)
    except BaseExceptionGroup as group:
        # The failures of the processes of one bot are the same.
        raise group.exceptions[0] from None
