"""Reads cells as people type them: by name (see `rules.cells`), or by the digits of a numeric keypad on 3x3."""

import re

from noughts_referee.rules import Variant, column_name

_TYPED = re.compile(r"(?P<layer>\d*)(?P<column>[a-z]+)(?P<row>\d*)")


def has_keypad(variant: Variant) -> bool:
    """Return whether the digits 1 to 9 map to the board's cells."""
    return (variant.columns, variant.rows, variant.cells) == (3, 3, 9)


def keypad_cell(digit: int) -> int:
    """Return the cell of a key of the numeric keypad, whose 7 is at the top left."""
    row, column = divmod(digit - 1, 3)
    return (2 - row) * 3 + column


def read_cell(variant: Variant, text: str) -> int | None:
    """Return the cell of that name; None if there is none. With gravity, a column without a row is enough."""
    matched = _TYPED.fullmatch(text.lower())
    if matched is None:
        return None
    columns = [column_name(column) for column in range(variant.columns)]
    if matched["column"] not in columns or (matched["layer"] == "") != (variant.layers == 1):
        return None
    if not matched["row"] and not variant.gravity:
        return None
    layer, row = int(matched["layer"] or 1) - 1, variant.rows - int(matched["row"] or variant.rows)
    if not (0 <= layer < variant.layers and 0 <= row < variant.rows):
        return None
    return (layer * variant.rows + row) * variant.columns + columns.index(matched["column"])


def is_column(variant: Variant, letter: str) -> bool:
    """Return whether the name of a column begins with this letter."""
    return any(column_name(column).startswith(letter) for column in range(variant.columns))


def is_complete(variant: Variant, text: str) -> bool:
    """Return whether the text names a cell and no further digit could name another: no Enter is needed."""
    matched = _TYPED.fullmatch(text)
    if matched is None or not matched["row"] or read_cell(variant, text) is None:
        return False
    return int(matched["row"]) * 10 > variant.rows


def landing(variant: Variant, free: tuple[int, ...], cell: int) -> int | None:
    """Return where a stone for `cell` lands, with gravity in its column; None if the cell or column is full."""
    if cell in free:
        return cell
    if not variant.gravity:
        return None
    size = variant.columns * variant.rows
    return next(
        (each for each in free if each % variant.columns == cell % variant.columns and each // size == cell // size),
        None,
    )
