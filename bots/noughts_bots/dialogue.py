"""A bot's side of the conversation with its referee, whatever carries the frames: frames in, answers out.

No input or output happens here and no clock is read: sessions over gRPC and over pipes use the same dialogue.
"""

import contextlib
import functools
import logging
import operator
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

from noughts_bots.bot import Bot, GameEnd, GameInfo, Move, Resign, TimeLimits
from noughts_bots.events import Complaint
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Position, Result, Termination, Variant, parse_variant

logger = logging.getLogger("noughts.bot")

Question = tuple[int, int, Position]
"""A game's handle, the ply, and the game's position with the bot to move."""
_Chosen = int | Move | None
"""A cell, with a score perhaps; None resigns."""
_Answer = tuple[int, int, _Chosen]


class Dialogue:
    """What one connection of a bot knows: its running games, and answers that have not been sent yet."""

    def __init__(self, bot: Bot, on_event: Callable[[Complaint], None]) -> None:
        """`on_event` is told when the referee complains."""
        self._bot = bot
        self._ask = bot.choose
        self._on_event = on_event
        self._positions: dict[int, Position] = {}
        """Of each running game, seen by the bot: `own` are its stones. The bot's last answer, at the end of `moves`,
        is not among them until its next turn, when `take` adds it together with the opponent's move."""
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

    @property
    def has_answers(self) -> bool:
        """Whether there are answers that have not been sent."""
        return bool(self._answers)

    def hello(self, name: str, bot_version: str) -> pb.PlayRequest:
        """The bot's first frame. `bot_version` is its own, not that of this software."""
        bot = self._bot
        hello = pb.Hello(
            protocol=PROTOCOL,
            bot=name,
            version=bot_version,
            max_games=bot.max_games,
            agent=f"noughts-python/{software()} {type(bot).__name__}",
            declines_challenges=not bot.accepts_challenges,
            variants=bot.variants,
        )
        return pb.PlayRequest(hello=hello)

    def take(self, frame: pb.PlayResponse) -> list[Question]:
        """Begins the frame's games and returns its questions, with the positions brought up to date."""
        if self._hears_end:
            # A bot that plays one game at a time hears of its end before the next one begins.
            self.end_games(frame)
        for starts in frame.starts:
            self._start_games(starts)
        positions = self._positions
        questions: list[Question] = []
        turns = frame.turns
        # Slices are lists: taking the elements of a repeated field one by one costs more than all of them at once.
        for handle, ply, cell in zip(turns.game[:], turns.ply[:], turns.cell[:], strict=True):
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

    def acknowledge(self, frame: pb.PlayResponse) -> None:
        """The frame is taken in hand: the next reply says so."""
        if frame.frame:
            self._done_through = frame.frame
        if frame.heartbeat.id:
            self._heartbeat = frame.heartbeat.id
        for status in frame.statuses:
            complaint = Complaint(status.message)
            logger.warning("%s", complaint)
            self._on_event(complaint)

    def _start_games(self, starts: pb.Starts) -> None:
        variant = parse_variant(starts.variant)
        limits = starts.time
        time = TimeLimits(limits.move_us / 1e6, limits.bank_us / 1e6, limits.increment_us / 1e6)
        positions = self._positions
        moves = starts.moves[:]
        taken = 0
        for handle, number, side, seed, opponent, count in zip(
            starts.game[:],
            starts.number[:],
            starts.side[:],
            starts.seed[:],
            starts.opponent[:],
            starts.move_count[:],
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

    def end_games(self, frame: pb.PlayResponse) -> None:
        """Forgets the games that the frame ends, once its questions are answered."""
        ends = frame.ends
        if not self._hears_end:
            for known in (self._positions, self._infos):
                if known:
                    for handle in ends.game[:]:
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

    def reply(self) -> pb.PlayRequest:
        """The frame that carries what has been answered, the acknowledgement and the echo."""
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
        return request

    def answer(self, handle: int, ply: int, position: Position) -> None:
        """Asks the bot. One that fails is logged, and resigns the game."""
        answer: _Chosen
        try:
            chosen = self._ask(position)
            # Most bots answer with plain numbers, and pay nothing for those that do not.
            if type(chosen) is int and 0 <= chosen < position.variant.cells:
                position.moves.append(chosen)
                answer = chosen
            else:
                answer = self._read(position, chosen)
        except Exception as failure:
            _log_failure(position, failure)
            answer = None
        self._answers.append((handle, ply, answer))

    async def answer_async(self, handle: int, ply: int, position: Position) -> None:
        """The same for a bot with `async def choose`."""
        answer: _Chosen
        try:
            chosen = self._ask(position)
            answer = self._read(position, await chosen if isinstance(chosen, Awaitable) else chosen)
        except Exception as failure:
            _log_failure(position, failure)
            answer = None
        self._answers.append((handle, ply, answer))

    def _read(self, position: Position, chosen: object) -> _Chosen:
        """What the bot has answered; its cell joins the position's moves. Raises TypeError if it is no answer."""
        number, score = chosen if isinstance(chosen, Move) else (chosen, None)
        try:
            cell = operator.index(number)  # type: ignore[arg-type]  # that is the question
        except TypeError:
            raise TypeError(f"choose: got {chosen!r}, expected the number of a cell or a Move") from None
        score = None if score is None else float(score)
        # Whatever is not the number of a cell must not reach the columns, which hold unsigned numbers only.
        if not 0 <= cell < position.variant.cells:
            return _OFF_BOARD
        position.moves.append(cell)
        if score is None:
            return cell
        self._gives_scores = True
        return Move(cell, score)


def _log_failure(position: Position, failure: Exception) -> None:
    if not isinstance(failure, Resign):
        logger.error("the bot failed on %s and resigns", position, exc_info=failure)


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


@functools.cache
def software() -> str:
    """The version of Noughts that is installed. Looking it up takes a millisecond."""
    try:
        return version("noughts")
    except PackageNotFoundError:
        return "unknown"
