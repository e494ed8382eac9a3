"""The bots of a cluster's servers, from the point of view of a referee.

The referee sends the messages for a bot to its server as `BotAsks`: one for everything that happened in a turn of the
event loop. The server returns `BotAnswers` with the times that it has measured. After a message was lost, the next asks
list all games again, and questions that stay open are repeated. Game and ply identify a question, so the server asks it
only once.
"""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable

import structlog

from noughts_proto.columns import append_row
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.arbiter import Answers
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.frame_encoding import choice, one_line, read_thought
from noughts_referee.game import Game, Outbox
from noughts_referee.monotonic import microseconds
from noughts_referee.referee import Referee
from noughts_referee.rules import FAULTS, Termination
from noughts_server.cluster.codecs import SERVERS, TO_REFEREE, TO_SERVER
from noughts_server.cluster.heartbeats import Membership
from noughts_server.cluster.silence import Silence
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import running

logger = structlog.get_logger("noughts.cluster")

_MOST_MOVES = 100_000
"""Limit of the moves in the starts of one message, unless a bot's message must be complete."""
_REPEAT_SECONDS = 5.0
"""A question that is open for this long is repeated, and again after the same time."""
_MOST_REPEATED = 1_000
"""Questions of a bot that are repeated at once. The others are repeated later."""


class RemoteConnection:
    """The connection to one bot whose stream a server holds."""

    def __init__(self, bots: "RemoteBots", player: ConnectedPlayer) -> None:
        self.player = player
        self.server = ""
        """The server that holds the stream, or held it last."""
        self.complete = False
        """Whether the next `BotAsks` must contain all games."""
        self.open_since_us: dict[int, int] = {}
        """The times at which the bot's earlier servers sent its open questions, by game, in µs of this clock."""
        self.reconnect_timer: asyncio.TimerHandle | None = None
        """The timer of the reconnect timeout, while it runs."""
        self._bots = bots
        self._presence = pb.BotPresence()
        self._open_plies: dict[int, int] = {}
        """The plies of the questions that were open at the last call of `repeat_questions`, by game."""
        self._last_repeated = 0
        """The game of the last repeated question."""

    @property
    def online(self) -> bool:
        """Whether the bot has a stream."""
        return bool(self.server) and self._presence.online

    @property
    def capacity_timed(self) -> int:
        """The number of games with clocks that it accepts from this referee."""
        return self._bots.share(self._presence.seats_timed) if self.online else 0

    @property
    def capacity_untimed(self) -> int:
        """The number of games without clocks that it accepts from this referee."""
        return self._bots.share(self._presence.seats_untimed) if self.online else 0

    @property
    def seats(self) -> tuple[int, int]:
        """Its capacity for games without clocks, and with clocks, for all referees together."""
        return self._presence.seats_untimed, self._presence.seats_timed

    def wake(self) -> None:
        """Send the messages in the player's outbox."""
        if self.server:
            self._bots.send_soon(self)

    def repeat_questions(self) -> None:
        """Repeat the questions that have been open since the last call, because they or their answers could be lost."""
        player = self.player
        before = self._open_plies
        self._open_plies = {game.handle: game.ply for game in player.games.values() if game.mover is player}
        still_open = [handle for handle, ply in self._open_plies.items() if before.get(handle) == ply]
        # Games are in the order of their handles. If there are too many, the next call continues behind the last one.
        begin = bisect_right(still_open, self._last_repeated)
        for handle in (still_open[begin:] + still_open[:begin])[:_MOST_REPEATED]:
            game = player.games[handle]
            if game.ply < 0:
                player.outbox.openings.append(game)
            else:
                player.outbox.ask(game)
            self._last_repeated = handle
        if still_open:
            self.wake()

    def apply_presence(self, presence: pb.BotPresence) -> bool:
        """Apply a report of its server.

        Return whether the bot has connected or disconnected, or accepts another number of games.
        """
        before = self.online, self.capacity_timed, self.capacity_untimed
        self._presence = presence
        player = self.player
        player.opens, player.stored_ends = presence.opens, presence.stored_ends
        player.network_us, player.margin_us = presence.network_us, presence.margin_us
        return before != (self.online, self.capacity_timed, self.capacity_untimed)


