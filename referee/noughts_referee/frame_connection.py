"""The wire of a player: one stream of frames at a time, of PlayService.Play or on the pipes of a child.

A `FrameConnection` outlives its streams: the clocks of its questions run on while the player is away.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from traceback import clear_frames
from typing import Protocol

import grpc
from google.rpc.status_pb2 import Status

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.arbiter import MOST_COMPLAINTS, Answers, Complaint
from noughts_referee.clock import GRACE_SECONDS
from noughts_referee.deadlines import Overdue, PendingTurns
from noughts_referee.frame_encoding import (
    IndexedScore,
    UnevenColumns,
    choice,
    choice_reason,
    ends_columns,
    openings,
    reasons,
    scores,
    starts_columns,
    turns_columns,
)
from noughts_referee.game import Game, Outbox, opening_ply
from noughts_referee.monotonic import Now, microseconds
from noughts_referee.referee import ConnectedPlayer
from noughts_referee.referee_protocols import PlayerReferee
from noughts_referee.round_trips import RoundTrips
from noughts_referee.rules import Termination
from noughts_referee.stream_closed import StreamClosed, status_of

logger = logging.getLogger("noughts.referee")

TIMED_GAMES = 1
UNTIMED_GAMES = 1_024
MOST_GAMES = 65_536
"""Games at once: the defaults of a bot that does not say, and the most that anyone gets."""

_HEARTBEATS_MISSED = 3
# A frame costs the two processes as much as a hundred plies, so small ones wait for company where it is sure to come:
# while other frames are on their way, of the player or of its opponents.
_SECOND_FRAME_QUESTIONS = 64
_SECOND_FRAME_SHARE = 2
"""A second frame carries at least half of the player's games."""
_FIRST_FRAME_QUESTIONS = 128
_FIRST_FRAME_SHARE = 8
"""A first frame carries at least an eighth of the player's games, or so many, or has waited."""
# What starts carry in one frame at most, in moves: two bytes each, and a frame may have eight million.
_MOST_MOVES = 1_000_000
_FEW_STARTS = 1_024
# A bot may answer what it got wrong once more, and nobody counts that.
_SPARE_ANSWERS = 1_000
# A frame without a question waits this long for one to travel with: what it tells is not urgent.
_LINGER_SECONDS = 0.02
# One with few questions waits so long for more: nearly all games are the opponents' turn meanwhile.
_GATHER_SECONDS = 0.005


class Frames(Protocol):
    """What carries a player's frames: a gRPC stream's context, or a child's pipes."""

    async def read(self) -> object:
        """The next PlayRequest; anything else when the player has left."""

    async def write(self, message: pb.PlayResponse, /) -> None:
        """Sends a frame; one at a time."""


@dataclass(frozen=True, slots=True)
class WireSettings:
    """Times of the connection, in seconds."""

    heartbeat: float = 5.0
    grace: float = GRACE_SECONDS
    now: Now = microseconds
    """What time it is."""
    prepare: float = 10.0
    """How long the first clock waits for a bot that prepares for its games."""
    network_cap_us: int = 0
    """What the network may take of each move, in microseconds, without its being charged; 0: nothing."""


@dataclass(slots=True)
class WireCounts:
    """What the wires have carried since the start."""

    frames_down: int = 0
    frames_up: int = 0
    complaints: int = 0


