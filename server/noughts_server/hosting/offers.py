"""Run bots that are installed on the machine of a cluster's referee in sandboxes, whenever a tournament needs them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from noughts_bots.reference.specs import BotSpec
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_player import ChildPlayer, Fault
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.forfeiting_players import ForfeitingPlayers
from noughts_referee.children.launcher import Launcher
from noughts_referee.clock import ENGINE_MARGIN_US
from noughts_referee.frame_connection import FrameConnection
from noughts_server.launching.players import start_process
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.bots import BotVersion, log_in
from noughts_server.store.people.tokens import create_owner

logger = structlog.get_logger("noughts.offers")

_MOST_OUTPUT = 500
"""Characters of a process's stderr that are logged."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A bot that is installed on this machine."""

    name: str
    version: str
    spec: BotSpec
    margin_us: int | None = None
    """The bot's own time margin.

    None: the referee's margin, but at least `ENGINE_MARGIN_US` for engines with a clock.
    """

    def time_margin_us(self, usual_us: int) -> int:
        """Return the bot's time margin in microseconds; `usual_us` is the referee's."""
        if self.margin_us is not None:
            return self.margin_us
        keeps_clock = self.spec.child_kind is not None and self.spec.child_kind.keeps_clock
        return max(usual_us, ENGINE_MARGIN_US) if keeps_clock else usual_us


@dataclass(eq=False)
class Offers:
    """Runs the installed bots, each in one process for every seat of the referee."""

    forfeiting_players: ForfeitingPlayers
    sessions: Sessions
    launcher: Launcher
    seats: int
    installed: set[int]
    """The keys of the bot versions that have sent a hello. `play` adds them."""
    on_ready: Callable[[], None]
    times: ChildSettings = ChildSettings()  # noqa: RUF009  # immutable

    async def play(self, offer: Offer, bot: BotVersion) -> None:
        """Run one process of a bot for each seat, until this task is cancelled or a process cannot be started again."""
        async with asyncio.TaskGroup() as tasks:
            for wire in self.sessions.team_wires(bot.id, self.seats, self.times.wire):
                wire.player.margin_us = offer.time_margin_us(wire.player.margin_us)
                tasks.create_task(self._play_seat(offer.spec, bot, wire))

    async def _play_seat(self, spec: BotSpec, bot: BotVersion, wire: FrameConnection) -> None:
        wire.on_presence = self.on_ready
        assert spec.child_kind is not None

        def note_fault(fault: Fault) -> None:
            output = fault.death.stderr[-_MOST_OUTPUT:].strip()
            logger.warning("process_ended", bot=bot.resource, reason=fault.death.reason, said=output)
            if fault.disabled:
                problem = f"could not be started; the last time it {fault.death.reason}"
                self.forfeiting_players.add(wire.player, problem, lambda games: None)
                self.installed.discard(bot.id)
                self.on_ready()

        start = partial(start_process, spec, self.launcher, self.times)
        accept = partial(self._accept, bot)
        player = ChildPlayer(spec.child_kind, wire, self.times, start=start, accept=accept, on_fault=note_fault)
        await player.play()

    def _accept(self, bot: BotVersion, hello: pb.Hello) -> pb.Welcome:
        welcome = self.sessions.child_welcome(hello, bot, self.times.heartbeat)
        self.installed.add(bot.id)
        return welcome


async def register(store: Store, owner: str, offers: tuple[Offer, ...]) -> list[BotVersion]:
    """Return the offered bots, created if new. Raises PermissionDenied if a name belongs to another owner."""
    now = store.now_ms()

    def create_bots(connection: Connection) -> list[BotVersion]:
        key = create_owner(connection, owner)
        create_bot = partial(log_in, connection, owner_id=key, now_ms=now)
        return [create_bot(name=offer.name, version=offer.version) for offer in offers]

    return await store.write(create_bots)