class RemoteBots:
    """The remote bots, by key of the bot version."""

    def __init__(self, referee: Referee, bus: Bus, membership: Membership, reconnect_timeout: float) -> None:
        """Create the bots. `reconnect_timeout` is the reconnect timeout of a bot whose server is gone."""
        self._referee = referee
        self._bus = bus
        self._membership = membership
        self._reconnect_timeout = reconnect_timeout
        self.plays_undivided: Callable[[], bool] = lambda: True
        """Returns whether this referee gets a capacity that is too small to be divided."""
        self._wires: dict[int, RemoteConnection] = {}
        self._senders: dict[RemoteConnection, None] = {}
        self._silence = Silence(membership.silence_limit)
        """The servers' silence. The bots of a dead server can log in at another one."""
        membership.on_change.append(self.divide_again)

    def seats(self, version: int) -> tuple[int, int] | None:
        """Return a bot's concurrent games, without clocks and with clocks. None: it has no stream."""
        wire = self._wires.get(version)
        return wire.seats if wire is not None and wire.online else None

    def share(self, seats: int) -> int:
        """Return this referee's part of a bot's capacity.

        A capacity that is too small for all referees goes to one of them.
        """
        referees = self._membership.referees
        if len(referees) <= seats:
            return seats // max(1, len(referees))
        return seats if self.plays_undivided() else 0

    async def run(self) -> None:
        """Receive messages until cancelled."""
        name = self._membership.node.name
        with listening(self._bus, SERVERS, self._presence), listening(self._bus, f"{TO_REFEREE}:{name}", self._answers):
            async with running(self._silence.watch(self._server_silent)):
                while True:
                    await asyncio.sleep(_REPEAT_SECONDS)
                    for wire in self._wires.values():
                        if wire.server:
                            wire.repeat_questions()

    def resynchronise(self) -> None:
        """Send the servers all games again, because messages were lost."""
        for wire in self._wires.values():
            if wire.server:
                self._rejoin(wire)

    # The servers of the bots.

    def _presence(self, message: pb.ServerPresence) -> None:
        server = message.server
        if message.leaving:
            self._server_left(server)
            return
        self._silence.record_message(server)
        for bot in message.bots:
            self._apply_bot(server, bot)
        if message.complete:
            listed = {bot.version for bot in message.bots}
            for version, wire in self._wires.items():
                if wire.server == server and version not in listed:
                    self._start_grace(wire)

    def _apply_bot(self, server: str, presence: pb.BotPresence) -> None:
        player, wire = self._referee.player(presence.version), self._wires.get(presence.version)
        if player.wire is not None and player.wire is not wire:
            self._wires.pop(presence.version, None)
            return  # it plays on this machine
        if wire is None:
            wire = self._wires[presence.version] = RemoteConnection(self, player)
        has_moved = wire.server != server
        # For a short time, the old server of a bot that has moved can still list it.
        if has_moved and not presence.online:
            return
        if has_moved and wire.online and not presence.fresh:
            return
        has_changed = wire.apply_presence(presence)
        if has_moved:
            wire.server = server
            self._stop_grace(wire)
            self._rejoin(wire)
        elif has_changed:
            self._stop_grace(wire)
            self._referee.update_seats(wire.player)

    def _rejoin(self, wire: RemoteConnection) -> None:
        wire.complete = True
        self._referee.connect(wire.player, wire)

    def _stop_grace(self, wire: RemoteConnection) -> None:
        if wire.reconnect_timer is not None and wire.online:
            wire.reconnect_timer.cancel()
            wire.reconnect_timer = None

    def _server_silent(self, server: str) -> None:
        logger.warning("server_silent", server=server)
        self._server_left(server)

    def _server_left(self, server: str) -> None:
        self._silence.forget(server)
        for wire in self._wires.values():
            if wire.server == server:
                self._start_grace(wire)

    def _start_grace(self, wire: RemoteConnection) -> None:
        """Start the reconnect timeout here, because the bot's server is gone or has forgotten it."""
        wire.server = ""
        player = wire.player
        wire.apply_presence(pb.BotPresence(version=player.key, opens=player.opens, stored_ends=player.stored_ends))
        if wire.reconnect_timer is None and wire.player.games:
            wire.reconnect_timer = asyncio.get_running_loop().call_later(
                self._reconnect_timeout, self._reconnect_timed_out, wire
            )

    def _reconnect_timed_out(self, wire: RemoteConnection) -> None:
        wire.reconnect_timer = None
        self._referee.forfeit(wire.player, Termination.DISCONNECTED)

    def divide_again(self) -> None:
        """Give the referee the bots' new capacity, because the referees that share it, or their bots, have changed."""
        for wire in self._wires.values():
            if wire.online:
                self._referee.update_seats(wire.player)

    # Messages to the bots.

    def send_soon(self, wire: RemoteConnection) -> None:
        """Send the outbox of this connection at the end of this turn of the event loop."""
        if not self._senders:
            asyncio.get_running_loop().call_soon(self._flush)
        self._senders[wire] = None

    def _flush(self) -> None:
        senders = self._senders
        self._senders = {}
        asks_of_server: dict[str, pb.ClusterAsks] = {}
        moves = Counter[str]()
        name = self._membership.node.name
        for wire in senders:
            server = wire.server
            if not server:
                continue
            asks = asks_of_server.setdefault(server, pb.ClusterAsks(referee=name))
            outbox = wire.player.take_outbox()
            # A bot that joins thousands of long games gets several messages, but not if they must be complete: its
            # server would end the games that the first of them lacks.
            if len(outbox.starts) > 1 and not wire.complete:
                later_outbox = outbox.split(_MOST_MOVES)
                if later_outbox:
                    wire.player.outbox = later_outbox
                    self.send_soon(wire)
            fill_asks(asks.bots.add(version=wire.player.key, complete=wire.complete), wire, outbox)
            wire.complete = False
            moves[server] += sum(len(game.moves) for game in outbox.starts)
            if moves[server] > _MOST_MOVES:
                self._bus.publish(f"{TO_SERVER}:{server}", asks_of_server.pop(server))
                del moves[server]
        for server, asks in asks_of_server.items():
            self._bus.publish(f"{TO_SERVER}:{server}", asks)

    # Answers of the bots.

    def _answers(self, message: pb.ClusterAnswers) -> None:
        self._silence.record_message(message.server)
        for bot in message.bots:
            wire = self._wires.get(bot.version)
            if wire is None:
                continue
            if bot.left_game:
                now = microseconds()
                for game, open_us in zip(bot.left_game, bot.left_us, strict=True):
                    wire.open_since_us[game] = now - open_us
            if wire.server == message.server:
                self._judge(wire, bot)

    def _judge(self, wire: RemoteConnection, bot: pb.BotAnswers) -> None:
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
                thoughts=list(zip(bot.thinking, map(read_thought, bot.thought), strict=True)),
            )
            referee.judge_answers(player, answers)
        if bot.choices:
            messages = [answer.choice for answer in bot.choices]
            choices = [(made.game, made.step, choice(made), one_line(made.reason)) for made in messages]
            referee.judge_choices(player, choices, [answer.time_us for answer in bot.choices])
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
        for handle in outbox.turn_game:
            game = player.games.get(handle)
            first_us, second_us = (0, 0) if game is None else game.left_us
            append_row(asks, first_clock_us=first_us, second_clock_us=second_us)
    if wire.open_since_us:
        now = microseconds()
        asks.spent_us.extend([now - wire.open_since_us.get(handle, now) for handle in outbox.turn_game])
        wire.open_since_us = {}
    for game in outbox.ends:
        loser = game.result.loser
        is_at_fault = game.termination in FAULTS and loser is not None and game.players[loser] is player
        last_cell = game.moves[-1] if game.moves else 0
        fault = game.fault if is_at_fault else ""
        append_row(asks, end_game=game.handle, end_plies=game.ply, end_cell=last_cell, end_fault=fault)
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
            if game.time_factor is not None:
                starts.time_factor.append(game.time_factor)
