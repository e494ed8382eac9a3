"""Bots whose streams servers hold, as a referee of the cluster sees them.

The messages to a bot go to its server as `BotAsks`, one for all that happened in a turn of the event loop. The server
returns `BotAnswers` with the times that it has measured. If a message was lost, the next asks are complete: game and
ply identify a question, so that it is asked and answered only once.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

import structlog

from noughts_proto.columns import append_row
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.arbiter import Answers
from noughts_referee.frame_encoding import choice, one_line
from noughts_referee.game import Game, Outbox
from noughts_referee.monotonic import microseconds
from noughts_referee.referee import ConnectedPlayer, Referee
from noughts_referee.rules import FAULTS, Termination
from noughts_server.cluster.codecs import SERVERS, TO_REFEREE, TO_SERVER
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.silence import Silence
from noughts_server.runtime.bus import Bus, listening

logger = structlog.get_logger("noughts.cluster")

_MOST_MOVES = 100_000
"""Moves in the starts of one message, except in those of a bot that must be complete."""


class RemoteConnection:
    """The connection to one bot whose stream a server holds."""

    def __init__(self, bots: "RemoteBots", player: ConnectedPlayer) -> None:
        self.player = player
        self.server = ""
        """The server that holds the stream, or held it last."""
        self.complete = False
        """Whether the next asks must be complete."""
        self.spent_us: dict[int, int] = {}
        """Since when these games' questions have been open at earlier servers of the bot, by this machine's clock."""
        self.grace: asyncio.TimerHandle | None = None
        self._bots = bots
        self._presence = pb.BotPresence()

    @property
    def online(self) -> bool:
        """Whether the bot has a stream."""
        return bool(self.server) and self._presence.online

    @property
    def capacity_timed(self) -> int:
        """The games with clocks that it accepts from this referee."""
        return self._bots.share(self._presence.seats_timed) if self.online else 0

    @property
    def capacity_untimed(self) -> int:
        """The games without clocks that it accepts from this referee."""
        return self._bots.share(self._presence.seats_untimed) if self.online else 0

    @property
    def seats(self) -> tuple[int, int]:
        """Its concurrent games without clocks, and with clocks, for all referees together."""
        return self._presence.seats_untimed, self._presence.seats_timed

    def wake(self) -> None:
        """Send what is in the player's outbox."""
        if self.server:
            self._bots.dirty(self)

    def known_as(self, presence: pb.BotPresence) -> bool:
        """Take over what its server reports. Return whether the number of games that it accepts has changed."""
        before = self.online, self.capacity_timed, self.capacity_untimed
        self._presence = presence
        player = self.player
        player.opens, player.stored_ends = presence.opens, presence.stored_ends
        player.network_us, player.margin_us = presence.network_us, presence.margin_us
        return before != (self.online, self.capacity_timed, self.capacity_untimed)


