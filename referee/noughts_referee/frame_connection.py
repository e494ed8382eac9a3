"""The connection of a player: one stream of frames at a time, from PlayService.Play or a child's pipes.

A `FrameConnection` outlives its streams: the clocks of its questions continue to run while the player is away.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from traceback import clear_frames
from typing import Protocol

import grpc
from google.rpc.status_pb2 import Status

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.arbiter import MOST_COMPLAINTS, Answers, Complaint
from noughts_referee.clock import HEARTBEAT_SECONDS, RECONNECT_TIMEOUT_SECONDS
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.deadlines import PendingTurns
from noughts_referee.frame_encoding import (
    IndexedComment,
    IndexedScore,
    IndexedThought,
    UnevenColumns,
    choice,
    comments,
    ends_columns,
    exhausted,
    one_line,
    opening,
    reasons,
    scores,
    starts_columns,
    thoughts,
    turns_columns,
)
from noughts_referee.game import Game, Outbox, opening_ply
from noughts_referee.monotonic import Now, microseconds
from noughts_referee.referee_protocols import PlayerReferee
from noughts_referee.round_trips import RoundTrips
from noughts_referee.rules import Termination
from noughts_referee.stream_closed import StreamClosed, status_of

logger = logging.getLogger("noughts.referee")

TIMED_GAMES = 1
UNTIMED_GAMES = 1_024
MOST_GAMES = 65_536
"""Limits of concurrent games: two defaults for bots that declare none, and the maximum."""

_HEARTBEATS_MISSED = 3
"""The number of heartbeat periods without a message after which a connection counts as lost."""
# A frame costs the two processes as much as a hundred plies. Small frames therefore wait for more questions if other
# frames, of the player or of its opponents, are sure to bring more questions.
_SECOND_FRAME_QUESTIONS = 64
_SECOND_FRAME_SHARE = 2
"""A second unacknowledged frame holds at least half of the player's games."""
_FIRST_FRAME_QUESTIONS = 128
_FIRST_FRAME_SHARE = 8
"""A first frame holds at least an eighth of the player's games, or _FIRST_FRAME_QUESTIONS, unless it has waited."""
_MOST_MOVES = 1_000_000
"""The most moves in the starts of one frame: each takes two bytes, and a frame can have eight million bytes."""
_FEW_STARTS = 1_024
"""If an outbox has more starts, it is split into several frames by the moves of the games."""
_SPARE_ANSWERS = 1_000
"""Answers that a stream can have in addition to its questions, because a bot can answer again after a wrong answer."""
_PREPARE_SECONDS = 10.0
"""The longest time that the first clock waits for a bot that prepares for its games."""
_LINGER_SECONDS = 0.02
"""A frame without a question is not urgent, so it waits this long for a question."""
_GATHER_SECONDS = 0.005
"""A frame with few questions waits this long for more, because in nearly all games the opponents are to move."""


class Frames(Protocol):
    """A carrier of a player's frames: the context of a gRPC stream, or a child's pipes."""

    async def read(self) -> object:
        """Return the next PlayRequest, or anything else if the player has left."""

    async def write(self, message: pb.PlayResponse, /) -> None:
        """Send a frame. Only one call can run at a time."""


@dataclass(frozen=True, slots=True)
class WireSettings:
    """Times of a connection, in seconds unless the name says otherwise, and its clock."""

    heartbeat: float = HEARTBEAT_SECONDS
    """The period of heartbeats."""
    reconnect_timeout: float = RECONNECT_TIMEOUT_SECONDS
    """The time in which a disconnected bot can return before it loses its games."""
    now: Now = microseconds
    network_cap_us: int = 0
    """The largest network time of a move that is not charged, in microseconds. 0: all network time is charged."""


@dataclass(slots=True)
class WireCounts:
    """Totals of all connections since the start."""

    frames_sent: int = 0
    """Frames sent to players."""
    frames_received: int = 0
    """Frames received from players."""
    complaints: int = 0
    """Complaints about answers."""


