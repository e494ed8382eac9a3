"""Data from which a page draws a variant's board, and boards as plain text."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from math import gcd
from typing import Any

from noughts_referee.rules import Position, Variant, VariantError, column_name, parse_variant

_MOST_SQUARES = 9
"""Columns or rows of the largest board with squares. Larger boards have intersections."""
_LEAST_WITH_STARS = 13
"""Columns or rows of the smallest board with star points."""


@lru_cache(maxsize=256)
def geometry(variant: str) -> dict[str, Any] | None:
    """Return the board of the variant for a drawing; None for a variant of a plugin that is not installed here."""
    try:
        rules = parse_variant(variant)
    except VariantError:
        return None
    look = _look(rules)
    return {
        "columns": rules.columns,
        "rows": rules.rows,
        "layers": rules.layers,
        "gravity": rules.gravity,
        "names": [column_name(column) for column in range(rules.columns)],
        "look": look,
        "stars": _stars(rules.columns, rules.rows) if look == "stones" else [],
    }


def longest_line(board: dict[str, Any], won: Iterable[int], last: int) -> int:
    """Return the number of pieces in the longest of the lines of winning cells, which all cross the last move."""
    columns, rows = board["columns"], board["rows"]

    def place(cell: int) -> tuple[int, int, int]:
        return cell % columns, cell // columns % rows, cell // (columns * rows)

    lines: Counter[tuple[int, ...]] = Counter()
    for cell in won:
        if cell != last:
            way = [there - here for there, here in zip(place(cell), place(last), strict=True)]
            step = gcd(*way) * (1 if cell > last else -1)
            lines[tuple(distance // step for distance in way)] += 1
    return 1 + max(lines.values(), default=0)


def row_label(variant: Variant, row: int) -> str:
    """Return the number of a row, counted from the top, for the left of a board: as wide as the largest number."""
    return str(variant.rows - row).rjust(len(str(variant.rows)))


def column_labels(variant: Variant) -> str:
    """Return the line below a board whose cells are one character and one blank wide: the letters of the columns."""
    return " " * len(str(variant.rows)) + "".join(f"{column_name(column):>2}" for column in range(variant.columns))


def board_text(position: Position) -> str:
    """Return the board with the names of columns and rows: `X`, `O` and `.`, one layer after the other."""
    variant = position.variant
    marks = str(position).partition(" ")[0]
    lines = []
    for start in range(0, variant.cells, variant.columns):
        layer, row = divmod(start // variant.columns, variant.rows)
        if row == 0 and variant.layers > 1:
            lines.append(f"layer {layer + 1}")
        lines.append(f"{row_label(variant, row)} {' '.join(marks[start : start + variant.columns])}")
        if row == variant.rows - 1:
            lines.append(column_labels(variant))
    return "\n".join(lines)


def _look(variant: Variant) -> str:
    """Return the style in which `board_svg` draws the variant's board: `plate`, `stones` or `marks`."""
    if variant.gravity:
        return "plate"
    return "stones" if max(variant.columns, variant.rows) > _MOST_SQUARES else "marks"


def _stars(columns: int, rows: int) -> list[int]:
    """Return the cells with a star point: near each corner, and in the middle if there is one."""
    if min(columns, rows) < _LEAST_WITH_STARS:
        return []
    middle = [rows // 2 * columns + columns // 2] if columns % 2 and rows % 2 else []
    corners = [row * columns + column for row in (3, rows - 4) for column in (3, columns - 4)]
    return sorted(corners + middle)
