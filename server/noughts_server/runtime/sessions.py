"""The online bots: the connections of all bots that have logged in, and the tickets with which bots can log in."""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, Protocol

import grpc

from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.dialled_frames import Carry
from noughts_referee.children.running_child import NotStarted
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.frame_connection import MOST_GAMES, UNTIMED_GAMES, FrameConnection, WireCounts, WireSettings
from noughts_referee.referee_protocols import PlayerReferee
from noughts_referee.rules import covers
from noughts_referee.stream_closed import StreamClosed
from noughts_server.competition.seeks import Seek
from noughts_server.core.errors import InvalidArgument, NoughtsError, WrongState
from noughts_server.core.resource_names import bot_name, game_name
from noughts_server.core.version import software_version
from noughts_server.runtime.bus import Bus
from noughts_server.runtime.hello import check_hello
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.bots import BotVersion
from noughts_server.store.people.submissions import Submission, submissions_of

_FORGET_SECONDS = 3_600.0
"""Seconds for which the connection of an offline version is kept."""
_FORGET_AT_ONCE = 100
"""Each login checks at most this many old connections."""

PRESENCE = "sessions.presence"
"""The bus subject of bot versions that go online or offline. A message is the version's key."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """The right to log in once as a certain bot."""

    owner: int
    bot: str
    version: str = "1"
    carry: Carry | None = None
    """Receives the stream that is opened with the ticket. None: the bot's connection receives it."""


@dataclass(frozen=True, slots=True)
class OnlineBot:
    """The last login of a bot version."""

    bot: int
    name: str
    """`bots/NAME/versions/V`."""
    token: int | None
    """The key of its token; None if it logged in with a ticket."""
    declines_challenges: bool
    variants: tuple[str, ...] = ()
    """The variants it plays, as it names them (see `covers`); empty: all."""
    seek: Seek | None = None
    """The rated games that it seeks."""

    @classmethod
    def submitted(cls, submission: Submission) -> "OnlineBot":
        """Return the expected login of a submitted bot. If its variants are unknown, it counts as playing all."""
        return cls(
            bot=submission.bot_id,
            name=submission.resource,
            token=None,
            declines_challenges=submission.declines_challenges,
            variants=tuple(submission.variants or ()),
        )

    def check_plays(self, field: str, variant: str) -> None:
        """Raise InvalidArgument of the request's `field` if the bot does not play the variant."""
        if not covers(self.variants, variant):
            got = f"{self.name}, which plays {', '.join(self.variants)}"
            raise InvalidArgument.of(field, got, f"a bot that plays {variant}")

    def check_accepts(self) -> None:
        """Raise WrongState if the bot declines games with the bots of other owners."""
        if self.declines_challenges:
            hint = "Find other opponents: noughts bot list --server HOST:PORT --online"
            agent_hint = "Find other opponents: `list_bots` with `online`"
            raise WrongState(
                self.name, got="declining challenges", expected="one that accepts", hint=hint, agent_hint=agent_hint
            )


class _LoginElsewhere(NamedTuple):
    server: str
    login: OnlineBot


class SessionConnection(Protocol):
    """A connection to a bot, or to one of its processes."""

    player: ConnectedPlayer

    @property
    def online(self) -> bool:
        """Whether it accepts games."""

    def close(self, closed: StreamClosed) -> None:
        """Send the reason to the bot and end the stream, if there is one."""

    def dismiss(self) -> None:
        """End the bot's running games as lost, because it will not reconnect."""

    def shut(self, closed: StreamClosed) -> None:
        """End the stream and the timers, because the server stops."""


