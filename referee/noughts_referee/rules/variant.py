"""Variants as data: a board, the winning sets of cells, the stones that a stone must rest on, and forbidden moves.

The stones of one side are an integer whose bit `c` is set if cell `c` holds its stone. A line is also such an integer,
and a side with all cells of a line wins. All variants share one class. They differ in tables that are empty for plain
boards, and in one pure function that few variants have (`forbids`).

Both sides win with the same lines. Some rules limit one side to the exact number in a row, as renju does for the first.
For that side `forbids` returns "overline", unless the stone makes five in another direction, which wins. The other side
wins with five or more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from noughts_referee.rules.invalid import InvalidInput
from noughts_referee.rules.outcome import DRAWN, Outcome, won

# Up to this many cells, every set of free cells is listed once and cached (at most 4,096 short tuples).
_REMEMBERED_CELLS = 12


Forbids = Callable[[int, int, int, int], str | None]
"""A function of the mover's stones, the other side's stones, a cell where a stone can be placed, and the side (0 first,
1 second). It returns why the side must not play there, as a kind (`overline`, `double-three`), or None. It must be pure
and raise nothing."""


class VariantError(InvalidInput):
    """An invalid variant name."""

    text = "variant {got!r}: expected {expected}"


@dataclass(frozen=True, eq=False)
class Variant:
    """The rules of one game. `parse_variant` returns the same object for the same rules; plugins create their own."""

    name: str
    """The canonical name, e.g. `tictactoe` or `mnk:7,6,4`."""
    columns: int
    rows: int
    lines: tuple[int, ...]
    """Every line, as a set of cells (bit `c` = cell `c`)."""
    layers: int = 1
    """Number of boards on top of each other; 1 for flat boards."""
    beside: Mapping[int, int] = field(default_factory=dict, repr=False)
    """Per line, the cells that must not hold a stone of its owner, or the line does not count. If exactly k in a row
    win, these are the cells before and after it. Lines not listed always count."""
    blocked_ends: Mapping[int, int] = field(default_factory=dict, repr=False)
    """Per line, the cells that cancel the line if the other side has all of them: in caro its two ends. Lines not
    listed cannot be blocked."""
    supports: tuple[int, ...] = field(default=(), repr=False)
    """Per cell, the cells that must hold stones before a stone can be placed there, e.g. the one beneath with gravity.
    0: none. If empty, it is filled with zeros."""
    forbids: Forbids | None = field(default=None, repr=False)
    """Moves that are illegal although the other rules allow them; None if there are none."""
    forbidden: str = ""
    """Sentences for users about the moves that `forbids` forbids."""
    agreement: str = ""
    """The rule by which the players agree on the first stones and their sides, see `agreement`; empty without one."""
    cells: int = field(init=False)
    """Number of cells, which are numbered from 0, row by row and layer by layer."""
    lines_through: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    """Per cell, the lines through it: the only ones that a stone placed there can complete."""
    shortest_win: int = field(init=False)
    """The smallest number of moves after which a line can be complete; more than `cells` without lines."""

    def __post_init__(self) -> None:
        cells = self.columns * self.rows * self.layers
        through: list[list[int]] = [[] for _ in range(cells)]
        for line, members in zip(self.lines, self.line_cells, strict=True):
            for cell in members:
                through[cell].append(line)
        shortest_line = min(map(len, self.line_cells), default=cells + 1)
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "shortest_win", 2 * shortest_line - 1)
        object.__setattr__(self, "lines_through", tuple(map(tuple, through)))
        if not self.supports:
            object.__setattr__(self, "supports", (0,) * cells)

    @cached_property
    def full(self) -> int:
        """The set of all cells."""
        return (1 << self.cells) - 1

    @cached_property
    def gravity(self) -> bool:
        """Whether some cells can be played only after others."""
        return any(self.supports)

    @cached_property
    def occupancy_mask(self) -> tuple[int, ...]:
        """Per cell, the set of the cell and its `supports`.

        A stone can be placed if `occupied & occupancy_mask[cell] == supports[cell]`: only the supports are occupied.
        """
        return tuple(below | 1 << cell for cell, below in enumerate(self.supports))

    @cached_property
    def line_cells(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each line in ascending order, in the order of `lines`."""
        return tuple(tuple(members(line)) for line in self.lines)

    @cached_property
    def lines_by_core(self) -> tuple[dict[int, tuple[int, ...]], ...]:
        """Per cell, the lines through it, grouped by core: at least three cells that all lines of a group share.

        A line that shares fewer cells with every other line is its own core. Most cores of a large board are
        incomplete, so finding the lines of a side takes a third of the comparisons.
        """
        return tuple(_by_core(lines) for lines in self.lines_through)

    @cached_property
    def _free_cells(self) -> dict[int, tuple[int, ...]]:
        return {}

    def given_plies(self, opening_plies: int) -> int:
        """Return how many of a game's opening moves were given to the players; stones by agreement are their own."""
        return 0 if self.agreement else opening_plies

    def free_cells(self, occupied: int) -> tuple[int, ...]:
        """Return the cells where a stone can be placed if the set `occupied` holds stones, ascending.

        With gravity, these are the unoccupied cells with support. If the variant forbids moves, see `legal_cells`.
        """
        free_cells = self._free_cells.get(occupied)
        if free_cells is not None:
            return free_cells
        free = tuple(members(self.playable(self.full & ~occupied, occupied)))
        if self.cells <= _REMEMBERED_CELLS:
            self._free_cells[occupied] = free
        return free

    @cached_property
    def lists_free_cells(self) -> bool:
        """Whether a bot should take one of `free_cells`. If not, `free_cell` gives the same cell much faster."""
        return self.gravity or self.forbids is not None or self.cells <= _REMEMBERED_CELLS

    def free_cell(self, occupied: int, number: int) -> int:
        """Return `free_cells(occupied)[number]` if every empty cell can be played, without a list of them."""
        # The cell's number is `number`, for the empty cells before it, plus the stones before it. The first estimate
        # leaves out the stones. Counting the stones up to an estimate gives a larger one, until it is right.
        up_to = self._cells_up_to
        cell = number
        while (estimate := number + (occupied & up_to[cell]).bit_count()) != cell:
            cell = estimate
        return cell

    @cached_property
    def _cells_up_to(self) -> tuple[int, ...]:
        return tuple((2 << cell) - 1 for cell in range(self.cells))

    def legal_cells(self, own: int, opponent: int, side: int) -> tuple[int, ...]:
        """Return the cells that the side (0 first, 1 second) can play if it has the stones `own`, ascending."""
        free = self.free_cells(own | opponent)
        forbids = self.forbids
        if forbids is None:
            return free
        return tuple(cell for cell in free if forbids(own, opponent, cell, side) is None)

    def can_move(self, own: int, opponent: int, side: int) -> bool:
        """Return whether the side can play any cell."""
        forbids = self.forbids
        occupied = own | opponent
        if forbids is None:
            return occupied != self.full
        free = members(self.playable(self.full & ~occupied, occupied))
        return any(forbids(own, opponent, cell, side) is None for cell in free)

    def playable(self, cells: int, occupied: int) -> int:
        """Return the set of those `cells` where a stone can be placed. None of `cells` can be in `occupied`."""
        if not self.gravity or not cells:
            return cells
        below = self.supports
        return sum(1 << cell for cell in members(cells) if occupied & below[cell] == below[cell])

    def takes(self, cell: int, occupied: int) -> bool:
        """Return whether `cell` is on the board and a stone can be placed there if the set `occupied` holds stones."""
        return 0 <= cell < self.cells and occupied & self.occupancy_mask[cell] == self.supports[cell]

    # The argument `opponent` of the methods below matters only if the other side can block lines.

    def holds(self, stones: int, line: int, opponent: int = 0) -> bool:
        """Return whether a side that has `stones` wins with this line."""
        return self.holds_any(stones, (line,), opponent)

    def holds_any(self, stones: int, lines: Iterable[int], opponent: int = 0) -> bool:
        """Return whether a side that has `stones` wins with any of these lines."""
        for line in lines:
            if (
                stones & line == line
                and not stones & self.beside.get(line, 0)
                and ~opponent & self.blocked_ends.get(line, -1)
            ):
                return True
        return False

    def completes(self, stones: int, cell: int, opponent: int = 0) -> bool:
        """Return whether `stones`, including the one on `cell`, win with a line through `cell`."""
        return self.holds_any(stones, self.lines_through[cell], opponent)

    def outcome(self, own: int, opponent: int, cell: int, side: int) -> Outcome | None:
        """Return how the game ended when `side` placed the last of its stones `own` on `cell`; None if it continues."""
        if self.completes(own, cell, opponent):
            return won(side)
        return None if self.can_move(opponent, own, 1 - side) else DRAWN

    def has_line(self, stones: int, opponent: int = 0) -> bool:
        """Return whether `stones` win with any line."""
        return self.holds_any(stones, self.lines, opponent)

    def winning_cells(self, stones: int, cell: int, opponent: int = 0) -> tuple[int, ...]:
        """Return the cells of all lines completed by the last stone, on `cell`, ascending; empty if it did not win."""
        won = 0
        for line in self.lines_through[cell]:
            if self.holds(stones, line, opponent):
                won |= line
        return tuple(members(won))

    def won_with(self, moves: Sequence[int]) -> tuple[int, ...]:
        """Return the winning cells after these moves from the empty board; empty if the last move did not win."""
        if not moves:
            return ()
        stones = sum(1 << cell for cell in moves[-1::-2])
        opponent = sum(1 << cell for cell in moves[-2::-2])
        return self.winning_cells(stones, moves[-1], opponent)


def _by_core(lines: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Return the lines by core (see `Variant.lines_by_core`)."""
    groups: dict[int, tuple[int, ...]] = {}
    for line in lines:
        # A line joins the first group with which it shares three cells. The core shrinks to what all of them share.
        old_core = next((core for core in groups if (core & line).bit_count() > 2), line)
        group = groups.pop(old_core, ())
        new_core = old_core & line
        groups[new_core] = (*groups.get(new_core, ()), *group, line)
    return groups


def members(cells: int) -> Iterator[int]:
    """Yield the cells of a set, ascending."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest
