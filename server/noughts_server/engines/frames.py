"""Frames for an engine: for a remote server (`bot run`), and for asking one question at a time.

The engine appears as a child that sends a hello, takes frames and answers with frames; a seat runs each process.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from noughts_bots.boards.position_boards import PositionBoards
from noughts_bots.connection.dialogue import software
from noughts_bots.connection.thoughts import thought_message
from noughts_bots.gomocup.conversation import Terms
from noughts_bots.gomocup.options import EngineOptions
from noughts_bots.gomocup.protocol import OFF_BOARD, VARIANTS
from noughts_bots.gomocup.scores import score_in
from noughts_bots.gomocup.swap2 import Swap2Answer
from noughts_bots.sdk.bot import Bot
from noughts_proto.columns import append_row
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.frames import ChildFrames
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.running_child import Death
from noughts_referee.clock import TimeControl
from noughts_referee.game import LostGame
from noughts_referee.monotonic import Now
from noughts_referee.rules import Position, parse_variant
from noughts_server.engines.engine_connection import terms_of
from noughts_server.engines.seat import EngineRefused, EngineSeat, Owner, RuleRefused


@dataclass(slots=True)
class _Game:
    """A running game, according to the frames."""

    handle: int
    terms: Terms | None
    """None if no engine can play it."""
    seat: "_Seat | None" = None
    question: Position | None = None
    """The last question, which can wait for a seat."""


class _Seat:
    """One process of the engine with its game, the `Owner` of a seat."""

    def __init__(self, frames: "EngineFrames", seat: Callable[[Owner], EngineSeat]) -> None:
        self.engine = seat(self)
        self.game: _Game | None = None
        self._frames = frames

    def ready(self) -> None:
        self._frames.prepared()

    def moved(self, cell: int, took_us: int, lines: Sequence[str]) -> None:
        if self.game is not None:
            self._frames.answer(self.game, cell, lines)

    def chose(self, answer: Swap2Answer, took_us: int) -> None:
        """Do nothing: its hello does not offer opening choices."""

    def lost(self) -> tuple[LostGame, ...]:
        return ()

    def died(self, death: Death, lost: tuple[LostGame, ...], *, disabled: bool) -> None:
        self._frames.died(death)


class EngineFrames(ChildFrames):
    def __init__(self, seat: Callable[[Owner], EngineSeat], processes: int, now: Now) -> None:
        """Prepare the seats; a process starts with its first game, whose terms it needs."""
        super().__init__(now)
        self._seats = [_Seat(self, seat) for _ in range(processes)]
        self._boards = PositionBoards(Bot())
        self._games: dict[int, _Game] = {}
        self._waiting: deque[_Game] = deque()
        """Games without a seat so far."""
        self._has_news = asyncio.Event()
        self._frame = 0
        hello = pb.Hello(protocol=PROTOCOL, agent=f"noughts-gomocup/{software()}", max_games=processes, prepares=True)
        hello.variants.extend(VARIANTS)
        self._outgoing = pb.PlayRequest(hello=hello)
        self._has_news.set()
        self.death: Death | None = None
        self.lacks_rule = False
        """Whether the engine has refused the rule of a game."""
        self.seats = [seat.engine for seat in self._seats]

    # Called by the reader and the writer of frames.

    @property
    def has_arrived(self) -> bool:
        """Return whether `read` would return at once."""
        return self._has_news.is_set()

    async def read(self) -> pb.PlayRequest | None:
        """Return the next frame; None at the end, whose cause is in `reason`."""
        await self._has_news.wait()
        if self.reason and not self._outgoing.HasField("hello"):
            return None
        request, self._outgoing = self._outgoing, pb.PlayRequest()
        if not self.reason:
            self._has_news.clear()
        self.last_read_us = self._now()
        return request

    async def write(self, frame: pb.PlayResponse) -> None:
        self._count_written()
        if frame.HasField("welcome"):
            return
        for handle in frame.ends.game:
            self._end_game(handle)
        for starts in frame.starts:
            self._start_games(starts)
        for handle, _, position in self._boards.read_questions(frame.turns):
            self._ask(self._games[handle], position)
        if frame.frame:
            self._frame = frame.frame
        if frame.HasField("heartbeat"):
            self._outgoing.heartbeat.id = frame.heartbeat.id
            self._has_news.set()
        self.prepared()

    def close_writing(self) -> None:
        """End all games."""
        self._end("was stopped")

    def close(self) -> None:
        """Do nothing: the owner ends the processes."""

    # Called by the seats.

    def prepared(self) -> None:
        """Acknowledge a frame when all games that it began have a process that is ready."""
        if all(seat.engine.is_ready for seat in self._seats if seat.game is not None):
            self._outgoing.done_through = self._frame
            self._has_news.set()

    def answer(self, game: _Game, cell: int, lines: Sequence[str]) -> None:
        """Send the engine's move; `lines` are its last other lines."""
        moves = self._outgoing.moves
        known = self._boards.moves(game.handle)
        score = None if game.seat is None else score_in(reversed(lines), game.seat.engine.options.score)
        if score is not None:
            append_row(moves, scored=len(moves.game), score=score)
        if game.seat is not None and game.terms is not None:
            thought = game.seat.engine.thoughts.read(lines, cell, game.terms.columns, game.terms.rows)
            if thought is not None:
                append_row(moves, thinking=len(moves.game), thought=thought_message(thought))
        append_row(moves, game=game.handle, ply=len(known), cell=cell)
        if cell != OFF_BOARD:
            known.append(cell)
        self._outgoing.done_through = self._frame
        self._has_news.set()

    def died(self, death: Death) -> None:
        """End everything after a process has ended; the reader then starts again."""
        self.death = death
        self._end(death.reason)

    def refused(self, refusal: EngineRefused) -> None:
        """End because the engine does not support the board or the rule."""
        self.lacks_rule = isinstance(refusal, RuleRefused)
        self._end(f"refuses the game: it {refusal}")

    # Games.

    def _start_games(self, starts: pb.Starts) -> None:
        variant = parse_variant(starts.variant)
        limits = starts.time
        time = TimeControl(limits.move_us, limits.bank_us, limits.increment_us)
        terms = terms_of(variant, time if time.timed else None)
        self._boards.start(variant, starts)
        for handle in starts.game:
            game = self._games[handle] = _Game(handle, terms)
            self._waiting.append(game)
        self._take_seats()

    def _take_seats(self) -> None:
        for seat in self._seats:
            if not self._waiting:
                return
            if seat.game is None:
                game = self._waiting.popleft()
                if game.terms is None:
                    continue
                seat.game, game.seat = game, seat
                seat.engine.begin(game.terms)
                if game.question is not None:
                    seat.engine.ask((game.question.moves, game.question.own_clock_us))

    def _end_game(self, handle: int) -> None:
        game = self._games.pop(handle, None)
        if game is None:
            return
        self._boards.forget((handle,))
        if game.seat is not None:
            game.seat.game = None
            game.seat.engine.finish()
            self._take_seats()
        elif game in self._waiting:
            self._waiting.remove(game)

    def _ask(self, game: _Game, position: Position) -> None:
        if game.seat is not None and game.question not in (None, position):
            game.seat.engine.forget()  # the question is repeated: its answer did not arrive and does not count
        game.question = position
        if game.terms is None:
            self._resign(game)
        elif game.seat is not None:
            game.seat.engine.ask((position.moves, position.own_clock_us))

    def _resign(self, game: _Game) -> None:
        moves = self._outgoing.moves
        moves.resigned.append(len(moves.game))
        append_row(moves, game=game.handle, ply=len(self._boards.moves(game.handle)), cell=0)
        self._has_news.set()

    def _end(self, reason: str) -> None:
        super()._end(reason)
        self._has_news.set()


