"""The child players of a local tournament: their seats at the server, and what becomes of their faults."""

from dataclasses import replace
from functools import partial

from noughts_bots.specs import BotSpec, dials_in
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.bench import Bench
from noughts_referee.children.child_player import MOST_STARTS, ChildPlayer, Fault
from noughts_referee.children.dialled_frames import Carry, DialInvitation
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.lost_games import LostGame
from noughts_referee.children.running_child import ChildSettings, NotStarted, RunningChild
from noughts_referee.rules import FORFEITS, GONE, Termination, covers
from noughts_server.errors import NoughtsError
from noughts_server.local.plan import LocalError, LocalFault
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

    def __init__(
        self, server: Server, tournament: LocalTournament, variant: str, launcher: Launcher, times: ChildSettings
    ) -> None:
        self._server = server
        self._tournament = tournament
        self._variant = variant
        self._launcher = launcher
        self._times = times
        self._bench = Bench(server.referee)
        self._faults: dict[tuple[str, str], LocalFault] = {}
        self._notes: dict[str, list[GameNote]] = {}
        self._welcome: set[str] = set()
        """The labels of those that have said a good hello."""
        self._lives: dict[str, RunningChild] = {}
        """The life that began last, by label."""
        self._commits: Subscription | None = None

    @property
    def faults(self) -> tuple[LocalFault, ...]:
        """What has happened so far, in the order in which each kind of it came first."""
        return tuple(self._faults.values())

    async def play(self, label: str, spec: BotSpec) -> None:
        """Plays the bot of this label until cancelled. Raises LocalError when it does not play the variant."""
        if self._commits is None:
            self._commits = self._server.bus.subscribe(COMMITTED, self._committed)
        bot = self._tournament.bot(label)
        wire = self._server.sessions.wire(bot.bot_version_id, self._times.wire)

        def bench() -> None:
            self._bench.add(wire.player, lambda games: self._lost_benched(label, games))
            self._tournament.excuse(label)

        dials = dials_in(spec)
        await ChildPlayer(
            ChildCommand(spec.kind, spec.target, {} if dials else spec.options),
            self._launcher,
            wire,
            self._times,
            accept=lambda hello: self._accept(label, hello),
            on_life=lambda child: self._lives.update({label: child}),
            bench=bench,
            on_fault=lambda fault: self._note(label, fault),
            invite=partial(self._invite, label) if dials else None,
        ).play()

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
                said = self._lives[label].stderr
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
