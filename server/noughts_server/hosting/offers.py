"""Bots that a referee of a cluster has on its own machine: played in their locks, whenever a tournament needs them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from noughts_bots.specs import BotSpec
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import cluster_pb2
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_player import ChildPlayer, Fault
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.forfeiting_players import ForfeitingPlayers
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.running_child import NotStarted
from noughts_referee.frame_connection import MOST_GAMES, UNTIMED_GAMES, FrameConnection, WireCounts
from noughts_referee.referee import ConnectedPlayer, Referee
from noughts_server.errors import NoughtsError
from noughts_server.launching.launcher import command_of
from noughts_server.launching.players import start_process
from noughts_server.runtime.sessions import check_hello
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.bots import LoggedIn, log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.version import software_version

logger = structlog.get_logger("noughts.offers")


@dataclass(frozen=True, slots=True)
class Offer:
    """A bot that is installed here."""

    name: str
    version: str
    spec: BotSpec


class Offers:
    """All of them. Each is as many processes as the referee has seats."""

    def __init__(self, referee: Referee, launcher: Launcher, seats: int, on_ready: Callable[[], None]) -> None:
        self._referee = referee
        self._launcher = launcher
        self._seats = seats
        self._times = ChildSettings()
        self._counts = WireCounts()
        self._bench = ForfeitingPlayers(referee)
        self._on_ready = on_ready
        self.bots: dict[int, LoggedIn] = {}
        """By key of the bot version: those that have said hello."""
        self._hellos: dict[int, pb.Hello] = {}

    def presence(self) -> list[cluster_pb2.BotPresence]:
        """What the servers are told of them."""
        return [
            cluster_pb2.BotPresence(
                version=version,
                bot=bot.bot_id,
                name=bot.version,
                online=True,
                variants=self._hellos[version].variants,
                declines_challenges=self._hellos[version].declines_challenges,
            )
            for version, bot in self.bots.items()
        ]

    async def play(self, offer: Offer, bot: LoggedIn) -> None:
        """Plays one of them, in a process a seat, until it is cancelled, or cannot be started any more."""
        player = self._referee.player(bot.bot_version_id)
        members = player.enlist(self._seats) if self._seats > 1 else (player,)
        async with asyncio.TaskGroup() as tasks:
            for member in members:
                tasks.create_task(self._play_seat(offer.spec, bot, member))

    async def _play_seat(self, spec: BotSpec, bot: LoggedIn, member: ConnectedPlayer) -> None:
        wire = FrameConnection(member, self._referee, self._times.wire, self._counts)
        wire.on_presence = self._on_ready
        assert spec.child_kind is not None

        def ended(fault: Fault) -> None:
            logger.warning(
                "a process ended", bot=bot.version, reason=fault.death.reason, said=fault.death.stderr[-500:].strip()
            )
            if fault.benched:
                what = f"could not be started: at last it {fault.death.reason}"
                self._bench.add(member, what, lambda games: None)
                self.bots.pop(bot.bot_version_id, None)
                self._on_ready()

        await ChildPlayer(
            command_of(spec) if spec.child_kind.speaks_frames else ChildCommand(spec.kind, spec.target),
            self._launcher,
            wire,
            self._times,
            accept=lambda hello: self._accept(bot, hello),
            on_fault=ended,
            start=lambda: start_process(spec, self._launcher, self._times),
        ).play()

    def _accept(self, bot: LoggedIn, hello: pb.Hello) -> pb.Welcome:
        try:
            check_hello(hello)
        except NoughtsError as error:
            raise NotStarted(f"said a wrong hello: {error}") from error
        self._hellos[bot.bot_version_id] = hello
        self.bots[bot.bot_version_id] = bot
        return pb.Welcome(
            bot=bot.bot,
            version=bot.version,
            session=f"{bot.version}/sessions/1",
            server=software_version(),
            protocol=PROTOCOL,
            heartbeat_ms=round(self._times.heartbeat * 1000),
            grace_ms=0,
            max_games=min(hello.max_games or UNTIMED_GAMES, MOST_GAMES),
        )


async def register(store: Store, owner: str, offers: tuple[Offer, ...]) -> list[LoggedIn]:
    """The offered bots, made where they are new. Raises PermissionDenied when a name is somebody else's."""
    now = store.now_ms()

    def enter(connection: Connection) -> list[LoggedIn]:
        key = create_owner(connection, owner)
        return [
            log_in(connection, owner_id=key, name=offer.name, version=offer.version, now_ms=now) for offer in offers
        ]

    return await store.write(enter)
