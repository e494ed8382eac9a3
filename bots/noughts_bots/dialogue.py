"""A bot's side of the conversation with its referee, on any carrier: frames in, answers out.

It does no input or output and reads no clock. Sessions over gRPC and over pipes share it.
"""

import contextlib
import functools
import logging
import operator
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import repeat

from noughts_bots.bot import Bot, Exhausted, GameEnd, GameInfo, Move, Resign, TimeLimits, chooses_in_batches, read_batch
from noughts_bots.events import Complaint
from noughts_bots.failures import Failures, in_words
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import OpeningChoice, Position, Put, Result, Take, Termination, Variant, parse_variant

logger = logging.getLogger("noughts.bot")

Question = tuple[int, int, Position]
"""A game's handle, the ply, and the game's position with the bot to move."""
_Chosen = int | Move | Resign
"""A cell, with or without a score, or a resignation, whose text says why."""
_Answer = tuple[int, int, _Chosen]
_Answers = tuple[Sequence[int], Sequence[int], Sequence[_Chosen]]
"""Many answers read together, as columns: handles, plies, answers."""


@dataclass(slots=True)
class Questions:
    """The questions of a frame, as columns of equal length."""

    games: Sequence[int]
    plies: Sequence[int]
    positions: Sequence[Position]

    def __len__(self) -> int:
        return len(self.games)

    def __iter__(self) -> Iterator[Question]:
        return zip(self.games, self.plies, self.positions, strict=True)

    def after(self, count: int) -> "Questions":
        """Return the questions after the first `count`."""
        return Questions(self.games[count:], self.plies[count:], self.positions[count:])

    def by_variant(self) -> "list[Questions]":
        """Return the questions of each variant."""
        rows: dict[Variant, list[Question]] = {}
        for question in self:
            rows.setdefault(question[2].variant, []).append(question)
        return [Questions(*zip(*part, strict=True)) for part in rows.values()]


