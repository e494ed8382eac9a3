"""A function of a numpy board as a bot: `run(BoardFunction(my_function), name="mine")`, or `py:./mine.py:make`."""

from collections.abc import Callable
from typing import Any

from noughts_bots.adapters.planes import Plane, cell_of_action, signed_board
from noughts_bots.sdk.bot import Bot
from noughts_referee.rules import Position


class BoardFunction(Bot):
    """A bot that calls a function of the board, an array of shape (rows, columns) with row 0 at the top.

    Its values are 1 for own stones, -1 for the opponent's and 0 for free cells. The function returns a cell, `(row,
    column)`, or with gravity a column.
    """

    def __init__(self, function: Callable[[Plane], Any], variants: tuple[str, ...] = ()) -> None:
        self._function = function
        self.variants = variants

    def choose(self, position: Position) -> int:
        answer = self._function(signed_board(position))
        if isinstance(answer, tuple):
            row, column = answer
            return int(row) * position.variant.columns + int(column)
        return cell_of_action(position, answer)
