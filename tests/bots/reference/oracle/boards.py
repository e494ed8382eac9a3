"""The board notation and the answer type that the transcriptions of published players share."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

EMPTY = "." * 9
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


class Evaluation(NamedTuple):
    """A player's answer for a board: the cells among which it chooses at random, their chances, and its scores.

    `weights` are in proportion to the chances of `candidates`. A player that takes the first best cell has one
    candidate. `scores` gives every free cell its score in the article's own scale, as the player to move sees it;
    it is empty if the article has no scores.
    """

    candidates: tuple[int, ...]
    weights: tuple[int, ...]
    scores: dict[int, int]


def check_question(board: str, me: str, columns: int = 3, rows: int = 3) -> None:
    """Raise ValueError for an invalid board or mark, so that a mistake in a test is not taken for an answer."""
    if len(board) != columns * rows or set(board) - set(".XO"):
        raise ValueError(f"not a {columns}x{rows} board: {board!r}")
    if me not in ("X", "O"):
        raise ValueError(f"not a mark: {me!r}")
    if "." not in board:
        raise ValueError(f"no free cell: {board!r}")


def other(mark: str) -> str:
    return "O" if mark == "X" else "X"


def free_cells(board: str) -> tuple[int, ...]:
    return tuple(cell for cell in range(9) if board[cell] == ".")


def put(board: str, cell: int, mark: str) -> str:
    return board[:cell] + mark + board[cell + 1 :]


def has_line(board: str, mark: str) -> bool:
    return any(all(board[cell] == mark for cell in line) for line in LINES)


def equal_chances(cells: tuple[int, ...], scores: dict[int, int] | None = None) -> Evaluation:
    return Evaluation(cells, (1,) * len(cells), scores or {})


def every_question() -> Iterator[tuple[str, str]]:
    """Yield every board of the 3^9 that has a free cell, with either mark to move: 2 x (19683 - 512) questions."""
    for marks in product(".XO", repeat=9):
        if "." in marks:
            for me in "XO":
                yield "".join(marks), me


def reachable_questions() -> Iterator[tuple[str, str]]:
    """Yield the 4520 boards of unfinished games in which X moves first, each with the mark to move.

    With the 958 boards of finished games, they are the 5478 positions that can occur on a 3x3 board.
    """
    seen = {EMPTY}
    waiting = [EMPTY]
    while waiting:
        board = waiting.pop()
        mover = "X" if board.count("X") == board.count("O") else "O"
        if has_line(board, other(mover)) or "." not in board:
            continue
        yield board, mover
        for cell in free_cells(board):
            following = put(board, cell, mover)
            if following not in seen:
                seen.add(following)
                waiting.append(following)
