"""A bot's side of the conversation with its referee: it reads frames, asks the bot, and returns frames with answers.

It does no input or output and reads no clock. Sessions over gRPC and over pipes use it.
"""

import contextlib
import functools
import logging
import operator
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

from noughts_bots.boards.interface import Answers, Boards, Choice, Questions, on_board, read_choice, thought_of
from noughts_bots.boards.position_boards import PositionBoards
from noughts_bots.connection.events import Complaint
from noughts_bots.connection.failures import Failures, in_words
from noughts_bots.connection.thoughts import thought_message
from noughts_bots.sdk.bot import Bot, Exhausted, GameEnd, GameInfo, Move, Resign, TimeLimits, method_of
from noughts_proto.columns import append_row
from noughts_proto.releases import installed_version
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import (
    OFF_BOARD,
    OpeningChoice,
    Position,
    Put,
    Result,
    Take,
    Termination,
    Thought,
    parse_variant,
)

logger = logging.getLogger("noughts.bot")

_Value = TypeVar("_Value")
_Answer = tuple[int, int, Choice]
"""A game's handle, the ply, and the answer."""
_LONGEST_REASON = 500
"""Characters of a reason; the referee keeps no more."""
_MOST_REMARK_BYTES = 1 << 20
"""Bytes of the comments, thoughts and reasons in a frame. A carrier sends frames of up to 2 MiB."""
_THOUGHT_FRAME_BYTES = 8
"""Bytes that a frame needs for a thought in addition to the thought's own bytes."""