class Sessions:
    """The connections of this server, by key of the bot version."""

    def __init__(self, referee: PlayerReferee, bus: Bus, settings: WireSettings) -> None:
        self.settings = settings
        self.counts = WireCounts()
        self._referee = referee
        self._bus = bus
        self._wires: dict[int, FrameConnection] = {}
        """The connections of bots that are one process."""
        self._teams: dict[int, tuple[SessionConnection, ...]] = {}
        """The connections of bots that are several processes, or that do not use frames."""
        self._logins: dict[int, OnlineBot] = {}
        """The last login of each version."""
        self._present: set[int] = set()
        """All versions that are online, and some that were online before."""
        self._offline_since: dict[int, float] = {}
        """The times when versions with a connection of their own went offline, in that order."""
        self._tickets: dict[str, Ticket] = {}
        self._standby: dict[int, OnlineBot] = {}
        """The expected logins of the versions that this server starts when they are needed."""
        self._streams = 0
        self._elsewhere: dict[int, _LoginElsewhere] = {}
        """The server and the login of each version that has a stream at another server of the cluster."""

    def stand_by(self, bots: dict[int, OnlineBot]) -> None:
        """Count these bots, and no others, as online, because the server starts them when a tournament needs them."""
        self._standby = bots

    def wire(self, version: int, settings: WireSettings | None = None) -> FrameConnection:
        """Return the connection of a bot version. A new one gets `settings`, or the server's if that is None."""
        wire = self._wires.get(version)
        if wire is None:
            wire = self._wires[version] = self._frame_wire(version, self._referee.player(version), settings)
        return wire

    def team_wires(self, version: int, processes: int, settings: WireSettings) -> tuple[FrameConnection, ...]:
        """Return the connections of a bot version that is several processes, before its first game."""
        if processes == 1:
            return (self.wire(version, settings),)
        players = self._referee.player(version).enlist(processes)
        wires = tuple(self._frame_wire(version, player, settings) for player in players)
        self._teams[version] = wires
        return wires

    def set_wires(self, version: int, wires: Sequence[SessionConnection]) -> None:
        """Use these connections for the games of a bot version that has no stream."""
        self._teams[version] = tuple(wires)
        self._present.add(version)

    def publish_presence(self, version: int) -> None:
        """Publish that the bot version went online or offline."""
        self._offline_since.pop(version, None)
        if self._online_here(version):
            self._present.add(version)
        else:
            self._present.discard(version)
            self._offline_since[version] = asyncio.get_running_loop().time()
        self._bus.publish(PRESENCE, version)

    def _frame_wire(self, version: int, player: ConnectedPlayer, settings: WireSettings | None) -> FrameConnection:
        wire = FrameConnection(player, self._referee, settings or self.settings, self.counts)
        wire.on_presence = partial(self.publish_presence, version)
        return wire

    def _wires_of(self, version: int) -> tuple[SessionConnection, ...]:
        if version in self._teams:
            return self._teams[version]
        return (self._wires[version],) if version in self._wires else ()

    def online(self, version: int) -> bool:
        """Return whether the bot version is online at any server of a cluster.

        It is online if it has a stream, or a process that plays or will be started when needed.
        """
        return self._online_here(version) or version in self._elsewhere or version in self._standby

    def _online_here(self, version: int) -> bool:
        return any(wire.online for wire in self._wires_of(version))

    def login(self, version: int) -> OnlineBot | None:
        """Return the login of the bot version, if it is online."""
        if self._online_here(version):
            return self._logins.get(version)
        if version in self._standby:
            return self._standby[version]
        elsewhere = self._elsewhere.get(version)
        return None if elsewhere is None else elsewhere.login

    def check_plays(self, connection: Connection, version: int, field: str, variant: str) -> None:
        """Raise InvalidArgument of the request's `field` if the bot version declares variants, but not this one.

        For a submitted version that is offline, the variants are those that it declared in its trial.
        """
        for login in self._declarations(connection, version):
            login.check_plays(field, variant)

    def variants(self, connection: Connection, version: int) -> tuple[str, ...]:
        """Return the variants that the bot version declares, as for `check_plays`; empty if it plays all."""
        return next((login.variants for login in self._declarations(connection, version)), ())

    def _declarations(self, connection: Connection, version: int) -> list[OnlineBot]:
        login = self.login(version)
        return [login] if login else list(map(OnlineBot.submitted, submissions_of(connection, [version])))

    def log_in(self, version: int, login: OnlineBot) -> None:
        """Record the login of a bot version."""
        self._logins[version] = login
        self._present.add(version)
        self._offline_since.pop(version, None)
        self._forget_idle()

    def _forget_idle(self) -> None:
        """Drop the connections of versions that went offline long ago and have no running game."""
        now = asyncio.get_running_loop().time()
        for version, since in list(islice(self._offline_since.items(), _FORGET_AT_ONCE)):
            if now - since < _FORGET_SECONDS:
                return
            del self._offline_since[version]
            if version not in self._wires or self._online_here(version):
                continue
            if self._referee.release(version):
                del self._wires[version]
                self._logins.pop(version, None)
            else:
                self._offline_since[version] = now  # It has a game: try again after the same time.

    def welcome(self, hello: pb.Hello, bot: BotVersion) -> pb.Welcome:
        """Return the answer to a hello of this bot."""
        self._streams += 1
        settings = self.settings
        session = f"{bot.resource}/sessions/{self._streams}"
        welcome = pb.Welcome(session=session, server=software_version(), protocol=PROTOCOL)
        welcome.bot = bot_name(bot.bot)
        welcome.version = bot.resource
        welcome.heartbeat_ms, welcome.grace_ms = (
            round(settings.heartbeat * 1000),
            round(settings.reconnect_timeout * 1000),
        )
        welcome.max_games = min(hello.max_games or UNTIMED_GAMES, MOST_GAMES)
        welcome.comment_bytes = self._referee.comment_limits.move
        return welcome

    def child_welcome(self, hello: pb.Hello, bot: BotVersion, heartbeat: float) -> pb.Welcome:
        """Return the answer to a child's hello, and log the child in. Raise NotStarted for a wrong hello."""
        try:
            check_hello(hello)
        except NoughtsError as error:
            raise NotStarted(f"sent an invalid hello: {error}") from error
        login = OnlineBot(
            bot=bot.bot_id,
            name=bot.resource,
            token=None,
            declines_challenges=hello.declines_challenges,
            variants=tuple(hello.variants),
        )
        self.log_in(bot.id, login)
        welcome = self.welcome(hello, bot)
        welcome.heartbeat_ms = round(heartbeat * 1000)
        welcome.grace_ms = 0
        return welcome

    def bots_online(self) -> set[int]:
        """Return the keys of the bots that are online in any version, at any server of a cluster."""
        return {login.bot for login in self.logins_online().values()}

    def seeks(self) -> dict[int, Seek]:
        """Return what the online bots seek, by key, at any server of a cluster."""
        return {login.bot: login.seek for login in self.logins_online().values() if login.seek is not None}

    def declared_variants(self) -> dict[int, tuple[str, ...]]:
        """Return the variants that the online bots declare, by key, at any server of a cluster. Empty: all variants."""
        return {login.bot: login.variants for login in self.logins_online().values()}

    def logins_online(self) -> dict[int, OnlineBot]:
        """Return the logins of the bot versions that are online, at any server of a cluster."""
        elsewhere = {version: entry.login for version, entry in self._elsewhere.items()}
        return {**elsewhere, **self._standby, **self._online_logins()}

    def _online_logins(self) -> dict[int, OnlineBot]:
        logged_in = (version for version in self._present if version in self._logins)
        return {version: self._logins[version] for version in logged_in if self._online_here(version)}

    def tokens(self) -> set[int]:
        """Return the tokens with which the bots that are online here logged in."""
        return {login.token for login in self._online_logins().values() if login.token is not None}

    def expel(self, token: int, closed: Callable[[], StreamClosed]) -> None:
        """End every stream that was opened with the token; its bots lose their running games.

        `closed` returns a new error for each stream.
        """
        for version, login in self._online_logins().items():
            if login.token == token:
                for wire in self._wires_of(version):
                    wire.close(closed())
                    wire.dismiss()

    def name(self, version: int) -> str:
        """Return `bots/NAME/versions/V` of a bot version that has logged in here; empty for any other."""
        login = self._logins.get(version)
        return login.name if login else ""

    def present(self) -> dict[str, int]:
        """Return the number of running games of each bot version with a stream, by `bots/NAME/versions/V`."""
        versions = [version for version in self._present if self._online_here(version)]
        return {
            self.name(version): sum(len(wire.player.games) for wire in self._wires_of(version)) for version in versions
        }

    def running_game(self, versions: Iterable[int]) -> str:
        """Return `tournaments/ID/games/NUMBER` that one of these versions plays; empty if there is none here.

        In a cluster, referees play the games, and this server knows none.
        """
        wires = chain.from_iterable(map(self._wires_of, versions))
        game = next((game for wire in wires for game in wire.player.games.values()), None)
        return game_name(game.conditions.name, game.slot[0]) if game else ""

    def offline_because(self, version: int) -> str:
        """Return why the last stream of a bot version here ended, such as `connection_lost`; empty if none has."""
        wires = (wire for wire in self._wires_of(version) if isinstance(wire, FrameConnection))
        return next((wire.offline_because for wire in wires if wire.offline_because), "")

    def games_of_online(self) -> dict[str, int]:
        """Return the number of games that run here for each bot version that is online, at any server of a cluster."""
        online = self.logins_online()
        return {
            login.name: sum(len(wire.player.games) for wire in self._wires_of(version))
            for version, login in online.items()
        }

    # For clusters.

    def logins_here(self) -> dict[int, OnlineBot]:
        """Return the logins of the bots that belong to this server, also those within their reconnect timeout."""
        return self._logins

    def log_out(self, version: int) -> None:
        """Record that a bot version has logged in at another server."""
        self._logins.pop(version, None)
        self._present.discard(version)

    def record_elsewhere(self, server: str, version: int, login: OnlineBot | None) -> None:
        """Record that a bot version has logged in at another server; `login` is None if its stream there has ended."""
        before = self._elsewhere.get(version)
        if login is not None:
            self._elsewhere[version] = _LoginElsewhere(server, login)
        elif before is not None and before.server == server:
            del self._elsewhere[version]

    def forget_elsewhere_except(self, server: str, versions: set[int]) -> None:
        """Forget the bot versions recorded at another server, except these."""
        recorded = [version for version, entry in self._elsewhere.items() if entry.server == server]
        for version in recorded:
            if version not in versions:
                del self._elsewhere[version]

    def close_all(self, closed: Callable[[], StreamClosed]) -> None:
        """End every stream and all reconnect timeouts. `closed` returns a new error for each stream."""
        for version in {**self._wires, **self._teams}:
            for wire in self._wires_of(version):
                wire.shut(closed())

    def issue_ticket(self, ticket: Ticket) -> str:
        """Return a secret with which the bot can log in once."""
        secret = f"ticket_{secrets.token_urlsafe(24)}"
        self._tickets[secret] = ticket
        return secret

    def has_ticket(self, secret: str) -> bool:
        """Return whether the ticket exists, without using it up."""
        return secret in self._tickets

    def redeem_ticket(self, secret: str) -> Ticket | None:
        """Return the ticket and use it up; None if it does not exist."""
        return self._tickets.pop(secret, None)


def server_stopping() -> StreamClosed:
    """Return the message to bots when the server stops; they reconnect by themselves."""
    return StreamClosed(
        grpc.StatusCode.UNAVAILABLE, "DRAINING", "the server is shutting down: log in again later", retry_seconds=5.0
    )