@dataclass(slots=True, eq=False)
class _Stream:
    """One stream of the bot: its unacknowledged frames, and the messages outside numbered frames."""

    frames: Frames
    last_read: float
    """The time at which the last message of the bot was read, in seconds."""
    round_trips: RoundTrips
    last_write: Callable[[], int] | None = None
    """Returns the time of the bot's last write; None if the carrier does not record it."""
    prepares: bool = False
    free_until: int = 0
    """Latest end of the bot's preparation for timed games, in microseconds; 0 if it does not prepare."""
    preparing: Sequence[Game] = ()
    """The timed games for which the bot prepares, until it has acknowledged their start."""
    frame: int = 0
    """The number of the last frame sent."""
    done_through: int = 0
    """The number of the last frame that the bot has acknowledged."""
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    statuses: list[Status] = field(default_factory=list)
    heartbeat: int = 0
    heartbeat_due: bool = False
    complaints: int = 0
    may_answer: int = _SPARE_ANSWERS
    """Rows of answers that the bot can still send: one for each question, and some spare ones."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    closed: StreamClosed | None = None
    """Why the stream ends. Set once; later messages of the bot are ignored."""
    left: bool = False
    """Whether the bot has ended it."""

    def close(self, closed: StreamClosed) -> None:
        if self.closed is None:
            self.closed = closed
            self.closing.set()


class FrameConnection:
    """The connection of a player to a referee. It sends the player's outbox, and measures the times of the answers."""

    def __init__(
        self, player: ConnectedPlayer, referee: PlayerReferee, settings: WireSettings, counts: WireCounts
    ) -> None:
        self.player = player
        self.capacity_timed = 0
        self.capacity_untimed = 0
        self.on_presence: Callable[[], None] = lambda: None
        """Called when the bot connects or disconnects."""
        self.offline_because = ""
        """Why the last stream ended, for logs: `stream_ended`, `connection_lost`, or the reason of the referee."""
        self._referee = referee
        self._settings = settings
        self._counts = counts
        self._stream: _Stream | None = None
        self._now = settings.now
        self._questions = PendingTurns(player, partial(referee.end_overdue, player), settings.now, referee.stalls)
        self._lingering: asyncio.TimerHandle | None = None
        """The timer of a frame that waits for more questions."""
        self._lingered = False
        """Whether that frame has waited long enough."""
        self._reconnect_timer: asyncio.TimerHandle | None = None
        """The timer after which a disconnected bot loses its games."""
        self._shut = False

    @property
    def online(self) -> bool:
        """Return whether the bot has a stream."""
        return self._stream is not None

    def wake(self) -> None:
        """Send the player's outbox, now or with later questions."""
        stream = self._stream
        outbox = self.player.outbox
        if stream is None:
            self._questions.hold()
            return
        if self._may_send(stream, outbox):
            stream.wakeup.set()
        elif outbox.turns_timed or outbox.openings:
            self._questions.hold(stream.free_until)
        elif not outbox.turn_game:
            self._linger(_LINGER_SECONDS)
        elif stream.frame == stream.done_through:
            self._linger(_GATHER_SECONDS)

    def close(self, closed: StreamClosed) -> None:
        """End the bot's stream, if it has one, with this reason."""
        if self._stream is not None:
            self._stream.close(closed)

    def shut(self, closed: StreamClosed) -> None:
        """End the stream and all timers, because the server stops. The connection is unusable afterwards."""
        self._shut = True
        self.close(closed)
        self._questions.stop()
        for timer in (self._reconnect_timer, self._lingering):
            if timer is not None:
                timer.cancel()
        self._reconnect_timer = self._lingering = None

    def hand_over(self, closed: StreamClosed) -> dict[int, int]:
        """End the stream and the reconnect timeout, because the bot's games continue on another referee.

        Return how long each open question with a clock has been open, by game, in microseconds.
        """
        self.close(closed)
        self.capacity_timed = self.capacity_untimed = 0
        self._stop_reconnect_timer()
        return self._questions.release()

    def resume_clock(self, game: Game, took_us: int) -> None:
        """Set the age of a question in the outbox that another referee has already asked. Its clock has run since."""
        self._questions.resume_clock(game, took_us)

    def dismiss(self, termination: Termination = Termination.DISCONNECTED, fault: str = "") -> None:
        """End the running games of a bot that does not reconnect as lost; `fault` says why (see `Game.fault`)."""
        self.capacity_timed = self.capacity_untimed = 0
        self._stop_reconnect_timer()
        self._referee.forfeit(self.player, termination, fault)

    async def serve(
        self,
        frames: Frames,
        welcome: pb.Welcome,
        max_games: int,
        *,
        prepares: bool = False,
        last_write: Callable[[], int] | None = None,
    ) -> None:
        """Serve one stream until the bot leaves. Raise StreamClosed if the referee ends it.

        `prepares` comes from the bot's hello, which the caller has accepted. The player's time margin is filled into
        `welcome`. If the bot already has a stream, the older stream is closed. `last_write` returns the time of the
        bot's last write.
        """
        welcome.margin_us = self.player.margin_us
        welcome.network_cap_us = self._settings.network_cap_us
        # A bot that has read its welcome must already be online. The older stream is closed in the same step, so that
        # it gets no frame of the newer stream, even if many sessions log in at once.
        self.close(session_replaced(welcome.bot))
        trips = RoundTrips(self._settings.network_cap_us)
        stream = _Stream(frames, self._now() / 1e6, trips, last_write, prepares, heartbeat_due=trips.is_measured)
        if trips.is_measured:
            stream.wakeup.set()
        self._attach(stream, max_games)
        try:
            await frames.write(pb.PlayResponse(welcome=welcome))
            async with asyncio.TaskGroup() as tasks:
                others = [
                    tasks.create_task(self._write(stream)),
                    tasks.create_task(self._beat(stream)),
                    tasks.create_task(_until_closed(stream)),
                ]
                await self._read(stream)
                stream.left = True
                for other in others:
                    other.cancel()
        except BaseExceptionGroup as group:
            # Not `except*`: in some releases of Python 3.11 it wraps what its body raises in a group.
            unexpected = _ended_by(stream, group, welcome.version)
            if unexpected is not None:
                raise unexpected from group
        finally:
            self._detach(stream)
        if stream.closed is not None:
            raise stream.closed

    def _attach(self, stream: _Stream, max_games: int) -> None:
        self._stream = stream
        self.player.network_us = 0
        self.capacity_timed = min(max_games or TIMED_GAMES, MOST_GAMES)
        self.capacity_untimed = min(max_games or UNTIMED_GAMES, MOST_GAMES)
        self._stop_reconnect_timer()
        self._questions.carry_over(lambda: self._referee.connect(self.player, self))
        self.on_presence()

    def _detach(self, stream: _Stream) -> None:
        if self._stream is not stream:
            return
        self._stream = None
        self.offline_because = _why_offline(stream)
        self.capacity_timed = self.capacity_untimed = 0
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        if not self._shut:
            self._questions.hold()
            self._reconnect_timer = asyncio.get_running_loop().call_later(
                self._settings.reconnect_timeout, self.dismiss
            )
        self.on_presence()

    def _stop_reconnect_timer(self) -> None:
        if self._reconnect_timer is not None:
            self._reconnect_timer.cancel()
            self._reconnect_timer = None

    # From the bot: answers.

    async def _read(self, stream: _Stream) -> None:
        while True:
            request: object = await stream.frames.read()
            if not isinstance(request, pb.PlayRequest):
                return  # The bot has ended the stream.
            if stream.closed is not None:
                raise stream.closed
            now = self._now()
            stream.last_read = now / 1e6
            self._counts.frames_received += 1
            if stream.round_trips.awaits_echo and request.heartbeat.id == stream.heartbeat:
                stream.round_trips.record_echo(now, busy=self._owes_answers())
                self.player.network_us = stream.round_trips.credit_us
            if request.done_through > stream.done_through:
                stream.done_through = min(request.done_through, stream.frame)
                stream.free_until = 0
                stream.preparing = ()
                if self.player.outbox:
                    self.wake()
            if request.HasField("moves") or request.choices:
                arrived = self._referee.stalls.arrival_time(now, stream.last_write)
                if request.HasField("moves"):
                    self._take(stream, request.moves, arrived)
                if request.choices:
                    self._take_choices(stream, request.choices, arrived)

    def _take(self, stream: _Stream, moves: pb.Moves, arrived: int) -> None:
        _spend(stream, len(moves.game), len(moves.resigned))
        # Slicing creates a list in three quarters of the time of `list`.
        games, plies, cells = moves.game[:], moves.ply[:], moves.cell[:]
        if not len(games) == len(plies) == len(cells):
            got = f"{len(games)} games, {len(plies)} plies and {len(cells)} cells"
            raise UnevenColumns(f"moves: got {got}, expected columns of equal length")
        move_scores: list[IndexedScore] = []
        move_comments: list[IndexedComment] = []
        if moves.scored or moves.score or moves.commented or moves.comment:
            move_scores, move_comments = scores(moves), comments(moves)
        move_thoughts: Sequence[IndexedThought] = thoughts(moves) if moves.thinking or moves.thought else ()
        times_us = self._questions.record_answers(games, plies, arrived)
        resigned = moves.resigned[:]
        answers = Answers(
            games=games,
            plies=plies,
            cells=cells,
            times_us=times_us,
            resigned=resigned,
            reasons=reasons(moves) if resigned else (),
            exhausted=exhausted(moves),
            scores=move_scores,
            comments=move_comments,
            thoughts=move_thoughts,
        )
        complaints = self._referee.judge_answers(self.player, answers)
        if complaints:
            self._complain(stream, complaints)

    def _take_choices(self, stream: _Stream, choices: Sequence[pb.Choice], arrived: int) -> None:
        _spend(stream, len(choices), 0)
        plies = [opening_ply(each.step) for each in choices]
        times_us = self._questions.record_answers([each.game for each in choices], plies, arrived)
        rows = [(each.game, each.step, choice(each), one_line(each.reason)) for each in choices]
        if complaints := self._referee.judge_choices(self.player, rows, times_us):
            self._complain(stream, complaints)

    def _complain(self, stream: _Stream, complaints: list[Complaint]) -> None:
        self._counts.complaints += len(complaints)
        stream.complaints += len(complaints)
        if stream.complaints >= MOST_COMPLAINTS:
            raise StreamClosed(
                grpc.StatusCode.INVALID_ARGUMENT,
                "TOO_MANY_COMPLAINTS",
                f"{stream.complaints} answers to questions that were never asked; the last one: {complaints[-1]}",
            )
        for complaint in complaints:
            metadata = {"game": str(complaint.game), "ply": str(complaint.ply)}
            code = grpc.StatusCode.INVALID_ARGUMENT
            stream.statuses.append(status_of(code, "UNKNOWN_QUESTION", str(complaint), metadata))
        stream.wakeup.set()

    # To the bot: frames. Only `_write` writes, because two writers on one stream fail.

    async def _write(self, stream: _Stream) -> None:
        while True:
            await stream.wakeup.wait()
            stream.wakeup.clear()
            if stream.closed is not None:
                return
            frame = self._compose(stream)
            if frame is not None:
                self._counts.frames_sent += 1
                await stream.frames.write(frame)

    def _compose(self, stream: _Stream) -> pb.PlayResponse | None:
        outbox = self.player.outbox
        numbered = self._may_send(stream, outbox)
        if not numbered and not stream.statuses and not stream.heartbeat_due:
            return None
        frame = pb.PlayResponse()
        if stream.statuses:
            frame.statuses.extend(stream.statuses)
            stream.statuses.clear()
        if stream.heartbeat_due:
            stream.heartbeat += 1
            stream.heartbeat_due = False
            frame.heartbeat.id = stream.heartbeat
            if stream.round_trips.is_measured:
                stream.round_trips.record_sent(self._now())
        if numbered:
            stream.frame += 1
            frame.frame = stream.frame
            self._fill(frame, stream)
        return frame

    def _may_send(self, stream: _Stream, outbox: Outbox) -> bool:
        """Return whether a numbered frame can be sent now.

        One frame can be unacknowledged. A second frame can follow if it is large, so that the bot finds its next
        questions as soon as it has answered the last. Small frames wait, because they grow meanwhile. Frames of timed
        games wait too, because their clocks would run while the bot is busy with the first frame.
        """
        outstanding = stream.frame - stream.done_through
        questions = len(outbox.turn_game) + len(outbox.openings)
        games = len(self.player.games)
        if not outstanding:
            if self._lingered:
                return bool(outbox)
            few = min(_FIRST_FRAME_QUESTIONS, games // _FIRST_FRAME_SHARE)
            return questions > 0 and (questions >= few or bool(outbox.turns_timed) or bool(outbox.openings))
        enough = max(_SECOND_FRAME_QUESTIONS, games // _SECOND_FRAME_SHARE)
        return outstanding == 1 and questions >= enough and not (outbox.turns_timed or outbox.openings)

    def _fill(self, frame: pb.PlayResponse, stream: _Stream) -> None:
        """Move the outbox into the frame, which is written next. The questions' clocks start."""
        player = self.player
        outbox = player.take_outbox()
        if len(outbox.starts) > _FEW_STARTS:
            # The starts of thousands of long games, to a bot that reconnects, fill several frames.
            player.outbox = outbox.split(_MOST_MOVES)
        timed_games = [game for game in outbox.starts if game.conditions.timed] if stream.prepares else []
        if timed_games:
            stream.preparing = timed_games
            stream.free_until = self._now() + round(_PREPARE_SECONDS * 1e6)
            outbox.postpone_questions(player.outbox)
        self._lingered = False
        if outbox.starts:
            frame.starts.extend(starts_columns(player, outbox.starts))
        stream.may_answer += len(outbox.turn_game) + len(outbox.openings)
        if outbox.turn_game:
            turns_columns(frame.turns, player, outbox)
            self._questions.record_written(outbox.turn_game, outbox.turn_ply, outbox.turns_timed)
        if outbox.openings:
            openings = outbox.openings
            frame.openings.extend([opening(player, game) for game in openings])
            timed = [game for game in openings if game.time is not None]
            self._questions.record_written([game.handle for game in openings], [game.ply for game in openings], timed)
        if outbox.ends:
            ends_columns(frame.ends, self.player, outbox.ends)
            self._questions.forget(outbox.ends)
        if player.outbox:
            self.wake()

    def _linger(self, seconds: float) -> None:
        """Send the outbox within this time, and never later than already planned."""
        loop = asyncio.get_running_loop()
        if self._lingering is not None:
            if self._lingering.when() <= loop.time() + seconds:
                return
            self._lingering.cancel()
        self._lingering = loop.call_later(seconds, self._linger_over)

    def _linger_over(self) -> None:
        self._lingering = None
        if self._stream is not None and self.player.outbox:
            self._lingered = True
            self._stream.wakeup.set()

    async def _beat(self, stream: _Stream) -> None:
        """Send heartbeats to quiet bots, and to all bots that play with clocks if network time is not charged.

        End the stream of an idle bot that does not echo heartbeats or acknowledge frames. A bot that owes an answer can
        be thinking, and one can prepare for a game that runs, so only their clocks count.
        """
        period = self._settings.heartbeat
        stuck_at = stuck_for = 0
        while True:
            await asyncio.sleep(period)
            is_busy = self._owes_answers() or any(
                self.player.games.get(game.handle) is game for game in stream.preparing
            )
            stuck = stream.frame > stream.done_through and not is_busy
            stuck_for = stuck_for + 1 if stuck and stuck_at == stream.frame else 0
            stuck_at = stream.frame
            if stuck_for >= _HEARTBEATS_MISSED:
                raise StreamClosed(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    "FRAME_NOT_ACKNOWLEDGED",
                    f"frame {stream.frame}: got done_through {stream.done_through} for {stuck_for * period:.0f} s, "
                    f"expected {stream.frame}; log in again",
                )
            now = self._now()
            quiet = (now - self._referee.stalls.within(round(stream.last_read * 1e6), now)) / 1e6 - stream.last_read
            if quiet < period and not (stream.round_trips.is_measured and self._plays_with_clocks()):
                continue
            if quiet > period * _HEARTBEATS_MISSED and not is_busy:
                raise StreamClosed(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    "HEARTBEAT_MISSED",
                    f"nothing received for {quiet:.0f} s: expected an echo of each heartbeat; log in again",
                )
            stream.heartbeat_due = True
            stream.wakeup.set()

    def _plays_with_clocks(self) -> bool:
        return any(game.conditions.timed for game in self.player.games.values())

    @property
    def idle_frame(self) -> int | None:
        """Return the number of the last frame if the bot has acknowledged it and owes no answer; otherwise None.

        If the number is the same at two times, the bot had nothing to do between them.
        """
        stream = self._stream
        if stream is None or stream.frame > stream.done_through or self._owes_answers():
            return None
        return stream.frame

    def _owes_answers(self) -> bool:
        """Return whether a question was sent to the bot and not answered. Questions in the outbox do not count."""
        player = self.player
        waiting = {*player.outbox.turn_game, *(game.handle for game in player.outbox.openings)}
        return any(game.mover is player and handle not in waiting for handle, game in player.games.items())


def _why_offline(stream: _Stream) -> str:
    if stream.closed is not None:
        return stream.closed.reason.lower()
    return "stream_ended" if stream.left else "connection_lost"


def _ended_by(stream: _Stream, group: BaseExceptionGroup, bot: str) -> BaseExceptionGroup | None:
    """Record why the stream ended. Return the exceptions of the group that do not explain it; None without any."""
    closed, rest = group.split(StreamClosed)
    if closed is not None:
        reason = closed.exceptions[0]
        assert isinstance(reason, StreamClosed)
        # The traceback is part of a cycle and would keep the data read alive until garbage collection.
        clear_frames(reason.__traceback__)
        stream.close(reason)
    if rest is None:
        return None
    # The bot left, or the server stopped, while a frame was being written.
    broken, rest = rest.split(grpc.aio.BaseError)
    if broken is not None:
        logger.info("%s: the stream broke off: %s", bot, broken.exceptions[0])
    return rest


async def _until_closed(stream: _Stream) -> None:
    """End the stream's tasks when it is closed, including those that wait for a bot that does not read."""
    await stream.closing.wait()
    assert stream.closed is not None
    raise stream.closed


def _spend(stream: _Stream, rows: int, resigned: int) -> None:
    """Count answers, also late ones, because they cost time.

    Raises StreamClosed if there are more answers than questions.
    """
    stream.may_answer -= rows
    if stream.may_answer < 0 or resigned > rows:
        raise StreamClosed(
            grpc.StatusCode.INVALID_ARGUMENT,
            "TOO_MANY_ANSWERS",
            f"a frame of {rows:,} answers, {resigned:,} of them resignations: expected one for each question",
        )


def session_replaced(bot: str) -> StreamClosed:
    """Return the reason sent to the older session of a bot that logged in again."""
    return StreamClosed(
        grpc.StatusCode.ABORTED,
        "SESSION_REPLACED",
        f"{bot} logged in again elsewhere: got a newer session, expected only one; stop one of them",
        bot=bot,
    )