class Dialogue:
    """The state of one connection of a bot: its running games, and answers not sent yet."""

    def __init__(self, bot: Bot, on_event: Callable[[Complaint], None]) -> None:
        self._bot = bot
        self._ask = bot.choose
        self.in_batches = method_of(bot) != "choose"
        self._boards = _boards_of(bot)
        self._on_event = on_event
        self._infos: dict[int, GameInfo] = {}
        self._numbers: dict[int, tuple[str, list[int], list[int]]] = {}
        """By handle of a running game: its tournament, and the handles and numbers of all games of the same frame."""
        self._failures = Failures()
        self._has_start_hook = type(bot).start is not Bot.start
        self._has_end_hook = type(bot).end is not Bot.end
        self._wants_info = self._has_start_hook or self._has_end_hook
        self._done_through = 0
        """The number of the last frame to acknowledge, without those of `_prepared_through`."""
        self._prepared_through = 0
        """The number of the last frame for whose games the bot has prepared. It is set in the bot's thread."""
        self._answers: list[_Answer] = []
        """Single answers that are not sent yet."""
        self._batches: deque[Answers] = deque()
        """Answers of whole calls of the bot that are not sent yet."""
        self._choices: list[pb.Choice] = []
        """Choices for openings that are not sent yet."""
        self._scores: dict[tuple[int, int], float] = {}
        """Scores of answers, by game and ply."""
        self._comments: dict[tuple[int, int], str] = {}
        self._thoughts: dict[tuple[int, int], Thought] = {}
        self._resigns = False
        """Whether the answers can contain a resignation. If not, they are not searched for one."""
        self._heartbeat = 0
        """The ID of a heartbeat to echo; 0 without one."""

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
            agent=f"noughts-python/{software_version()} {type(bot).__name__}",
            declines_challenges=not bot.accepts_challenges,
            variants=bot.variants,
            opens=True,
            prepares=self._has_start_hook,
            stored_ends=bot.stored_ends,
        )
        return pb.PlayRequest(hello=hello)

    def read_welcome(self, welcome: pb.Welcome) -> None:
        """Set the bot's limit of comments. Earlier servers do not send one."""
        if welcome.comment_bytes:
            self._bot.comment_bytes = welcome.comment_bytes

    def take(self, frame: pb.PlayResponse) -> Questions:
        """Begin the frame's games and return its questions with updated positions."""
        if self._has_end_hook:
            # A bot that plays one game at a time must learn of its end before the next one begins.
            self.end_games(frame)
        for opening in frame.openings:
            self._choices.append(self._choose(opening))
        for starts in frame.starts:
            self._start_games(starts)
        if self._must_prepare(frame):
            self._prepared_through = frame.frame
        return self._boards.read_questions(frame.turns)

    def _choose(self, opening: pb.Opening) -> pb.Choice:
        """Return the bot's choice for an opening. If the bot fails, log that and resign the game."""
        answer = pb.Choice(game=opening.game, step=opening.step)
        self._numbers[opening.game] = opening.tournament, [opening.game], [opening.number]
        try:
            variant = parse_variant(opening.variant)
            choice = self._bot.open(
                OpeningChoice(variant, opening.rule, tuple(opening.stones), opening.seed, opening.own_clock_us)
            )
            if isinstance(choice, Put):
                answer.put.cell.extend([on_board(operator.index(cell), variant) for cell in choice.cells])
            elif isinstance(choice, Take):
                answer.take = (types_pb2.SIDE_FIRST, types_pb2.SIDE_SECOND)[choice.side]
            else:
                raise TypeError(f"open: got {choice!r}, expected Put or Take")
        except Exception as failure:
            if not isinstance(failure, Resign):
                where = f"game {opening.number} of {opening.tournament.removeprefix('tournaments/')}"
                self._failures.log_failure(f"the bot failed at the opening of {where}, and resigns", failure)
            answer.ClearField("what")
            reason = str(failure) if isinstance(failure, Resign) else in_words(failure)
            answer.reason = _as_utf8(reason[:_LONGEST_REASON])
        return answer

    def acknowledge(self, frame: pb.PlayResponse) -> None:
        """Acknowledge the frame with the next reply, and report the referee's complaints.

        If the bot must prepare for the frame's games, the frame is acknowledged only after `take`.
        """
        if frame.frame and not self._must_prepare(frame):
            self._done_through = frame.frame
        if frame.heartbeat.id:
            self._heartbeat = frame.heartbeat.id
        for status in frame.statuses:
            complaint = Complaint(status.message)
            logger.warning("%s", complaint)
            self._on_event(complaint)

    def _must_prepare(self, frame: pb.PlayResponse) -> bool:
        """Return whether the clocks begin once the bot has prepared for the frame's games (see `Hello.prepares`)."""
        return self._has_start_hook and not frame.turns.game and any(starts.own_clock_us for starts in frame.starts)

    def _start_games(self, starts: pb.Starts) -> None:
        variant = parse_variant(starts.variant)
        handles, numbers = starts.game[:], starts.number[:]
        self._numbers.update(dict.fromkeys(handles, (starts.tournament, handles, numbers)))
        self._boards.start(variant, starts)
        if not self._wants_info:
            return
        time = _time_limits(starts.time)
        opponent_times = [_time_limits(control) for control in starts.opponent_times] or [time] * len(starts.opponents)
        for handle, number, side, opponent, count in zip(
            handles, numbers, starts.side, starts.opponent, starts.move_count, strict=True
        ):
            name = f"{starts.tournament}/games/{number}"
            self._infos[handle] = info = GameInfo(
                name=name,
                variant=variant,
                side=side - 1,
                opponent=starts.opponents[opponent],
                time=time,
                opponent_time=opponent_times[opponent],
                moves_before=count,
            )
            if self._has_start_hook:
                with _logged("start"):
                    self._bot.start(info)

    def end_games(self, frame: pb.PlayResponse) -> None:
        """Forget the games that the frame ends, after its questions are answered, and call the bot's hook.

        For a bot with the hook, `take` has already called this before the questions. A second call has no effect.
        """
        ends = frame.ends
        if ends.fault:
            self._log_faults(ends)
        games = ends.game[:]
        if self._has_end_hook:
            self._report_ends(ends)
        self._boards.forget(games)
        if self._infos:
            for handle in games:
                self._infos.pop(handle, None)
        for handle in games:
            self._numbers.pop(handle, None)

    def _report_ends(self, ends: pb.Ends) -> None:
        for handle, result, termination, plies, cell in zip(
            ends.game, ends.result, ends.termination, ends.plies, ends.cell, strict=True
        ):
            info = self._infos.get(handle)
            if info is not None:
                moves = self._boards.moves(handle)
                if len(moves) < plies:
                    moves = [*moves, cell]
                end = GameEnd(Result(result), Termination(termination), tuple(moves[:plies]))
                with _logged("end"):
                    self._bot.end(info, end)

    def _log_faults(self, ends: pb.Ends) -> None:
        """Log the faults by which the bot lost games."""
        for row, fault in zip(ends.faulted, ends.fault, strict=True):
            handle, ply = ends.game[row], ends.plies[row]
            if handle in self._numbers:  # otherwise an earlier call of `end_games` has logged the fault
                kind = Termination(ends.termination[row])
                self._failures.log(str(kind), f"the bot lost {self._where(handle, ply)}: it {fault}")

    def _where(self, handle: int, ply: int) -> str:
        tournament, handles, numbers = self._numbers.get(handle, ("", [handle], [handle]))
        number = numbers[handles.index(handle)]
        game = f"game {number} of {tournament.removeprefix('tournaments/')}" if tournament else f"game {number}"
        variant = self._boards.variant(handle)
        return f"{game} at its opening" if variant is None else f"{game} at ply {ply} ({variant.name})"

    def reply(self) -> pb.PlayRequest:
        """Return the frame with the new answers, the acknowledgement and the echo."""
        request = pb.PlayRequest(done_through=max(self._done_through, self._prepared_through))
        if self._heartbeat:
            request.heartbeat.id = self._heartbeat
            self._heartbeat = 0
        # A thread can append at the same time, so only the answers that are there now are sent.
        if self._answers:
            answers = self._answers[:]
            del self._answers[: len(answers)]
            games, plies, choices = zip(*answers, strict=True)
            scores = _pop_values(self._scores, answers)
            comments = _pop_values(self._comments, answers)
            thoughts = _pop_values(self._thoughts, answers)
            self._write(request.moves, Answers(games, plies, choices, scores, comments, thoughts))
        for _ in range(len(self._batches)):
            self._write(request.moves, self._batches.popleft())
        if self._choices:
            opening_choices = self._choices[:]
            del self._choices[: len(opening_choices)]
            request.choices.extend(opening_choices)
        return request

    def _write(self, moves: pb.Moves, answers: Answers) -> None:
        before = len(moves.game)
        cells = answers.choices
        if answers.scores:
            moves.scored.extend([before + row for row in answers.scores])
            moves.score.extend(answers.scores.values())
        if answers.comments:
            # One more than the limit, so that the server marks the comment as cut.
            longest = self._bot.comment_bytes + 1
            moves.commented.extend([before + row for row in answers.comments])
            moves.comment.extend(_within_frame(moves, answers.comments.values(), longest))
        if answers.thoughts:
            bytes_left = _bytes_left(moves)
            for row, thought in answers.thoughts.items():
                message = thought_message(thought)
                bytes_left -= _size(message)
                if bytes_left < 0:
                    break
                append_row(moves, thinking=before + row, thought=message)
        if self._resigns:
            resignations = [(row, cell) for row, cell in enumerate(cells, before) if isinstance(cell, Resign)]
            reasons = (str(resignation) for _, resignation in resignations)
            moves.resigned.extend([row for row, _ in resignations])
            moves.reason.extend(_within_frame(moves, reasons, _LONGEST_REASON))
            moves.exhausted.extend([row for row, resignation in resignations if isinstance(resignation, Exhausted)])
            cells = [0 if isinstance(cell, Resign) else cell for cell in cells]
        moves.game.extend(answers.games)
        moves.ply.extend(answers.plies)
        moves.cell.extend(cells)  # type: ignore[arg-type]  # resignations are gone

    def answer_all(self, questions: Questions) -> None:
        """Get all answers from the bot with one call for each variant; see `Bot.choose_batch`."""
        if questions:
            self._batches.extend([self._answers_to(part) for part in self._boards.by_variant(questions)])

    def _answers_to(self, questions: Questions) -> Answers:
        """Return the bot's answers. If the bot fails, all games resign."""
        games, plies = questions.games, questions.plies
        try:
            return self._boards.answers(
                questions, lambda row, failure: self._resignation(games[row], plies[row], failure)
            )
        except Exception as failure:
            resignation = self._resignation(games[0], plies[0], failure, len(games))
            return Answers(games, plies, [resignation] * len(games))

    def answer(self, handle: int, ply: int, position: Position) -> None:
        """Get an answer from the bot. If the bot fails, log that and resign the game."""
        answer: Choice
        try:
            move = self._ask(position)
            # Most bots answer with plain numbers, which need no other checks.
            if type(move) is int and 0 <= move < position.variant.cells:
                position.moves.append(move)
                answer = move
            else:
                answer = self._read(handle, ply, position, move)
        except Exception as failure:
            answer = self._resignation(handle, ply, failure)
        self._answers.append((handle, ply, answer))

    async def answer_async(self, handle: int, ply: int, position: Position) -> None:
        """Get an answer from a bot with `async def choose`. If the bot fails, log that and resign the game."""
        answer: Choice
        try:
            move = self._ask(position)
            answer = self._read(handle, ply, position, await move if isinstance(move, Awaitable) else move)
        except Exception as failure:
            answer = self._resignation(handle, ply, failure)
        self._answers.append((handle, ply, answer))

    def _read(self, handle: int, ply: int, position: Position, move: object) -> int:
        """Return the cell of the bot's answer, add it to the position's moves, and keep its score, comment and thought.

        Raises TypeError if the answer is invalid.
        """
        cell, score = read_choice(move, position.variant)
        if isinstance(move, Move) and not isinstance(move.comment, str):
            raise TypeError(f"choose: got a comment of type {type(move.comment).__name__}, expected a text")
        if cell != OFF_BOARD:
            position.moves.append(cell)
        if score is not None:
            self._scores[handle, ply] = score
        if isinstance(move, Move) and move.comment:
            self._comments[handle, ply] = move.comment
        if (thought := thought_of(move)) is not None:
            self._thoughts[handle, ply] = thought
        return cell

    def _resignation(self, handle: int, ply: int, failure: Exception, games: int = 1) -> Resign:
        """Return the answer of a bot that failed or resigned: for this game, or for `games` that begin with it."""
        self._resigns = True
        if isinstance(failure, Resign):
            if failure.comment:
                self._comments[handle, ply] = failure.comment
            return failure
        where = self._where(handle, ply)
        if games > 1:
            where = f"{games} games, the first of them {where}"
        message = f"the bot failed in {where}, after {self._boards.moves(handle)}, and resigns"
        self._failures.log_failure(message, failure)
        return Resign(in_words(failure))