@dataclass(slots=True, eq=False)
class _Stream:
    """One connection of the bot: its window, and what it is to be told outside numbered frames."""

    frames: Frames
    last_read: float
    """In seconds."""
    round_trips: RoundTrips
    prepares: bool = False
    free_until: int = 0
    """Whether starts of timed games travel without turns, and until when it prepares at most, in microseconds."""
    frame: int = 0
    done_through: int = 0
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    statuses: list[Status] = field(default_factory=list)
    heartbeat: int = 0
    heartbeat_due: bool = False
    complaints: int = 0
    may_answer: int = _SPARE_ANSWERS
    """So many rows of answers are still allowed: those that were asked for, and some."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    closed: StreamClosed | None = None
    """Set once: nothing that the bot sends afterwards counts."""

    def close(self, closed: StreamClosed) -> None:
        """Ends the stream; a second reason changes nothing."""
        if self.closed is None:
            self.closed = closed
            self.closing.set()


class FrameConnection:
    """One bot's wire to the referee."""

    def __init__(
        self, player: ConnectedPlayer, referee: PlayerReferee, settings: WireSettings, counts: WireCounts
    ) -> None:
        self.player = player
        self.capacity_timed = 0
        self.capacity_untimed = 0
        self.on_presence: Callable[[], None] = lambda: None
        """Called when the bot has come or gone."""
        self._referee = referee
        self._settings = settings
        self._counts = counts
        self._stream: _Stream | None = None
        self._now = settings.now
        self._questions = PendingTurns(player, self._overdue, settings.now, referee.stalls)
        self._lingering: asyncio.TimerHandle | None = None
        self._lingered = False
        self._grace: asyncio.TimerHandle | None = None
        self._shut = False

    @property
    def online(self) -> bool:
        """Whether the bot has a stream now."""
        return self._stream is not None

    def wake(self) -> None:
        """The player's outbox has something to send."""
        stream = self._stream
        outbox = self.player.outbox
        if stream is None:
            self._questions.held()
            return
        if self._may_send(stream, outbox):
            stream.wakeup.set()
        elif outbox.turns_timed or outbox.openings:
            self._questions.held(stream.free_until)
        elif not outbox.turn_game:
            self._linger(_LINGER_SECONDS)
        elif stream.frame == stream.done_through:
            self._linger(_GATHER_SECONDS)

    def close(self, closed: StreamClosed) -> None:
        """Ends the bot's stream, if it has one, and says why."""
        if self._stream is not None:
            self._stream.close(closed)

    def shut(self, closed: StreamClosed) -> None:
        """The server stops: the stream ends, and neither grace nor limits run on. The wire is of no use afterwards."""
        self._shut = True
        self.close(closed)
        self._questions.stop()
        for timer in (self._grace, self._lingering):
            if timer is not None:
                timer.cancel()
        self._grace = self._lingering = None

    def let_go(self, closed: StreamClosed) -> dict[int, int]:
        """The bot's games go on elsewhere: its stream ends, if it has one, and nobody's grace runs on.

        Returns how long its open questions with clocks have been open, by game, in microseconds.
        """
        self.close(closed)
        self.capacity_timed = self.capacity_untimed = 0
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        return self._questions.let_go()

    def opened_earlier(self, game: Game, took_us: int) -> None:
        """A question in the outbox has been open for so long, elsewhere: its clock has run since then."""
        self._questions.opened_earlier(game, took_us)

    def dismiss(self, termination: Termination = Termination.DISCONNECTED, fault: str = "") -> None:
        """The bot will not come back: it loses its running games at once; `fault` says why (see `Game.fault`)."""
        self.capacity_timed = self.capacity_untimed = 0
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        self._referee.forfeit(self.player, termination, fault)

    async def serve(self, frames: Frames, welcome: pb.Welcome, max_games: int, *, prepares: bool = False) -> None:
        """Carries one stream until the bot leaves; raises StreamClosed if the referee ends it.

        `prepares` is what the bot's hello says; `welcome` is told the player's margin.
        The caller has accepted the bot's hello. A stream that the bot already has is closed.
        """
        welcome.margin_us = self.player.margin_us
        welcome.network_cap_us = self._settings.network_cap_us
        # Who reads its welcome is online: whatever it does next must find it so. The older stream is closed in the same
        # breath, and never gets what is meant for the newer, however many log in at once.
        self.close(session_replaced(welcome.bot))
        trips = RoundTrips(self._settings.network_cap_us)
        stream = _Stream(frames, self._now() / 1e6, trips, prepares=prepares, heartbeat_due=trips.wanted)
        if trips.wanted:
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
                for other in others:
                    other.cancel()
        except BaseExceptionGroup as group:
            # Not `except*`: what is raised there comes wrapped in a group in some releases of Python 3.11.
            unexpected = _ended_by(stream, group, welcome.version)
            if unexpected is not None:
                raise unexpected from group
        finally:
            self._detach(stream)
        if stream.closed is not None:
            raise stream.closed

    # A stream comes and goes.

    def _attach(self, stream: _Stream, max_games: int) -> None:
        self._stream = stream
        self.player.network_us = 0
        self.capacity_timed = min(max_games or TIMED_GAMES, MOST_GAMES)
        self.capacity_untimed = min(max_games or UNTIMED_GAMES, MOST_GAMES)
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        self._questions.carry_over(lambda: self._referee.joined(self.player, self))
        self.on_presence()

    def _detach(self, stream: _Stream) -> None:
        if self._stream is not stream:
            return
        self._stream = None
        self.capacity_timed = self.capacity_untimed = 0
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        if not self._shut:
            self._questions.held()
            self._grace = asyncio.get_running_loop().call_later(self._settings.grace, self.dismiss)
        self.on_presence()

    # Up: the bot's answers.

    async def _read(self, stream: _Stream) -> None:
        while True:
            request: object = await stream.frames.read()
            if not isinstance(request, pb.PlayRequest):
                return  # EOF: the bot has left
            if stream.closed is not None:
                raise stream.closed
            now = self._now()
            stream.last_read = now / 1e6
            self._counts.frames_up += 1
            if stream.round_trips.waiting and request.heartbeat.id == stream.heartbeat:
                stream.round_trips.echoed(now, busy=self._owes_answers())
                self.player.network_us = stream.round_trips.credit_us
            if request.done_through > stream.done_through:
                stream.done_through = min(request.done_through, stream.frame)
                stream.free_until = 0
                if self.player.outbox:
                    self.wake()
            if request.HasField("moves"):
                self._take(stream, request.moves, now)
            if request.choices:
                self._take_choices(stream, request.choices, now)

    def _take(self, stream: _Stream, moves: pb.Moves, now: int) -> None:
        _spend(stream, len(moves.game), len(moves.resigned))
        # Slices: they make lists in three quarters of the time that `list` takes.
        games, plies, cells = moves.game[:], moves.ply[:], moves.cell[:]
        if not len(games) == len(plies) == len(cells):
            raise _uneven(
                f"moves: got {len(games)} games, {len(plies)} plies and {len(cells)} cells, "
                "expected columns of equal length"
            )
        given: list[IndexedScore] = []
        if moves.scored or moves.score:
            try:
                given = scores(moves)
            except UnevenColumns as error:
                raise _uneven(str(error)) from error
        times_us = self._questions.answered(games, plies, now)
        resigned = moves.resigned[:]
        why = reasons(moves) if resigned else ()
        answers = Answers(games, plies, cells, times_us, resigned, why, frozenset(moves.exhausted), given)
        complaints = self._referee.answered(self.player, answers)
        if complaints:
            self._complain(stream, complaints)

    def _take_choices(self, stream: _Stream, choices: Sequence[pb.Choice], now: int) -> None:
        _spend(stream, len(choices), 0)
        plies = [opening_ply(each.step) for each in choices]
        times_us = self._questions.answered([each.game for each in choices], plies, now)
        chosen = [(each.game, each.step, choice(each), choice_reason(each)) for each in choices]
        if complaints := self._referee.chosen(self.player, chosen, times_us):
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

    # Down: frames. Only `_write` writes: two writers on one stream fail.

    async def _write(self, stream: _Stream) -> None:
        while True:
            await stream.wakeup.wait()
            stream.wakeup.clear()
            if stream.closed is not None:
                return
            frame = self._compose(stream)
            if frame is not None:
                self._counts.frames_down += 1
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
            if stream.round_trips.wanted:
                stream.round_trips.sent(self._now())
        if numbered:
            stream.frame += 1
            frame.frame = stream.frame
            self._fill(frame, stream)
        return frame

    def _may_send(self, stream: _Stream, outbox: Outbox) -> bool:
        """Whether a numbered frame may go out now.

        One may be outstanding; a second one when it is large, so that the bot finds the next questions as soon as it
        has answered the last. Small frames are not worth it: they would grow if they waited. Nor are timed games,
        whose clocks would run while the bot is busy with the first frame.
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
        """Moves the outbox into the frame, which is written next: the questions' clocks begin."""
        player = self.player
        outbox = player.take_outbox()
        if stream.prepares and outbox.starts and (outbox.turns_timed or outbox.openings):
            player.outbox = outbox.without_turns()
            stream.free_until = self._now() + round(self._settings.prepare * 1e6)
        if len(outbox.starts) > _FEW_STARTS:
            # A bot that comes back to thousands of long games: they fill several frames.
            player.outbox = outbox.split(_MOST_MOVES)
        self._lingered = False
        if outbox.starts:
            frame.starts.extend(starts_columns(player, outbox.starts))
        stream.may_answer += len(outbox.turn_game) + len(outbox.openings)
        if outbox.turn_game:
            turns_columns(frame.turns, player, outbox)
            self._questions.written(outbox.turn_game, outbox.turn_ply, outbox.turns_timed)
        if outbox.openings:
            frame.openings.extend(openings(player, outbox.openings))
            asked = outbox.openings
            timed = [game for game in asked if game.time is not None]
            self._questions.written([game.handle for game in asked], [game.ply for game in asked], timed)
        if outbox.ends:
            ends_columns(frame.ends, self.player, outbox.ends)
            self._questions.forget(outbox.ends)
        if player.outbox:
            self.wake()

    def _overdue(self, questions: list[Overdue]) -> None:
        self._referee.silent(self.player, questions)

    def _linger(self, seconds: float) -> None:
        """Lets what waits go at the latest after so long; what has been waiting goes no later for that."""
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
        """Sends heartbeats, and gives an idle bot up that does not echo or acknowledge.

        They go to bots that have been quiet, and to all that play with clocks, if the network is not charged to these.

        A bot that owes an answer is judged by its clock, not by its silence: it may be thinking.
        """
        period = self._settings.heartbeat
        stuck_at = stuck_for = 0
        while True:
            await asyncio.sleep(period)
            owes = self._owes_answers()
            stuck = stream.frame > stream.done_through and not owes
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
            if quiet < period and not (stream.round_trips.wanted and self._plays_with_clocks()):
                continue
            if quiet > period * _HEARTBEATS_MISSED and not owes:
                raise StreamClosed(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    "HEARTBEAT_MISSED",
                    f"no sign of life for {quiet:.0f} s: expected an echo of each heartbeat; log in again",
                )
            stream.heartbeat_due = True
            stream.wakeup.set()

    def _plays_with_clocks(self) -> bool:
        return any(game.conditions.timed for game in self.player.games.values())

    def _owes_answers(self) -> bool:
        """Whether the bot has been asked something: a question that waits in the outbox does not count."""
        player = self.player
        waiting = {*player.outbox.turn_game, *(game.handle for game in player.outbox.openings)}
        return any(game.mover is player and handle not in waiting for handle, game in player.games.items())