class RemoteBots:
    """The remote bots, by key of the bot version."""

    def __init__(self, referee: Referee, bus: Bus, membership: Membership, grace: float) -> None:
        """Create the bots. `grace` is the reconnect timeout of a bot whose server is gone."""
        self._referee = referee
        self._bus = bus
        self._membership = membership
        self._grace = grace
        self.is_home: Callable[[], bool] = lambda: True
        """Returns whether this referee gets the capacity that is too small to be divided."""
        self._wires: dict[int, RemoteConnection] = {}
        self._dirty: dict[RemoteConnection, None] = {}
        self._silence = Silence(membership.silence_limit)
        """The servers' silence. The bots of a dead server can log in at another one."""
        membership.on_change.append(self.shares_changed)

    def seats(self, version: int) -> tuple[int, int] | None:
        """Return a bot's concurrent games, without clocks and with clocks. None: it has no stream."""
        wire = self._wires.get(version)
        return wire.seats if wire is not None and wire.online else None

    def share(self, seats: int) -> int:
        """Return how much of a bot's capacity this referee may use. If there is too little for all, one gets it."""
        referees = self._membership.referees
        if len(referees) <= seats:
            return seats // max(1, len(referees))
        return seats if self.is_home() else 0

    async def run(self) -> None:
        """Receive messages until cancelled."""
        name = self._membership.node.name
        with listening(self._bus, SERVERS, self._presence), listening(self._bus, f"{TO_REFEREE}:{name}", self._answers):
            await self._silence.watch(self._silent)

    def resynchronise(self) -> None:
        """Send the servers all games again, because messages were lost."""
        for wire in self._wires.values():
            if wire.server:
                self._rejoin(wire)

    # The servers of the bots.

    def _presence(self, message: pb.ServerPresence) -> None:
        server = message.server
        if message.leaving:
            self._gone(server)
            return
        self._silence.heard(server)
        for bot in message.bots:
            self._bot_at(server, bot)
        if message.complete:
            there = {bot.version for bot in message.bots}
            for version, wire in self._wires.items():
                if wire.server == server and version not in there:
                    self._away(wire)

    def _bot_at(self, server: str, presence: pb.BotPresence) -> None:
        player, wire = self._referee.player(presence.version), self._wires.get(presence.version)
        if player.wire is not None and player.wire is not wire:
            self._wires.pop(presence.version, None)
            return  # it plays on this machine
        if wire is None:
            wire = self._wires[presence.version] = RemoteConnection(self, player)
        here = wire.server == server
        # For a short time, a bot that has moved can also be listed at its old server.
        if not here and not presence.online:
            return
        if not here and wire.online and not presence.fresh:
            return
        changed = wire.known_as(presence)
        if not here:
            wire.server = server
            self._back(wire)
            self._rejoin(wire)
        elif changed:
            self._back(wire)
            self._referee.seats_changed(wire.player)

    def _rejoin(self, wire: RemoteConnection) -> None:
        wire.complete = True
        self._referee.joined(wire.player, wire)

    def _back(self, wire: RemoteConnection) -> None:
        if wire.grace is not None and wire.online:
            wire.grace.cancel()
            wire.grace = None

    def _silent(self, server: str) -> None:
        logger.warning("server_silent", server=server)
        self._gone(server)

    def _gone(self, server: str) -> None:
        self._silence.forget(server)
        for wire in self._wires.values():
            if wire.server == server:
                self._away(wire)

    def _away(self, wire: RemoteConnection) -> None:
        """Start the reconnect timeout here, because the bot's server is gone or has forgotten it."""
        wire.server = ""
        player = wire.player
        wire.known_as(pb.BotPresence(version=player.key, opens=player.opens, stored_ends=player.stored_ends))
        if wire.grace is None and wire.player.games:
            wire.grace = asyncio.get_running_loop().call_later(self._grace, self._lost, wire)

    def _lost(self, wire: RemoteConnection) -> None:
        wire.grace = None
        self._referee.forfeit(wire.player, Termination.DISCONNECTED)

    def shares_changed(self) -> None:
        """Give the referee the bots' new capacity, because the referees that share it have changed."""
        for wire in self._wires.values():
            if wire.online:
                self._referee.seats_changed(wire.player)

    # Messages to the bots.

    def dirty(self, wire: RemoteConnection) -> None:
        """Remember that the connection has something to send."""
        if not self._dirty:
            asyncio.get_running_loop().call_soon(self._flush)
        self._dirty[wire] = None

    def _flush(self) -> None:
        dirty, self._dirty = self._dirty, {}
        by_server: dict[str, pb.ClusterAsks] = {}
        moves = Counter[str]()
        name = self._membership.node.name
        for wire in dirty:
            server = wire.server
            if not server:
                continue
            asks = by_server.setdefault(server, pb.ClusterAsks(referee=name))
            outbox = wire.player.take_outbox()
            # A bot that joins thousands of long games gets several messages, but not if they must be complete: its
            # server would end the games that the first of them lacks.
            if len(outbox.starts) > 1 and not wire.complete:
                rest = outbox.split(_MOST_MOVES)
                if rest:
                    wire.player.outbox = rest
                    self.dirty(wire)
            fill_asks(asks.bots.add(version=wire.player.key, complete=wire.complete), wire, outbox)
            wire.complete = False
            moves[server] += sum(len(game.moves) for game in outbox.starts)
            if moves[server] > _MOST_MOVES:
                self._bus.publish(f"{TO_SERVER}:{server}", by_server.pop(server))
                del moves[server]
        for server, asks in by_server.items():
            self._bus.publish(f"{TO_SERVER}:{server}", asks)

    # Answers of the bots.

    def _answers(self, message: pb.ClusterAnswers) -> None:
        self._silence.heard(message.server)
        for bot in message.bots:
            wire = self._wires.get(bot.version)
            if wire is None:
                continue
            if bot.left_game:
                now = microseconds()
                wire.spent_us.update((game, now - took) for game, took in zip(bot.left_game, bot.left_us, strict=True))
            if wire.server == message.server:
                self._answered(wire, bot)

    def _answered(self, wire: RemoteConnection, bot: pb.BotAnswers) -> None:
        referee, player = self._referee, wire.player
        if bot.game:
            answers = Answers(
                games=bot.game[:],
                plies=bot.ply[:],
                cells=bot.cell[:],
                times_us=bot.time_us[:],
                resigned=bot.resigned[:],
                reasons=bot.reason[:],
                exhausted=frozenset(bot.exhausted),
                scores=list(zip(bot.scored, bot.score, strict=True)),
                comments=list(zip(bot.commented, bot.comment, strict=True)),
            )
            referee.judge_answers(player, answers)
        if bot.choices:
            made = [each.choice for each in bot.choices]
            choices = [(each.game, each.step, choice(each), one_line(each.reason)) for each in made]
            referee.judge_choices(player, choices, [each.time_us for each in bot.choices])
        if bot.silent_game:
            referee.end_overdue(player, zip(bot.silent_game, bot.silent_ply, bot.silent_us, strict=True))
        if bot.forfeit:
            referee.forfeit(player, Termination(bot.forfeit), bot.fault)
        if bot.lost:
            self._rejoin(wire)


