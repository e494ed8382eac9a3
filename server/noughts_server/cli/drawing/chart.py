"""A line chart in a terminal."""

from collections.abc import Sequence
from itertools import pairwise

# Dots of a braille character (Unicode 2800), by row and column.
_BRAILLE = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def line_chart(points: Sequence[tuple[float, float]], width: int, height: int, *, unicode: bool = True) -> list[str]:
    """Return `height` lines of `width` characters, top first, with the points (at least one, x ascending) as a line.

    A character holds 2x4 dots in braille, or one `*` without `unicode`. The chart spans exactly the points.
    """
    across, down = (2, 4) if unicode else (1, 1)
    columns, rows = width * across, height * down
    low, high = min(y for _, y in points), max(y for _, y in points)
    left, right = points[0][0], points[-1][0]
    cells = [[0] * width for _ in range(height)]
    previous: int | None = None
    for column in range(columns):
        value = _value(points, left + (right - left) * column / max(columns - 1, 1))
        row = round((high - value) / (high - low) * (rows - 1)) if high > low else rows // 2
        # Draw a step in full, so that the line has no gaps.
        begin, end = sorted((row, row if previous is None else previous + (row > previous) - (row < previous)))
        for dot in range(begin, end + 1):
            cells[dot // down][column // across] |= _DOTS[dot % down][column % across]
        previous = row
    return ["".join(" " if not dots else chr(_BRAILLE + dots) if unicode else "*" for dots in line) for line in cells]


def _value(points: Sequence[tuple[float, float]], x: float) -> float:
    """Interpolate y at `x`."""
    for (before, low), (after, high) in pairwise(points):
        if x <= after:
            return low + (high - low) * (x - before) / (after - before) if after > before else high
    return points[-1][1]
