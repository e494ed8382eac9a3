"""A bot's connection to a server: dials in, takes frames apart, answers, comes back after a failure.

Quick bots are asked on the event loop, one straight loop over a frame. A bot that has once thought for longer than
`_LONG_THOUGHT_SECONDS` is moved to a thread of its own, so that finished answers leave while the next move is being
thought about. A bot with `async def choose` gets a task for each question.
"""

import asyncio
import contextlib
import functools
import inspect
import logging
import operator
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

import grpc
import grpc.aio

from noughts_bots.bot import Bot, GameEnd, GameInfo, Move, Resign, TimeLimits
from noughts_bots.thinker import Thinker, Work
from noughts_proto.security import Dialling, failed_handshake, why_hung_up
from noughts_proto.transport import PROTOCOL, TOKEN_KEY
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_referee.rules import Position, Result, Termination, Variant, parse_variant

logger = logging.getLogger("noughts.bot")

_LONG_THOUGHT_SECONDS = 0.020
_FLUSH_SECONDS = 0.010
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_SHORT_SESSION_SECONDS = 0.2
# What grpc.aio says of a stream that the server ended, with whatever status, while the bot was writing.
_WRITTEN_TOO_LATE = "Internal error from Core"
# Coming back helps against these; anything else is an answer that will not change.
_PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
}

PlayCall = grpc.aio.StreamStreamCall[pb.PlayRequest, pb.PlayResponse]


class BotRefused(Exception):
    """The server does not want this bot: `code` is the gRPC status, the text says why and what to do."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Login:
    """Where a bot plays, and as whom."""

    server: str
    """HOST:PORT."""
    token: str
    """An owner's token or a one-time ticket."""
    name: str = ""
    version: str = ""
    dialling: Dialling = field(default_factory=Dialling)
    reconnect: bool = True


def _nothing(event: str) -> None:
    """The default listener."""


async def play(bot: Bot, login: Login, on_event: Callable[[str], None] = _nothing) -> None:
    """Plays until the server ends the session. Raises BotRefused, SecurityProblem.

    `on_event` gets a line for people when something changes.
    """
    login.dialling.check(login.server, login.token)
    wait = _FIRST_WAIT
    with Thinker() as thinker:
        while True:
            session = _Session(bot, login, on_event, thinker)
            began = time.monotonic()
            try:
                async with login.dialling.async_channel(login.server) as channel:
                    await session.serve(channel)
                return
            except grpc.aio.AioRpcError as error:
                details = error.details() or ""
                if problem := failed_handshake(login.server, details):
                    raise problem from error
                if error.code() not in _PASSING or not login.reconnect:
                    raise BotRefused(error.code(), error.details() or error.code().name) from error
                # A server that ends every session at once must not be asked ten times a second.
                lasted = time.monotonic() - began > _SHORT_SESSION_SECONDS
                if session.welcomed and (lasted or error.details() == _WRITTEN_TOO_LATE):
                    wait = _FIRST_WAIT
                if not session.welcomed and (reason := why_hung_up(details)):
                    details += f"; {reason}"
                on_event(f"connection lost ({details}); trying again in {wait:.1f} s")
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, _LONGEST_WAIT)


_Question = tuple[int, int, Position]
_Chosen = int | Move | None
"""A cell, with a score perhaps; None resigns."""
_Answer = tuple[int, int, _Chosen]