def fill_asks(asks: pb.BotAsks, wire: RemoteConnection, outbox: Outbox) -> None:
    """Fill a message with the contents of a player's outbox, as columns."""
    player = wire.player
    add_starts(asks.starts, outbox.starts)
    add_starts(asks.openings, outbox.openings)
    asks.game.extend(outbox.turn_game)
    asks.ply.extend(outbox.turn_ply)
    asks.cell.extend(outbox.turn_cell)
    if outbox.turns_timed:
        running = player.games.get
        for handle in outbox.turn_game:
            game = running(handle)
            clocks = (0, 0) if game is None else (game.left_us[0], game.left_us[1])
            append_row(asks, first_clock_us=clocks[0], second_clock_us=clocks[1])
    if wire.spent_us:
        now = microseconds()
        since = wire.spent_us
        asks.spent_us.extend([now - since.get(handle, now) for handle in outbox.turn_game])
        wire.spent_us = {}
    for game in outbox.ends:
        is_at_fault = game.termination in FAULTS and game.players[game.result.loser or 0] is player
        last = game.moves[-1] if game.moves else 0
        fault = game.fault if is_at_fault else ""
        append_row(asks, end_game=game.handle, end_plies=game.ply, end_cell=last, end_fault=fault)
        append_row(asks, end_result=game.result, end_termination=game.termination)


def add_starts(messages: "Iterable[pb.ClusterStarts]", games: list[Game]) -> None:
    """Fill messages with the state of the games, one message for each tournament."""
    by_tournament: dict[int, pb.ClusterStarts] = {}
    for game in games:
        key = game.conditions.tournament
        starts = by_tournament.get(key)
        if starts is None:
            starts = by_tournament[key] = messages.add(tournament=key)  # type: ignore[attr-defined]
        append_row(starts, game=game.handle, **game.slot._asdict(), ply=game.ply, move_count=len(game.moves))
        starts.moves.extend(game.moves)
        if game.conditions.timed:
            append_row(starts, first_clock_us=game.left_us[0], second_clock_us=game.left_us[1])
