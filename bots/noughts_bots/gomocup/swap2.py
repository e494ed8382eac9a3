"""Openings by agreement in the protocol: `SWAP2BOARD`, stones as lines, `DONE`, and the answer. No I/O.

Stones are listed as `x,y` in the order played, X first. Some managers and engines add the colour: `x,y,1` or `x,y,2`.
The answer is three points, two points, `SWAP` to play X, or one point to play O and place its stone.
"""

from collections.abc import Iterable
from typing import NamedTuple

from noughts_bots.gomocup.protocol import read_point, read_points, word_and_rest, written_point
from noughts_referee.rules import OFF_BOARD, Choice, OpeningChoice, Put, Take

SWAP = "SWAP"
FIRST_STONES = 3
"""The number of stones that the first side places on the empty board."""
X, O = 0, 1  # noqa: E741  # the names of the sides


class Swap2Answer(NamedTuple):
    """A choice for an opening, and for the choice of O the stone that is placed at once."""

    choice: Choice
    move: int | None = None


def question(opening: OpeningChoice, *, colours: bool = False) -> list[str]:
    """Return the commands that ask an engine, with stones as `x,y`, or with `colours` as `x,y,c`."""
    columns = opening.variant.columns
    rows = (
        written_point(cell, columns) + (f",{1 + ply % 2}" if colours else "") for ply, cell in enumerate(opening.stones)
    )
    return ["SWAP2BOARD", *rows, "DONE"]


def read_stones(lines: Iterable[str], columns: int, rows: int) -> tuple[int, ...] | None:
    """Return the cells in the lines between `SWAP2BOARD` and `DONE`, without colours.

    Return None if a line has no point on the board.
    """
    stones = [read_point(",".join(line.split(",")[:2]), columns, rows) for line in lines]
    if any(cell is None or cell < 0 for cell in stones):
        return None
    return tuple(cell for cell in stones if cell is not None)


def written_answer(answer: Swap2Answer, columns: int) -> str:
    if isinstance(answer.choice, Put):
        return " ".join(written_point(cell, columns) for cell in answer.choice.cells)
    return SWAP if answer.move is None else written_point(answer.move, columns)


def read_answer(line: str, opening: OpeningChoice) -> Swap2Answer | None:
    """Parse an engine's line; None if it is not an answer. The choice is not checked against the opening's rules."""
    if word_and_rest(line.lstrip())[0] == SWAP:
        return Swap2Answer(Take(X)) if opening.stones else None
    variant = opening.variant
    cells = read_points(line, variant.columns, variant.rows)
    if not cells:
        return None
    # A point off the board (-1 from `read_points`) is also an answer, which the opening does not allow.
    choice_cells = tuple(OFF_BOARD if cell < 0 else cell for cell in cells)
    if len(choice_cells) == 1:
        return Swap2Answer(Take(O), choice_cells[0]) if opening.stones else None
    return Swap2Answer(Put(choice_cells))


def is_for_empty_board(answer: Swap2Answer, opening: OpeningChoice) -> bool:
    """Return whether the answer is the three stones of the first question, although the board has stones."""
    return bool(opening.stones) and isinstance(answer.choice, Put) and len(answer.choice.cells) == FIRST_STONES
