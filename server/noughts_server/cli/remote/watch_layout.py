"""What of a feed fits on a terminal, and where: boards are never cut, standings take what room they leave."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from noughts_server.cli.remote.watch_board import Picture

_HEAD_LINES = 2
"""Above the rows of standings."""
_FEWEST_ROWS = 3
_NARROWEST_STANDINGS = 34


class Layout(NamedTuple):
    """How the parts lie."""

    boards: list[list[Picture]]
    """Rows of boards."""
    rows: int
    """Of each tournament's standings, at most; 0 for none."""
    beside: bool
    """Whether the standings stand to the right of the boards, else above them."""


def arranged(
    draw: Callable[[bool, int | None], list[Picture]], entries: Sequence[int], width: int, height: int
) -> Layout:
    """The layout for so many columns and lines, which the boards and standings of `entries` bots each may take.

    `draw(full, height)` draws the boards with all that is known or as low as can be, none higher than `height`.
    """
    needed = sum(_height(count, min(count, _FEWEST_ROWS)) for count in entries)
    whole, low = (_fitting(packed(draw(full, None), width), height - needed) for full in (True, False))
    # Rather more boards than all that is known of them.
    shown = low if sum(map(len, low)) > sum(map(len, whole)) else whole
    lowest = draw(False, height)
    if shown or not lowest:
        left = height - sum(map(_row_height, shown))
        return Layout(shown, _most_rows(entries, left), beside=False)
    # Standings and a board above one another do not fit.
    first = lowest[0]
    beside = any(entries) and width - first.width - 1 >= _NARROWEST_STANDINGS
    return Layout([[first]], _most_rows(entries, height) if beside else 0, beside)


def packed(pictures: Sequence[Picture], width: int) -> list[list[Picture]]:
    """In rows, a blank column between two boards."""
    rows: list[list[Picture]] = []
    used = width + 1
    for each in pictures:
        if used + 1 + each.width > width:
            rows.append([])
            used = -1
        rows[-1].append(each)
        used += 1 + each.width
    return rows


def _fitting(rows: Sequence[list[Picture]], height: int) -> list[list[Picture]]:
    shown: list[list[Picture]] = []
    for row in rows:
        height -= _row_height(row)
        if height < 0:
            break
        shown.append(row)
    return shown


def _row_height(row: Sequence[Picture]) -> int:
    return max(each.height for each in row)


def _most_rows(entries: Sequence[int], height: int) -> int:
    """The most rows of standings for each tournament so that all of them fit; 0 if not even a few do."""
    for rows in range(max(entries, default=0), 0, -1):
        if sum(_height(count, min(count, rows)) for count in entries) <= height:
            return rows
    return 0


def _height(count: int, rows: int) -> int:
    """Lines of the standings of `count` bots of which so many rows are shown, with a line for those that are not."""
    return 0 if not count else _HEAD_LINES + rows + (rows < count)