class _Session:
    """One stream."""

    def __init__(self, bot: Bot, login: Login, on_event: Callable[[str], None], thinker: Thinker) -> None:
        self.welcomed = False
        self._thinker = thinker
        self._bot = bot
        self._ask = bot.choose
        self._login = login
        self._on_event = on_event
        self._positions: dict[int, Position] = {}
        """Of each running game, seen by the bot: `own` are its stones. The bot's last answer, at the end of `moves`,
        is not among them until its next turn, when `_bring_up` adds it together with the opponent's move."""
        self._infos: dict[int, GameInfo] = {}
        """Of each running game, if the bot has hooks to be told."""
        self._hears_start = type(bot).start is not Bot.start
        self._hears_end = type(bot).end is not Bot.end
        self._wants_info = self._hears_start or self._hears_end
        self._done_through = 0
        self._answers: list[_Answer] = []
        self._gives_scores = False
        """Whether there may be a `Move` among the answers: only then are they looked through."""
        self._heartbeat = 0
        self._over = False
        """The stream has ended: nobody waits for answers any more."""

    async def serve(self, channel: grpc.aio.Channel) -> None:
        """Plays until the stream ends. Raises AioRpcError unless the server ended it with OK."""
        stub = play_pb2_grpc.PlayServiceStub(channel)
        call: PlayCall = stub.Play(metadata=((TOKEN_KEY, f"Bearer {self._login.token}"),))
        try:
            with _end_of_stream(call):
                await self._greet(call)
                if inspect.iscoroutinefunction(self._bot.choose):
                    await self._serve_async(call)
                elif self._thinker.started:
                    await self._serve_in_thread(call)
                else:
                    await self._serve_quick(call)
        finally:
            self._over = True
        await _raise_if_failed(call)

    async def _greet(self, call: PlayCall) -> None:
        bot = self._bot
        hello = pb.Hello(
            protocol=PROTOCOL,
            bot=self._login.name,
            version=self._login.version,
            max_games=bot.max_games,
            agent=f"noughts-python/{_software()} {type(bot).__name__}",
            declines_challenges=not bot.accepts_challenges,
            variants=bot.variants,
        )
        await call.write(pb.PlayRequest(hello=hello))
        first = await _next_frame(call)
        if first is None:
            await _raise_if_failed(call)
            raise BotRefused(grpc.StatusCode.UNKNOWN, "the server ended the session without a welcome")
        self.welcomed = True
        self._on_event(f"online as {first.welcome.version}")
        if first.welcome.waits_for:
            names = ", ".join(first.welcome.waits_for)
            self._on_event(f"another version of this bot is entered in {names}: this one waits until that is over")

    # Three ways to think.

    async def _serve_quick(self, call: PlayCall) -> None:
        """On the event loop, until a single move takes long; then in a thread."""
        while (frame := await _next_frame(call)) is not None:
            self._acknowledge(frame)
            questions = self._take(frame)
            flushed = before = time.perf_counter()
            for index, (handle, ply, position) in enumerate(questions):
                self._answers.append((handle, ply, self._choose(position)))
                now = time.perf_counter()
                if now - before > _LONG_THOUGHT_SECONDS:
                    self._thinker.start()
                    left = functools.partial(self._think, questions[index + 1 :], frame)
                    return await self._serve_in_thread(call, left)
                if now - flushed > _FLUSH_SECONDS:
                    await self._flush(call)
                    flushed = now = time.perf_counter()
                before = now
            self._end_games(frame)
            await self._flush(call)
        return None

    async def _serve_in_thread(self, call: PlayCall, unfinished: Callable[[], None] | None = None) -> None:
        """The bot thinks in its own thread; this loop keeps talking to the referee."""
        work = Work()
        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(self._flush_thoughts(call, work))
            if unfinished is not None:
                self._thinker.put(unfinished, work)
            while (frame := await _next_frame(call)) is not None:
                self._acknowledge(frame)
                work.wakeup.set()
                self._thinker.put(functools.partial(self._think_about, frame), work)
            flusher.cancel()

    async def _flush_thoughts(self, call: PlayCall, work: Work) -> None:
        while True:
            # While the bot thinks about the next move, the answers it already has leave in small batches.
            # (Not `wait_for`: before Python 3.12 it loses a cancellation that comes together with the wakeup.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS if work.open else None):
                    await work.wakeup.wait()
            due = work.wakeup.is_set() or self._answers
            work.wakeup.clear()
            if work.failure is not None:
                raise work.failure
            if due:
                await self._flush(call)

    def _think_about(self, frame: pb.PlayResponse) -> None:
        """In the thread: a frame from its start to its end."""
        if not self._over:
            self._think(self._take(frame), frame)

    def _think(self, questions: list[_Question], frame: pb.PlayResponse) -> None:
        """In the thread: a frame's questions, and what comes after them."""
        for handle, ply, position in questions:
            if self._over:
                return
            self._answers.append((handle, ply, self._choose(position)))
        self._end_games(frame)

    async def _serve_async(self, call: PlayCall) -> None:
        """A task for each question; answers leave as they come."""
        wakeup = asyncio.Event()

        async def answer(question: _Question) -> None:
            handle, ply, position = question
            cell = await self._choose_async(position)
            self._answers.append((handle, ply, cell))
            wakeup.set()

        async def flush() -> None:
            while True:
                await wakeup.wait()
                wakeup.clear()
                await self._flush(call)

        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(flush())
            thinking: set[asyncio.Task[None]] = set()
            while (frame := await _next_frame(call)) is not None:
                self._acknowledge(frame)
                wakeup.set()
                for question in self._take(frame):
                    task = group.create_task(answer(question))
                    thinking.add(task)
                    task.add_done_callback(thinking.discard)
                self._end_games(frame)
            for task in (flusher, *thinking):
                task.cancel()

    # Frames.

    def _take(self, frame: pb.PlayResponse) -> list[_Question]:
        """Begins the frame's games and returns its questions, with the positions brought up to date."""
        if self._hears_end:
            # A bot that plays one game at a time hears of its end before the next one begins.
            self._end_games(frame)
        for starts in frame.starts:
            self._start_games(starts)
        positions = self._positions
        questions: list[_Question] = []
        turns = frame.turns
        # Lists: taking the elements of a repeated field one by one costs more than all of them at once.
        for handle, ply, cell in zip(list(turns.game), list(turns.ply), list(turns.cell), strict=True):
            position = positions.get(handle)
            if position is None:
                continue  # it is over already: see above
            moves = position.moves
            known = len(moves)
            if known == ply - 1:
                if known:
                    position.own |= 1 << moves[-1]
                position.opponent |= 1 << cell
                moves.append(cell)
            elif known != ply:
                # Asked again: what was answered did not arrive, and does not count.
                position = positions[handle] = _seen_by(position.side, position.variant, moves[:ply], position.seed)
            questions.append((handle, ply, position))
        if turns.own_clock_us:
            clocks = zip(turns.game, turns.own_clock_us, turns.opponent_clock_us, strict=True)
            for handle, own, opponent in clocks:
                if handle in positions:
                    positions[handle].own_clock_us, positions[handle].opponent_clock_us = own, opponent
        return questions

    def _acknowledge(self, frame: pb.PlayResponse) -> None:
        if frame.frame:
            self._done_through = frame.frame
        if frame.heartbeat.id:
            self._heartbeat = frame.heartbeat.id
        for status in frame.statuses:
            logger.warning("the referee complains: %s", status.message)
            self._on_event(f"the referee complains: {status.message}")

    def _start_games(self, starts: pb.Starts) -> None:
        variant = parse_variant(starts.variant)
        limits = starts.time
        time = TimeLimits(limits.move_us / 1e6, limits.bank_us / 1e6, limits.increment_us / 1e6)
        positions = self._positions
        moves = list(starts.moves)
        taken = 0
        for handle, number, side, seed, opponent, count in zip(
            list(starts.game),
            list(starts.number),
            list(starts.side),
            list(starts.seed),
            list(starts.opponent),
            list(starts.move_count),
            strict=True,
        ):
            if count:
                positions[handle] = _seen_by(side - 1, variant, moves[taken : taken + count], seed)
                taken += count
            else:
                positions[handle] = Position(variant, side=side - 1, seed=seed)
            if self._wants_info:
                name = f"{starts.tournament}/games/{number}"
                self._infos[handle] = info = GameInfo(name, variant, side - 1, starts.opponents[opponent], time)
                if self._hears_start:
                    with _logged("start"):
                        self._bot.start(info)

    def _end_games(self, frame: pb.PlayResponse) -> None:
        ends = frame.ends
        if not self._hears_end:
            for known in (self._positions, self._infos):
                if known:
                    for handle in list(ends.game):
                        known.pop(handle, None)
            return
        for handle, result, termination, plies, cell in zip(
            ends.game, ends.result, ends.termination, ends.plies, ends.cell, strict=True
        ):
            position, info = self._positions.pop(handle, None), self._infos.pop(handle, None)
            if position is not None and info is not None:
                moves = position.moves
                if len(moves) < plies:
                    moves.append(cell)
                end = GameEnd(Result(result), Termination(termination), tuple(moves[:plies]))
                with _logged("end"):
                    self._bot.end(info, end)

    async def _flush(self, call: PlayCall) -> None:
        """Sends what has been answered, the acknowledgement and the echo."""
        request = pb.PlayRequest(done_through=self._done_through)
        if self._heartbeat:
            request.heartbeat.id = self._heartbeat
            self._heartbeat = 0
        if self._answers:
            # A thread may be appending: take what is there now, leave the rest.
            answers = self._answers[:]
            del self._answers[: len(answers)]
            games, plies, cells = zip(*answers, strict=True)
            if self._gives_scores:
                cells = _without_scores(cells, request.moves)
            resigned = [row for row, cell in enumerate(cells) if cell is None] if None in cells else []
            request.moves.game.extend(games)
            request.moves.ply.extend(plies)
            if resigned:
                cells = tuple(cell or 0 for cell in cells)
                request.moves.resigned.extend(resigned)
            request.moves.cell.extend(cells)
        await call.write(request)

    # Moves.

    def _choose(self, position: Position) -> _Chosen:
        """The bot's move, which joins the position's moves; None if the bot failed, which resigns the game."""
        try:
            chosen = self._ask(position)
            try:
                cell = operator.index(chosen)  # type: ignore[arg-type]  # it does not await
            except TypeError:
                # Not asked beforehand: most bots give no scores, and pay nothing for those that do.
                return self._scored(position, chosen)
        except Resign:
            return None
        except Exception:
            logger.exception("the bot failed on %s and resigns", position)
            return None
        # Whatever is not the number of a cell must not reach the columns, which hold unsigned numbers only.
        if not 0 <= cell < position.variant.cells:
            return _OFF_BOARD
        position.moves.append(cell)
        return cell

    async def _choose_async(self, position: Position) -> _Chosen:
        try:
            chosen = self._bot.choose(position)
            if isinstance(chosen, Awaitable):
                chosen = await chosen
            if isinstance(chosen, Move):
                return self._scored(position, chosen)
            cell = operator.index(chosen)
        except Resign:
            return None
        except Exception:
            logger.exception("the bot failed on %s and resigns", position)
            return None
        if not 0 <= cell < position.variant.cells:
            return _OFF_BOARD
        position.moves.append(cell)
        return cell

    def _scored(self, position: Position, chosen: object) -> _Chosen:
        """The same when the bot has answered with something else than a number. Raises if that is not a `Move`."""
        if not isinstance(chosen, Move):
            raise TypeError(f"choose: got {chosen!r}, expected the number of a cell or a Move")
        cell = operator.index(chosen.cell)
        score = None if chosen.score is None else float(chosen.score)
        if not 0 <= cell < position.variant.cells:
            return _OFF_BOARD
        position.moves.append(cell)
        self._gives_scores = True
        return Move(cell, score)


