"""Fits a feed on a terminal: boards are never cut, standings use the space that they leave."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from noughts_server.cli.screens.watch.game_picture import Picture

_HEAD_LINES = 2
"""Lines above the rows of standings."""
_FEWEST_ROWS = 3
_NARROWEST_STANDINGS = 34
"""Columns that the standings need next to a board."""


class Layout(NamedTuple):
    """The boards and standings that fit on a terminal."""

    boards: list[list[Picture]]
    """Rows of boards."""
    rows: int
    """Maximum rows of each tournament's standings; 0 for none."""
    beside: bool
    """Whether the standings are to the right of the boards; if not, they are above them."""


def arrange(
    draw: Callable[[bool, int | None], list[Picture]], entries: Sequence[int], width: int, height: int
) -> Layout:
    """Return the layout for a terminal of this size; `entries` are the numbers of bots in each tournament's standings.

    `draw(full, height)` draws the boards with all details or as low as possible, none higher than `height`.
    """
    needed = sum(_height(count, min(count, _FEWEST_ROWS)) for count in entries)
    detailed = _rows_that_fit(pack(draw(True, None), width), height - needed)
    low = _rows_that_fit(pack(draw(False, None), width), height - needed)
    # Prefer more boards to more details.
    rows = low if sum(map(len, low)) > sum(map(len, detailed)) else detailed
    lowest = draw(False, height)
    if rows or not lowest:
        height_left = height - sum(map(_row_height, rows))
        return Layout(rows, _most_rows(entries, height_left), beside=False)
    # There is no space for standings above a board.
    first = lowest[0]
    beside = any(entries) and width - first.width - 1 >= _NARROWEST_STANDINGS
    return Layout([[first]], _most_rows(entries, height) if beside else 0, beside)


def pack(pictures: Sequence[Picture], width: int) -> list[list[Picture]]:
    """Arrange the pictures in rows, with a blank column between boards."""
    rows: list[list[Picture]] = []
    used = width + 1
    for picture in pictures:
        if used + 1 + picture.width > width:
            rows.append([])
            used = -1
        rows[-1].append(picture)
        used += 1 + picture.width
    return rows


def _rows_that_fit(rows: Sequence[list[Picture]], height: int) -> list[list[Picture]]:
    """Return the first rows, as many as fit into this height."""
    fitting_rows: list[list[Picture]] = []
    for row in rows:
        height -= _row_height(row)
        if height < 0:
            break
        fitting_rows.append(row)
    return fitting_rows


def _row_height(row: Sequence[Picture]) -> int:
    return max(picture.height for picture in row)


def _most_rows(entries: Sequence[int], height: int) -> int:
    """Return the most rows of standings for each tournament that fit together; 0 if not even a few do."""
    for rows in range(max(entries, default=0), 0, -1):
        if sum(_height(count, min(count, rows)) for count in entries) <= height:
            return rows
    return 0


def _height(count: int, rows: int) -> int:
    """Return the lines of the standings with `rows` of `count` bots, plus a line for hidden rows."""
    if not count:
        return 0
    lines = _HEAD_LINES + rows
    return lines + 1 if rows < count else lines