def _pop_values(values: dict[tuple[int, int], _Value], answers: list[_Answer]) -> dict[int, _Value]:
    """Remove the values of these answers, which are by game and ply, and return them by row."""
    if not values:
        return {}
    return {row: values.pop((game, ply)) for row, (game, ply, _) in enumerate(answers) if (game, ply) in values}


def _as_utf8(text: str) -> str:
    """Return a bot's text without surrogates, which Python's strings can have and messages cannot."""
    return text.encode(errors="replace").decode()


def _within_frame(moves: pb.Moves, texts: Iterable[str], longest: int) -> list[str]:
    """Return the texts, each cut to `longest` characters.

    The first text that does not fit into the frame is empty, and so are all later ones.
    """
    bytes_left = _bytes_left(moves)
    cut_texts = []
    for text in texts:
        cut = _as_utf8(text[:longest])
        size = len(cut.encode())
        cut_texts.append(cut if size <= bytes_left else "")
        bytes_left -= min(size, bytes_left)
    return cut_texts


def _bytes_left(moves: pb.Moves) -> int:
    """Return how many bytes of comments, thoughts and reasons the frame can still take."""
    text_bytes = sum(len(text.encode()) for text in (*moves.comment, *moves.reason))
    return _MOST_REMARK_BYTES - text_bytes - sum(map(_size, moves.thought))


def _size(thought: types_pb2.Thought) -> int:
    return thought.ByteSize() + _THOUGHT_FRAME_BYTES


def _boards_of(bot: Bot) -> Boards:
    """Return the boards that fit the method with which the bot chooses."""
    if method_of(bot) == "choose_arrays":
        from noughts_bots.boards.array_boards import ArrayBoards  # needs numpy
        from noughts_bots.sdk.arrays import ArrayBot

        if not isinstance(bot, ArrayBot):
            raise TypeError(f"choose_arrays: got a {type(bot).__name__}, expected a subclass of ArrayBot")
        return ArrayBoards(bot)
    return PositionBoards(bot)


def _time_limits(message: types_pb2.TimeControl) -> TimeLimits:
    return TimeLimits(message.move_us / 1e6, message.bank_us / 1e6, message.increment_us / 1e6)


@contextlib.contextmanager
def _logged(hook: str) -> Iterator[None]:
    """Log a failure of a hook, so that it does not end the bot's other games."""
    try:
        yield
    except Exception:
        logger.exception("the bot failed in its method `%s`; the game continues", hook)


@functools.cache
def software_version() -> str:
    """Return the installed version of Noughts. The look-up takes a millisecond."""
    return installed_version("noughts") or "unknown"