def _without_scores(answers: tuple[_Chosen, ...], moves: pb.Moves) -> tuple[int | None, ...]:
    """The cells of the answers; their scores go into the message."""
    scores = {row: answer.score for row, answer in enumerate(answers) if isinstance(answer, Move)}
    given = {row: score for row, score in scores.items() if score is not None}
    moves.scored.extend(given.keys())
    moves.score.extend(given.values())
    return tuple(answer.cell if isinstance(answer, Move) else answer for answer in answers)


def _seen_by(side: int, variant: Variant, moves: list[int], seed: int) -> Position:
    """The position after the moves with the stones of `side` as its own, also if the other side is to move."""
    position = Position(variant, side=side, seed=seed)
    position.moves = moves
    position.own = sum(1 << cell for cell in moves[side::2])
    position.opponent = sum(1 << cell for cell in moves[1 - side :: 2])
    return position


_OFF_BOARD = 0xFFFFFFFF


@contextlib.contextmanager
def _logged(hook: str) -> Iterator[None]:
    """A hook that fails is logged: it must not take the bot's other games down with it."""
    try:
        yield
    except Exception:
        logger.exception("the bot failed in its method `%s`; the game goes on", hook)


async def _next_frame(call: PlayCall) -> pb.PlayResponse | None:
    """The referee's next frame; None when it has ended the stream with OK."""
    frame: object = await call.read()
    return frame if isinstance(frame, pb.PlayResponse) else None


@contextlib.contextmanager
def _end_of_stream(call: PlayCall) -> Iterator[None]:
    """Lets pass what a stream that has ended makes of reading and writing; its status says what it was."""
    ended = (grpc.aio.AioRpcError, asyncio.InvalidStateError)
    try:
        yield
    except ended:
        if not call.done():
            raise
    except BaseExceptionGroup as group:
        # Not `except*`: it wraps what is raised in it in some releases of Python 3.11.
        if group.split(ended)[1] is not None or not call.done():
            raise


async def _raise_if_failed(call: PlayCall) -> None:
    code = await call.code()
    if code is not grpc.StatusCode.OK:
        trailing = grpc.aio.Metadata.from_tuple(tuple(await call.trailing_metadata() or ()))
        raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details=await call.details())


def _software() -> str:
    try:
        return version("noughts")
    except PackageNotFoundError:
        return "unknown"