class Dialogue:
    """The state of one connection of a bot: its running games, and answers not sent yet."""

    def __init__(self, bot: Bot, on_event: Callable[[Complaint], None]) -> None:
        self._bot = bot
        self._ask = bot.choose
        self.in_batches = chooses_in_batches(bot)
        self._on_event = on_event
        self._positions: dict[int, Position] = {}
        """Running games from the bot's point of view: `own` are its stones. The bot's last answer is at the end of
        `moves`, but is not among the stones until its next turn, when `take` adds it with the opponent's move."""
        self._variants: set[Variant] = set()
        """The variants of all games so far. Frames are sorted by variant only if there are several."""
        self._move_limits: dict[int, int] = {}
        """Limits of a move in microseconds, for running games that also have a base time."""
        self._infos: dict[int, GameInfo] = {}
        self._numbers: dict[int, tuple[str, int]] = {}
        """The tournament of each running game, and its number there."""
        self._failures = Failures()
        self._hears_start = type(bot).start is not Bot.start
        self._hears_end = type(bot).end is not Bot.end
        self._wants_info = self._hears_start or self._hears_end
        self._done_through = 0
        self._answers: list[_Answer] = []
        self._batches: deque[_Answers] = deque()
        self._choices: list[pb.Choice] = []
        self._gives_scores = False
        """Whether the answers can contain a `Move`. If not, they are not searched for scores."""
        self._resigns = False
        """Whether the answers can contain a resignation, likewise."""
        self._heartbeat = 0

    @property
    def has_answers(self) -> bool:
        """Whether there are answers not sent yet."""
        return bool(self._answers or self._batches or self._choices)

    def hello(self, name: str, bot_version: str) -> pb.PlayRequest:
        """Return the bot's first frame. `bot_version` is the bot's own version, not that of this software."""
        bot = self._bot
        hello = pb.Hello(
            protocol=PROTOCOL,
            bot=name,
            version=bot_version,
            max_games=bot.max_games,
            agent=f"noughts-python/{software()} {type(bot).__name__}",
            declines_challenges=not bot.accepts_challenges,
            variants=bot.variants,
            opens=True,
            prepares=self._hears_start,
        )
        return pb.PlayRequest(hello=hello)

    def take(self, frame: pb.PlayResponse) -> Questions:
        """Begin the frame's games and return its questions with updated positions."""
        if self._hears_end:
            # A bot that plays one game at a time must learn of its end before the next one begins.
            self.end_games(frame)
        for opening in frame.openings:
            self._choices.append(self._choose(opening))
        for starts in frame.starts:
            self._start_games(starts)
        turns = frame.turns
        # Slicing a repeated field once is cheaper than reading its elements one by one.
        questions = self._asked(turns.game[:], turns.ply[:], turns.cell[:])
        if turns.own_clock_us:
            self._set_clocks(turns)
        return questions

    def _choose(self, asked: pb.Opening) -> pb.Choice:
        """Return the bot's choice for an opening. If the bot fails, log that and resign the game."""
        answer = pb.Choice(game=asked.game, step=asked.step)
        self._numbers[asked.game] = asked.tournament, asked.number
        try:
            variant = parse_variant(asked.variant)
            chosen = self._bot.open(
                OpeningChoice(variant, asked.rule, tuple(asked.stones), asked.seed, asked.own_clock_us)
            )
            if isinstance(chosen, Put):
                answer.put.cell.extend([_on_board(operator.index(cell), variant) for cell in chosen.cells])
            elif isinstance(chosen, Take):
                answer.take = (types_pb2.SIDE_FIRST, types_pb2.SIDE_SECOND)[chosen.side]
            else:
                raise TypeError(f"open: got {chosen!r}, expected Put or Take")
        except Exception as failure:
            if not isinstance(failure, Resign):
                where = f"game {asked.number} of {asked.tournament.removeprefix('tournaments/')}"
                self._failures.tell(f"the bot failed at the opening of {where}, and resigns", failure)
            answer.ClearField("what")
            answer.reason = str(failure) if isinstance(failure, Resign) else in_words(failure)
        return answer

    def _set_clocks(self, turns: pb.Turns) -> None:
        known, move_limits = self._positions, self._move_limits
        for handle, own, opponent in zip(turns.game, turns.own_clock_us, turns.opponent_clock_us, strict=True):
            position = known.get(handle)
            if position is not None:
                position.own_clock_us, position.opponent_clock_us = own, opponent
                position.limit_us = min(own, move_limits.get(handle, own))

    def _asked(self, games: list[int], plies: list[int], cells: list[int]) -> Questions:
        """Return these questions, with each position updated to the moves played since its last question."""
        known = self._positions
        try:
            positions = [known[handle] for handle in games]
        except KeyError:
            # Some games are already over; see `take`.
            rows = [row for row in zip(games, plies, cells, strict=True) if row[0] in known]
            return self._asked(*([row[column] for row in rows] for column in range(3)))
        for row, (position, ply, cell) in enumerate(zip(positions, plies, cells, strict=True)):
            moves = position.moves
            count = len(moves)
            if count == ply - 1:
                if count:
                    position.own |= 1 << moves[-1]
                position.opponent |= 1 << cell
                moves.append(cell)
            elif count != ply:
                # The question is repeated: its answer did not arrive, and does not count.
                again = _seen_by(position.side, position.variant, moves[:ply], position.seed)
                positions[row] = known[games[row]] = again
        return Questions(games, plies, positions)

    def acknowledge(self, frame: pb.PlayResponse) -> None:
        """Acknowledge the frame with the next reply, and report the referee's complaints."""
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
        time = _time_limits(limits)
        opponent_times = [_time_limits(each) for each in starts.opponent_times] or [time] * len(starts.opponents)
        if limits.bank_us and limits.move_us:
            self._move_limits.update(dict.fromkeys(starts.game, limits.move_us))
        self._variants.add(variant)
        self._numbers.update(zip(starts.game[:], zip(repeat(starts.tournament), starts.number[:]), strict=False))
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
                self._infos[handle] = info = GameInfo(
                    name, variant, side - 1, starts.opponents[opponent], time, opponent_times[opponent], count
                )
                if self._hears_start:
                    with _logged("start"):
                        self._bot.start(info)

    def end_games(self, frame: pb.PlayResponse) -> None:
        """Forget the games that the frame ends, after its questions are answered, and call the bot's hook.

        For a bot with the hook, `take` has already called this before the questions; a second call does no harm.
        """
        ends = frame.ends
        if ends.fault:
            self._tell_faults(ends)
        if not self._hears_end:
            for known in (self._positions, self._infos, self._numbers, self._move_limits):
                if known:
                    for handle in ends.game[:]:
                        known.pop(handle, None)
            return
        for handle, result, termination, plies, cell in zip(
            ends.game, ends.result, ends.termination, ends.plies, ends.cell, strict=True
        ):
            position, info = self._positions.pop(handle, None), self._infos.pop(handle, None)
            self._move_limits.pop(handle, None)
            self._numbers.pop(handle, None)
            if position is not None and info is not None:
                moves = position.moves
                if len(moves) < plies:
                    moves.append(cell)
                end = GameEnd(Result(result), Termination(termination), tuple(moves[:plies]))
                with _logged("end"):
                    self._bot.end(info, end)

    def _tell_faults(self, ends: pb.Ends) -> None:
        """Log what the bot did in games that it lost by a fault."""
        for row, fault in zip(ends.faulted, ends.fault, strict=True):
            handle, ply = ends.game[row], ends.plies[row]
            if handle in self._numbers:  # `end_games` can handle the same ends twice
                kind = Termination(ends.termination[row])
                self._failures.note(str(kind), f"the bot lost {self._where(handle, ply)}: it {fault}")

    def _where(self, handle: int, ply: int) -> str:
        tournament, number = self._numbers.get(handle, ("", handle))
        game = f"game {number} of {tournament.removeprefix('tournaments/')}" if tournament else f"game {number}"
        position = self._positions.get(handle)
        return f"{game} at its opening" if position is None else f"{game} at ply {ply} ({position.variant.name})"

    def reply(self) -> pb.PlayRequest:
        """Return the frame with the new answers, the acknowledgement and the echo."""
        request = pb.PlayRequest(done_through=self._done_through)
        if self._heartbeat:
            request.heartbeat.id = self._heartbeat
            self._heartbeat = 0
        # A thread can append at the same time: take what is there now, leave the rest.
        if self._answers:
            answers = self._answers[:]
            del self._answers[: len(answers)]
            self._write(request.moves, *zip(*answers, strict=True))
        for _ in range(len(self._batches)):
            self._write(request.moves, *self._batches.popleft())
        if self._choices:
            choices = self._choices[:]
            del self._choices[: len(choices)]
            request.choices.extend(choices)
        return request

    def _write(self, moves: pb.Moves, games: Sequence[int], plies: Sequence[int], cells: Sequence[_Chosen]) -> None:
        before = len(moves.game)
        if self._gives_scores:
            cells = _without_scores(cells, moves, before)
        if self._resigns:
            resigned = [(row, cell) for row, cell in enumerate(cells, before) if isinstance(cell, Resign)]
            moves.resigned.extend([row for row, _ in resigned])
            moves.reason.extend([str(resignation) for _, resignation in resigned])
            moves.exhausted.extend([row for row, resignation in resigned if isinstance(resignation, Exhausted)])
            cells = [0 if isinstance(cell, Resign) else cell for cell in cells]
        moves.game.extend(games)
        moves.ply.extend(plies)
        moves.cell.extend(cells)  # type: ignore[arg-type]  # scores and resignations are gone

    def answer_all(self, questions: Questions) -> None:
        """Get all answers from the bot with one call, or one for each variant; see `Bot.choose_batch`."""
        parts = [questions] if len(self._variants) < 2 else questions.by_variant()
        for part in parts:
            if part:
                self._batches.append((part.games, part.plies, self._answers_to(part)))

    def _answers_to(self, questions: Questions) -> Sequence[_Chosen]:
        """Return the bot's answers, and add their cells to the positions. If the bot fails, all games resign."""
        positions = tuple(questions.positions)
        try:
            answers = read_batch(self._bot.choose_batch(positions), len(positions))
        except Exception as failure:
            resignation = self._resignation(questions.games[0], questions.plies[0], failure, len(positions))
            return [resignation] * len(positions)
        cells = positions[0].variant.cells
        for row, (position, chosen) in enumerate(zip(positions, answers, strict=True)):
            if type(chosen) is int and 0 <= chosen < cells:
                position.moves.append(chosen)
            else:
                answers[row] = self._read_or_resign(questions.games[row], questions.plies[row], position, chosen)
        return answers

    def _read_or_resign(self, handle: int, ply: int, position: Position, chosen: object) -> _Chosen:
        """Return one answer of a batch that is not a plain cell."""
        try:
            if isinstance(chosen, Resign):
                raise chosen
            return self._read(position, chosen)
        except Exception as failure:
            return self._resignation(handle, ply, failure)

    def answer(self, handle: int, ply: int, position: Position) -> None:
        """Get an answer from the bot. If the bot fails, log that and resign the game."""
        answer: _Chosen
        try:
            chosen = self._ask(position)
            # Most bots answer with plain numbers and skip all checks for other answers.
            if type(chosen) is int and 0 <= chosen < position.variant.cells:
                position.moves.append(chosen)
                answer = chosen
            else:
                answer = self._read(position, chosen)
        except Exception as failure:
            answer = self._resignation(handle, ply, failure)
        self._answers.append((handle, ply, answer))

    async def answer_async(self, handle: int, ply: int, position: Position) -> None:
        """Do the same as `answer` for a bot with `async def choose`."""
        answer: _Chosen
        try:
            chosen = self._ask(position)
            answer = self._read(position, await chosen if isinstance(chosen, Awaitable) else chosen)
        except Exception as failure:
            answer = self._resignation(handle, ply, failure)
        self._answers.append((handle, ply, answer))

    def _read(self, position: Position, chosen: object) -> _Chosen:
        """Return the bot's answer, and add its cell to the position's moves. Raises TypeError if invalid."""
        number, score = chosen if isinstance(chosen, Move) else (chosen, None)
        try:
            cell = operator.index(number)  # type: ignore[arg-type]  # index() decides
        except TypeError:
            raise TypeError(f"choose: got {chosen!r}, expected the number of a cell or a Move") from None
        score = None if score is None else float(score)
        # The columns hold unsigned numbers only, so an invalid cell number must not reach them.
        if _on_board(cell, position.variant) == _OFF_BOARD:
            return _OFF_BOARD
        position.moves.append(cell)
        if score is None:
            return cell
        self._gives_scores = True
        return Move(cell, score)

    def _resignation(self, handle: int, ply: int, failure: Exception, games: int = 1) -> Resign:
        """Return the answer of a bot that failed or resigned: for this game, or for `games` that begin with it."""
        self._resigns = True
        if isinstance(failure, Resign):
            return failure
        where = (
            f"{games} games, the first of them {self._where(handle, ply)}" if games > 1 else self._where(handle, ply)
        )
        self._failures.tell(f"the bot failed in {where}, after {self._positions[handle].moves}, and resigns", failure)
        return Resign(in_words(failure))


