"""A line chart in a terminal."""

from collections.abc import Sequence
from itertools import pairwise

from noughts_server.cli import printing

_WIDTH = 60
_HEIGHT = 8

_BRAILLE = 0x2800
"""The code point of the Braille character without dots."""
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of the dots of a Braille character, row by row."""


def print_line_chart(points: Sequence[tuple[float, float]], *, up: tuple[str, str], across: tuple[str, str]) -> None:
    """Print the points (at least one, x ascending) as a line, with labels at the ends of both axes, the lower first."""
    console = printing.stdout()
    lowest, highest = up
    labels = {0: highest, _HEIGHT - 1: lowest}
    axis = "┤" if printing.unicode() else "|"
    for number, text in enumerate(line_chart(points, _WIDTH, _HEIGHT, unicode=printing.unicode())):
        console.print(f"{labels.get(number, ''):>6} {axis}{text.rstrip()}", soft_wrap=True)
    first, last = across
    width = max(_WIDTH - len(first), len(last) + 1)
    console.print(f"{'':>8}{first}{last:>{width}}\n", soft_wrap=True)


def line_chart(points: Sequence[tuple[float, float]], width: int, height: int, *, unicode: bool = True) -> list[str]:
    """Return `height` lines of `width` characters, top first, with the points (at least one, x ascending) as a line.

    A character holds 2x4 dots in braille, or one `*` without `unicode`. The axes reach from the least to the greatest
    coordinate of the points.
    """
    dots_across, dots_down = (2, 4) if unicode else (1, 1)
    columns, rows = width * dots_across, height * dots_down
    low, high = min(y for _, y in points), max(y for _, y in points)
    left, _ = points[0]
    right, _ = points[-1]
    cells = [[0] * width for _ in range(height)]
    previous: int | None = None
    for column in range(columns):
        value = _value(points, left + (right - left) * column / max(columns - 1, 1))
        row = round((high - value) / (high - low) * (rows - 1)) if high > low else rows // 2
        # A steep line needs several dots in a column: all from the row next to the previous one, so that it has no gap.
        if previous is None or row == previous:
            start = row
        else:
            start = previous + 1 if row > previous else previous - 1
        for dot in range(min(start, row), max(start, row) + 1):
            cells[dot // dots_down][column // dots_across] |= _DOTS[dot % dots_down][column % dots_across]
        previous = row
    return ["".join(_character(dots, unicode=unicode) for dots in line) for line in cells]


def _character(dots: int, *, unicode: bool) -> str:
    if not dots:
        return " "
    return chr(_BRAILLE + dots) if unicode else "*"


def _value(points: Sequence[tuple[float, float]], x: float) -> float:
    """Return y at `x`, between the two points next to it."""
    for (before, low), (after, high) in pairwise(points):
        if x <= after:
            return low + (high - low) * (x - before) / (after - before) if after > before else high
    _, last_value = points[-1]
    return last_value