@dataclass(slots=True)
class EngineChild:
    """An engine with the interface of `RunningChild`. Created by `engine_child`."""

    frames: EngineFrames
    playing: "asyncio.Task[None]" = field(repr=False)

    async def hello(self) -> pb.Hello:
        """Return its first frame."""
        first = await self.frames.read()
        assert first is not None
        return first.hello

    @property
    def stderr(self) -> str:
        """Return the last output of its processes."""
        return "".join(seat.stderr for seat in self.frames.seats)

    @property
    def manners(self) -> dict[str, None]:
        """Return the peculiarities of its processes, in the order in which they were seen."""
        return {manner: None for seat in self.frames.seats for manner in seat.manners}

    def kill(self, signal: int) -> None:
        for seat in self.frames.seats:
            seat.kill(signal)

    @property
    def computes(self) -> bool:
        """Return False: engines can think in the time of their opponents."""
        return False

    def give_way(self, gives: bool) -> None:
        """Do nothing."""

    async def stop(self, reason: str = "") -> Death:
        """End its processes. `reason` is what it did wrong; by default that of its frames."""
        said = self.stderr
        self.frames.close_writing()
        self.playing.cancel()
        with suppress(asyncio.CancelledError):
            await self.playing
        if self.frames.death is not None and not reason:
            return self.frames.death
        code = next((seat.death.code for seat in self.frames.seats if seat.death is not None), None)
        return Death(reason or self.frames.reason, code, said)


def engine_child(
    command: ChildCommand,
    options: EngineOptions,
    launcher: Launcher,
    settings: ChildSettings,
    processes: int = 1,
    heard: Callable[[bytes], None] | None = None,
) -> EngineChild:
    """Create an engine with this number of processes that sends a hello at once."""

    def seat(owner: Owner) -> EngineSeat:
        return EngineSeat(command, options, launcher, settings, owner, heard=heard)

    frames = EngineFrames(seat, processes, settings.now)
    return EngineChild(frames, asyncio.get_running_loop().create_task(_play(frames, frames.seats)))


async def _play(frames: EngineFrames, seats: Sequence[EngineSeat]) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            for seat in seats:
                tasks.create_task(seat.play())
    except* EngineRefused as refusals:
        refusal = refusals.exceptions[0]
        assert isinstance(refusal, EngineRefused)
        frames.refused(refusal)
