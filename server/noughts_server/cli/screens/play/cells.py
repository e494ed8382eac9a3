"""Read cells that a person types: by name (see `rules.cells`), or on 3x3 by the digits of a numeric keypad."""

from noughts_referee.rules import Variant, column_name, read_cell


def has_keypad(variant: Variant) -> bool:
    """Return whether the digits 1 to 9 map to the board's cells."""
    return (variant.columns, variant.rows, variant.cells) == (3, 3, 9)


def keypad_cell(digit: int) -> int:
    """Return the cell of a key of the numeric keypad, whose 7 is at the top left."""
    row, column = divmod(digit - 1, 3)
    return (2 - row) * 3 + column


def is_column(variant: Variant, letter: str) -> bool:
    """Return whether the name of a column begins with this letter."""
    return any(column_name(column).startswith(letter) for column in range(variant.columns))


def is_complete(variant: Variant, text: str) -> bool:
    """Return whether the text names a cell and no further digit could name another: no Enter is needed."""
    row = text.removeprefix(text.rstrip("0123456789"))
    return row != "" and read_cell(variant, text) is not None and int(row) * 10 > variant.rows


def landing_cell(variant: Variant, free: tuple[int, ...], cell: int) -> int | None:
    """Return the cell in which a stone for `cell` lands; None if there is none.

    With gravity, it is the lowest free cell of the column. `free` has the free cells in which a stone can land.
    """
    if cell in free:
        return cell
    if not variant.gravity:
        return None
    size = variant.columns * variant.rows
    return next(
        (
            landing
            for landing in free
            if landing % variant.columns == cell % variant.columns and landing // size == cell // size
        ),
        None,
    )
