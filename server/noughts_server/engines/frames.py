"""An engine as a child that speaks frames: for a remote server (`bot run`), and for checks that ask single questions.

It sends a hello, receives frames, and answers with frames. A seat runs each process.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from noughts_bots.boards.position_boards import PositionBoards
from noughts_bots.connection.dialogue import software_version
from noughts_bots.connection.thoughts import thought_message
from noughts_bots.gomocup.conversation import Terms
from noughts_bots.gomocup.options import EngineOptions
from noughts_bots.gomocup.protocol import VARIANTS
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
from noughts_referee.rules import OFF_BOARD, Position, parse_variant
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
    """An engine's seat with its game. It is the `Owner` of the `EngineSeat`, and passes its calls to the frames."""

    def __init__(self, frames: "EngineFrames", new_seat: Callable[[Owner], EngineSeat]) -> None:
        self.engine = new_seat(self)
        self.game: _Game | None = None
        self._frames = frames

    def process_ready(self) -> None:
        self._frames.acknowledge_if_ready()

    def receive_move(self, cell: int, took_us: int, lines: Sequence[str]) -> None:
        if self.game is not None:
            self._frames.answer(self.game, cell, lines)

    def receive_choice(self, answer: Swap2Answer, took_us: int) -> None:
        """Do nothing: the hello does not offer opening choices."""

    def lose_game(self) -> tuple[LostGame, ...]:
        """Return no game: the frames end, so the server decides about the game."""
        return ()

    def process_ended(self, death: Death, lost: tuple[LostGame, ...], *, disabled: bool) -> None:
        self._frames.end_after_death(death)


class EngineFrames(ChildFrames):
    """The frames of an engine, which a reader and a writer of frames use like those of a child's process."""

    def __init__(self, new_seat: Callable[[Owner], EngineSeat], processes: int, now: Now) -> None:
        """Prepare the seats. A process starts with its first game, because it needs the game's terms."""
        super().__init__(now)
        self._seats = [_Seat(self, new_seat) for _ in range(processes)]
        self._boards = PositionBoards(Bot())
        self._games: dict[int, _Game] = {}
        self._waiting: deque[_Game] = deque()
        """Games without a seat so far."""
        self._has_news = asyncio.Event()
        """Set if `read` can return a frame, or the end."""
        self._last_frame = 0
        """The number of the last frame that was written."""
        hello = pb.Hello(
            protocol=PROTOCOL, agent=f"noughts-gomocup/{software_version()}", max_games=processes, prepares=True
        )
        hello.variants.extend(VARIANTS)
        self._outgoing = pb.PlayRequest(hello=hello)
        self._has_news.set()
        self.death: Death | None = None
        self.lacks_rule = False
        """Whether the engine has refused the rule of a game."""
        self.engines = [seat.engine for seat in self._seats]

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
            self._last_frame = frame.frame
        if frame.HasField("heartbeat"):
            self._outgoing.heartbeat.id = frame.heartbeat.id
            self._has_news.set()
        self.acknowledge_if_ready()

    def close_writing(self) -> None:
        """End the frames."""
        self._end("was stopped")

    def close(self) -> None:
        """Do nothing: the owner ends the processes."""

    # Called by the seats.

    def acknowledge_if_ready(self) -> None:
        """Acknowledge the last frame if the process of each game is ready."""
        if all(seat.engine.is_ready for seat in self._seats if seat.game is not None):
            self._outgoing.done_through = self._last_frame
            self._has_news.set()

    def answer(self, game: _Game, cell: int, lines: Sequence[str]) -> None:
        """Send the engine's move; `lines` are its last other lines."""
        moves = self._outgoing.moves
        game_moves = self._boards.moves(game.handle)
        score = None if game.seat is None else score_in(reversed(lines), game.seat.engine.options.score)
        if score is not None:
            append_row(moves, scored=len(moves.game), score=score)
        if game.seat is not None and game.terms is not None:
            thought = game.seat.engine.thoughts.read(lines, cell, game.terms.columns, game.terms.rows)
            if thought is not None:
                append_row(moves, thinking=len(moves.game), thought=thought_message(thought))
        append_row(moves, game=game.handle, ply=len(game_moves), cell=cell)
        if cell != OFF_BOARD:
            game_moves.append(cell)
        self._outgoing.done_through = self._last_frame
        self._has_news.set()

    def end_after_death(self, death: Death) -> None:
        """End the frames, because a process has ended."""
        self.death = death
        self._end(death.reason)

    def end_after_refusal(self, refusal: EngineRefused) -> None:
        """End the frames, because the engine does not support the board or the rule."""
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
        """Give free seats to waiting games. Games that no engine can play get none: `_ask` resigns them."""
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
        return "".join(engine.stderr for engine in self.frames.engines)

    @property
    def manners(self) -> dict[str, None]:
        """Return the peculiarities of its processes, in the order in which they were seen."""
        return {manner: None for engine in self.frames.engines for manner in engine.manners}

    def kill(self, signal: int) -> None:
        for engine in self.frames.engines:
            engine.kill(signal)

    @property
    def computes(self) -> bool:
        """Return False: engines can think in the time of their opponents."""
        return False

    def give_way(self, gives: bool) -> None:
        """Do nothing."""

    async def stop(self, reason: str = "") -> Death:
        """End its processes. `reason` is the engine's fault; by default the reason for the end of its frames."""
        stderr = self.stderr
        self.frames.close_writing()
        self.playing.cancel()
        with suppress(asyncio.CancelledError):
            await self.playing
        if self.frames.death is not None and not reason:
            return self.frames.death
        code = next((engine.death.code for engine in self.frames.engines if engine.death is not None), None)
        return Death(reason or self.frames.reason, code, stderr)


def engine_child(
    command: ChildCommand,
    options: EngineOptions,
    launcher: Launcher,
    settings: ChildSettings,
    processes: int = 1,
    on_output: Callable[[bytes], None] | None = None,
) -> EngineChild:
    """Create an engine with this number of processes. Its hello can be read at once.

    `on_output` receives the stderr of the processes, and their lines other than moves, as they come.
    """

    def new_seat(owner: Owner) -> EngineSeat:
        return EngineSeat(command, options, launcher, settings, owner, on_output=on_output)

    frames = EngineFrames(new_seat, processes, settings.now)
    return EngineChild(frames, asyncio.get_running_loop().create_task(_play(frames)))


async def _play(frames: EngineFrames) -> None:
    """Keep the processes of all seats running, and end the frames with them, also if the engine refuses a game."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for engine in frames.engines:
                tasks.create_task(engine.play())
    except* EngineRefused as refusals:
        refusal = refusals.exceptions[0]
        assert isinstance(refusal, EngineRefused)
        frames.end_after_refusal(refusal)
    finally:
        frames.close_writing()
