"""Readable names of cells: `h8` as on a Gomoku board.

Columns are letters from the left (a .. z, aa ..), rows are numbers from the bottom. On boards of several layers the
number of the layer comes first: `2b3`. Files, messages and bots use cell numbers.
"""

import re
from collections.abc import Iterable

from noughts_referee.rules.variant import Variant

_TYPED = re.compile(r"(?P<layer>\d{0,9})(?P<column>[a-z]+)(?P<row>\d{0,9})")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_COLUMNS = 52
"""The columns of the largest board: all that have names, `a` to `az`."""

OFF_BOARD = 0xFFFF_FFFF
"""Stands for an answer that is not a cell: the largest number of a column of the protocol."""


def column_name(column: int) -> str:
    """Return `a` for 0, `z` for 25, `aa` for 26. The number is less than `MOST_COLUMNS`."""
    return _LETTERS[column] if column < len(_LETTERS) else f"a{_LETTERS[column - len(_LETTERS)]}"


def cell_name(variant: Variant, cell: int) -> str:
    """Return the name of a cell, e.g. `h8`, or `2b3` in the second layer."""
    above, column = divmod(cell, variant.columns)
    layer, row = divmod(above, variant.rows)
    name = f"{column_name(column)}{variant.rows - row}"
    return f"{layer + 1}{name}" if variant.layers > 1 else name


def cell_names(variant: Variant, cells: Iterable[int]) -> str:
    """Return the names of several cells, e.g. `h8 i9 g7`."""
    return " ".join(cell_name(variant, cell) for cell in cells)


def read_cell(variant: Variant, text: str) -> int | None:
    """Return the cell with this name; None if the name is not valid.

    With gravity, a column without a row is enough: it means the top cell.
    """
    matched = _TYPED.fullmatch(text.lower())
    if matched is None:
        return None
    columns = [column_name(column) for column in range(variant.columns)]
    if matched["column"] not in columns or (matched["layer"] == "") != (variant.layers == 1):
        return None
    if not matched["row"] and not variant.gravity:
        return None
    layer = int(matched["layer"] or 1) - 1
    row = variant.rows - int(matched["row"] or variant.rows)
    if not (0 <= layer < variant.layers and 0 <= row < variant.rows):
        return None
    return (layer * variant.rows + row) * variant.columns + columns.index(matched["column"])


def placed_wrongly(variant: Variant, own: int, opponent: int, cell: int, side: int) -> str:
    """Return why a move of the side is illegal with these stones, as a phrase that follows "it".

    For example: `placed a stone on h8 (cell 112), which is occupied`. `cell` can be any number.
    """
    if not 0 <= cell < variant.cells:
        named = "" if cell == OFF_BOARD else f" on cell {cell},"
        return f"placed a stone{named} off the board, which has cells 0 to {variant.cells - 1}"
    why = why_illegal(variant, own, opponent, cell, side)
    return f"placed a stone on {cell_name(variant, cell)} (cell {cell}), which {why}"


def why_illegal(variant: Variant, own: int, opponent: int, cell: int, side: int) -> str:
    """Return why a cell of the board cannot be played with these stones, as a phrase that follows its name."""
    if (own | opponent) >> cell & 1:
        return "is occupied"
    if variant.supports[cell] & ~(own | opponent):
        return "rests on nothing: stones fall to the lowest free cell of their column"
    kind = variant.forbids(own, opponent, cell, side) if variant.forbids else None
    return f"is forbidden for this side ({kind})" if kind else "is free"