def _without_scores(answers: Sequence[_Chosen], moves: pb.Moves, before: int) -> list[int | Resign]:
    """Move the scores of the answers to the message, where the first is row `before`. Return the rest."""
    scores = {row: answer.score for row, answer in enumerate(answers, before) if isinstance(answer, Move)}
    given = {row: score for row, score in scores.items() if score is not None}
    moves.scored.extend(given.keys())
    moves.score.extend(given.values())
    return [answer.cell if isinstance(answer, Move) else answer for answer in answers]


def _time_limits(message: types_pb2.TimeControl) -> TimeLimits:
    return TimeLimits(message.move_us / 1e6, message.bank_us / 1e6, message.increment_us / 1e6)


def _seen_by(side: int, variant: Variant, moves: list[int], seed: int) -> Position:
    """Return the position after the moves, with the stones of `side` as its own, even if the other side moves."""
    position = Position(variant, side=side, seed=seed)
    position.moves = moves
    position.own = sum(1 << cell for cell in moves[side::2])
    position.opponent = sum(1 << cell for cell in moves[1 - side :: 2])
    return position


_OFF_BOARD = 0xFFFFFFFF


def _on_board(cell: int, variant: Variant) -> int:
    """Return the cell as a column can hold it."""
    return cell if 0 <= cell < variant.cells else _OFF_BOARD


@contextlib.contextmanager
def _logged(hook: str) -> Iterator[None]:
    """Log a failure of a hook, so that it does not end the bot's other games."""
    try:
        yield
    except Exception:
        logger.exception("the bot failed in its method `%s`; the game continues", hook)


@functools.cache
def software() -> str:
    """Return the installed version of Noughts. The look-up takes a millisecond."""
    try:
        return version("noughts")
    except PackageNotFoundError:
        return "unknown"
