"""The boards of a dialogue's running games: the interface, and their questions and answers as columns."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from noughts_bots.sdk.bot import Move, Resign
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import OFF_BOARD, Thought, Variant

Choice = int | Resign
"""A cell, or a resignation, whose text says why."""
ReportResignation = Callable[[int, Exception], Resign]
"""Reports that the bot failed or resigned in a row of the questions, and returns the resignation."""


@dataclass(slots=True)
class Questions:
    """The questions of a frame, as columns of equal length."""

    games: Sequence[int]
    """The handles of the games."""
    plies: Sequence[int]
    positions: Any
    """The `Position` of each game; in `ArrayBoards` an array of the games' rows."""

    def __len__(self) -> int:
        return len(self.games)

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        return zip(self.games, self.plies, self.positions, strict=True)

    def after(self, count: int) -> "Questions":
        """Return the questions after the first `count`."""
        return Questions(self.games[count:], self.plies[count:], self.positions[count:])


@dataclass(slots=True)
class Answers:
    """Many answers read together, as columns of equal length."""

    games: Sequence[int]
    plies: Sequence[int]
    choices: Sequence[Choice]
    scores: Mapping[int, float] = field(default_factory=dict)
    """Scores by row."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """Comments by row."""
    thoughts: Mapping[int, Thought] = field(default_factory=dict)
    """Reports of searches, by row."""


class Boards(Protocol):
    """Keeps the boards of a dialogue's running games, from the bot's point of view."""

    def start(self, variant: Variant, starts: pb.Starts) -> None:
        """Keep the boards of these games, with the moves made so far."""

    def read_questions(self, turns: pb.Turns) -> Questions:
        """Return the questions of `turns`, and update each board with the moves played since its last question.

        Games that are already over are left out. A repeated question undoes the bot's last answer, which did not
        arrive and does not count.
        """

    def by_variant(self, questions: Questions) -> list[Questions]:
        """Return the questions of each variant."""

    def answers(self, questions: Questions, report_resignation: ReportResignation) -> Answers:
        """Ask a bot that answers in batches, and place the answers on the boards. All questions have one variant.

        Raises the errors of the bot, and TypeError or ValueError unless there is one answer for each question.
        """

    def variant(self, game: int) -> Variant | None:
        """Return the variant of a game; None if it is not running."""

    def moves(self, game: int) -> list[int]:
        """Return the moves of a running game, including the bot's last answer."""

    def forget(self, games: Sequence[int]) -> None:
        """Forget games, which can be unknown."""


def read_choice(answer: object, variant: Variant) -> tuple[int, float | None]:
    """Return the cell, or OFF_BOARD, and the score of an answer to one position. Raises TypeError if invalid."""
    number, score = answer[:2] if isinstance(answer, Move) else (answer, None)
    try:
        cell = on_board(operator.index(number), variant)  # type: ignore[arg-type]  # index() decides
    except TypeError:
        raise TypeError(f"choose: got {answer!r}, expected the number of a cell or a Move") from None
    # The score of an invalid cell is read, too, because it can also be invalid.
    score = None if score is None else float(score)
    return cell, None if cell == OFF_BOARD else score


def thought_of(answer: object) -> Thought | None:
    """Return the search report in an answer to one position. Raises TypeError if it is invalid."""
    return answer.thought if isinstance(answer, Move) else None


def on_board(cell: int, variant: Variant) -> int:
    """Return the cell, or OFF_BOARD if it is not on the board."""
    return cell if 0 <= cell < variant.cells else OFF_BOARD
