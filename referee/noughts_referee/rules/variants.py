"""Variants as data: a board, and the sets of cells that win.

A variant is a list of cells and the lines among them. Stones of one side are an integer whose bit `c` is set when
its stone lies on cell `c`; a line is such an integer too. Whoever has all cells of one line wins.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from weakref import WeakValueDictionary

_LARGEST_EDGE = 30
# Up to this many cells every set of free cells is listed once and kept (4,096 short tuples at most).
_REMEMBERED_CELLS = 12


class VariantError(ValueError):
    """A variant's name that cannot be read: `got` is the name, `expected` what would have been right."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"variant {got!r}: expected {expected}")
        self.got = got
        self.expected = expected


@dataclass(frozen=True, eq=False)
class Variant:
    """One game's rules. Made by `parse_variant`, which returns the same object for the same rules."""

    name: str
    """The canonical name, e.g. `tictactoe` or `mnk:7,6,4`."""
    columns: int
    rows: int
    lines: tuple[int, ...]
    """Every line, as a set of cells (bit `c` = cell `c`)."""
    cells: int = field(init=False)
    """Number of cells; they are numbered row by row from 0."""
    lines_through: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    """For each cell the lines that hold it: the only ones a stone placed there can complete."""
    shortest_win: int = field(init=False)
    """The least number of moves after which a line can be complete; beyond the board if there are no lines."""

    def __post_init__(self) -> None:
        cells = self.columns * self.rows
        through = tuple(tuple(line for line in self.lines if line >> cell & 1) for cell in range(cells))
        shortest_line = min((line.bit_count() for line in self.lines), default=cells + 1)
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "shortest_win", 2 * shortest_line - 1)
        object.__setattr__(self, "lines_through", through)

    @cached_property
    def full(self) -> int:
        """The set of all cells."""
        return (1 << self.cells) - 1

    @cached_property
    def line_cells(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each line in ascending order, in the order of `lines`."""
        return tuple(tuple(_members(line)) for line in self.lines)

    @cached_property
    def _free_cells(self) -> dict[int, tuple[int, ...]]:
        return {}

    def free_cells(self, occupied: int) -> tuple[int, ...]:
        """The cells outside the set `occupied`, ascending."""
        known = self._free_cells.get(occupied)
        if known is not None:
            return known
        free = tuple(_members(self.full & ~occupied))
        if self.cells <= _REMEMBERED_CELLS:
            self._free_cells[occupied] = free
        return free

    def completes(self, stones: int, cell: int) -> bool:
        """Whether `stones`, of which `cell` was placed last, hold a line through `cell`."""
        return any(stones & line == line for line in self.lines_through[cell])

    def has_line(self, stones: int) -> bool:
        """Whether `stones` hold any line at all."""
        return any(stones & line == line for line in self.lines)


def _members(cells: int) -> Iterator[int]:
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest


def _straight_lines(columns: int, rows: int, length: int) -> tuple[int, ...]:
    """Every run of `length` cells along a row, a column or a diagonal: rows first, then columns, then diagonals."""
    lines = []
    for step_column, step_row in ((1, 0), (0, 1), (1, 1), (-1, 1)):
        for row in range(rows - step_row * (length - 1)):
            for column in range(columns):
                last = column + step_column * (length - 1)
                if 0 <= last < columns:
                    cells = {(row + step_row * i) * columns + column + step_column * i for i in range(length)}
                    lines.append(sum(1 << cell for cell in cells))
    # With k = 1 every direction yields the same lines.
    return tuple(dict.fromkeys(lines))


@lru_cache(maxsize=64)
def parse_variant(text: str) -> Variant:
    """The variant called `text`: `tictactoe`, or `mnk:M,N,K` (M columns, N rows, K in a row).

    Different spellings of the same rules are one variant: `mnk:3,3,3` is `tictactoe`.
    Raises VariantError.
    """
    if text.strip() == "tictactoe":
        return _mnk(3, 3, 3)
    kind, _, arguments = text.strip().partition(":")
    if kind != "mnk":
        raise VariantError(text, "`tictactoe` or `mnk:M,N,K`, e.g. `mnk:7,6,4`")
    try:
        columns, rows, length = (int(part) for part in arguments.split(","))
    except ValueError:
        raise VariantError(text, "three whole numbers, e.g. `mnk:7,6,4` (columns, rows, in a row)") from None
    if not (1 <= columns <= _LARGEST_EDGE and 1 <= rows <= _LARGEST_EDGE):
        raise VariantError(text, f"boards from 1x1 to {_LARGEST_EDGE}x{_LARGEST_EDGE}")
    if not 1 <= length <= max(columns, rows):
        raise VariantError(text, f"K from 1 to {max(columns, rows)}, or nobody could ever win")
    return _mnk(columns, rows, length)


# Whoever still holds a variant keeps it the only one of its rules, however many others have been read since.
_in_use: WeakValueDictionary[tuple[int, int, int], Variant] = WeakValueDictionary()


def _mnk(columns: int, rows: int, length: int) -> Variant:
    known = _in_use.get((columns, rows, length))
    if known is not None:
        return known
    name = "tictactoe" if (columns, rows, length) == (3, 3, 3) else f"mnk:{columns},{rows},{length}"
    variant = Variant(name=name, columns=columns, rows=rows, lines=_straight_lines(columns, rows, length))
    return _in_use.setdefault((columns, rows, length), variant)