def _ended_by(stream: _Stream, group: BaseExceptionGroup, bot: str) -> BaseExceptionGroup | None:
    """Notes why the stream ended; returns what is no such reason."""
    closed, rest = group.split(StreamClosed)
    if closed is not None:
        reason = closed.exceptions[0]
        assert isinstance(reason, StreamClosed)
        # Its traceback is part of a cycle, and would keep what was read until the collector comes.
        clear_frames(reason.__traceback__)
        stream.close(reason)
    if rest is None:
        return None
    # A frame was to be written to a bot that has just gone, or while the server stops.
    broken, rest = rest.split(grpc.aio.BaseError)
    if broken is not None:
        logger.info("%s: the stream broke off: %s", bot, broken.exceptions[0])
    return rest


async def _until_closed(stream: _Stream) -> None:
    """Ends the stream's tasks when it is closed, also those that wait for a bot which does not read."""
    await stream.closing.wait()
    assert stream.closed is not None
    raise stream.closed


def _spend(stream: _Stream, rows: int, resigned: int) -> None:
    """Answers have come. Also late ones cost time: whoever sends more than it was asked for is cut off."""
    stream.may_answer -= rows
    if stream.may_answer < 0 or resigned > rows:
        raise StreamClosed(
            grpc.StatusCode.INVALID_ARGUMENT,
            "TOO_MANY_ANSWERS",
            f"a frame of {rows:,} answers, {resigned:,} of them resigned: expected one to each question",
        )


def _uneven(message: str) -> StreamClosed:
    return StreamClosed(grpc.StatusCode.INVALID_ARGUMENT, "COLUMNS_UNEVEN", message)


def session_replaced(bot: str) -> StreamClosed:
    """What a bot is told whose name has logged in again."""
    return StreamClosed(
        grpc.StatusCode.ABORTED,
        "SESSION_REPLACED",
        f"{bot} logged in again elsewhere: got a newer session, expected only one; stop one of them",
        bot=bot,
    )
