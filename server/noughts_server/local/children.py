"""The child players of a local tournament: their seats at the server."""

from functools import partial

from noughts_bots.specs import BotSpec, dials_in
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.bench import Bench
from noughts_referee.children.child_player import MOST_STARTS, ChildPlayer, Fault
from noughts_referee.children.dialled_frames import Carry, DialInvitation
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import ChildSettings, NotStarted, RunningChild
from noughts_referee.rules import covers
from noughts_server.errors import NoughtsError
from noughts_server.local.faults import LocalFaults
from noughts_server.local.launcher import command_of
from noughts_server.local.plan import LocalError, SpecRefused
from noughts_server.local.tournament import LocalTournament
from noughts_server.runtime.sessions import OnlineBot, check_hello
from noughts_server.server import Server


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
        self.faults = LocalFaults(server, self._stderr_of)
        """Of all bots of the tournament."""
        self._welcome: set[str] = set()
        """The labels of those that have said a good hello."""
        self._lives: dict[str, RunningChild] = {}
        """The life that began last, by label."""

    async def play(self, label: str, spec: BotSpec) -> None:
        """Plays the bot of this label until cancelled.

        Raises LocalError when it does not play the variant, SpecRefused when it cannot be had as its spec says.
        """
        bot = self._tournament.bot(label)
        wire = self._server.sessions.wire(bot.bot_version_id, self._times.wire)

        def ended(fault: Fault) -> None:
            if label not in self._welcome and spec.child_kind and (refusal := fault.death.refusal(spec.child_kind)):
                raise SpecRefused(refusal, fault.death.stderr.rstrip().removesuffix(refusal))
            self.faults.died(label, fault)
            if fault.benched:
                what = f"could not be started {MOST_STARTS} times: at last it {fault.death.reason}"
                self._bench.add(wire.player, what, lambda games: self.faults.lost_benched(label, games))
                self._tournament.excuse(label)

        dials = dials_in(spec)
        await ChildPlayer(
            command_of(spec),
            self._launcher,
            wire,
            self._times,
            accept=lambda hello: self._accept(label, hello),
            on_life=lambda child: self._lives.update({label: child}),
            on_fault=ended,
            invite=partial(self._invite, label) if dials else None,
        ).play()

    def _stderr_of(self, label: str) -> str | None:
        child = self._lives.get(label)
        return None if child is None else child.stderr

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
