"""Variants as data: a board, the sets of cells that win, what must lie where before a stone may be placed, and what
a side may not play.

A variant is a list of cells and the lines among them. Stones of one side are an integer whose bit `c` is set when
its stone lies on cell `c`; a line is such an integer too. Whoever has all cells of one line wins. There is one class
for all variants: what sets them apart are tables that are empty on a plain board (`beside`, `blocked_ends`,
`supports`), and one pure function that most have not (`forbids`).

Both sides win with the same lines. Where rules say that only one side must not have more in a row than needed, as
renju's of the first, those stones are a move that it may not make: `forbids` calls that an overline (unless it makes
five in another direction, which wins), and the other side wins with five or more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from noughts_referee.rules.outcome import DRAWN, Outcome, won

# Up to this many cells every set of free cells is listed once and kept (4,096 short tuples at most).
_REMEMBERED_CELLS = 12


Forbids = Callable[[int, int, int, int], str | None]
"""Called with the stones of the side to move, those of the other side, a cell where a stone may be placed, and the side
(0 first, 1 second). Returns why the side may not play there, as a kind (`overline`, `double-three`), or None if it may.
It depends on nothing else, and raises nothing."""


class VariantError(ValueError):
    """A variant's name that cannot be read: `got` is the name, `expected` what would have been right."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"variant {got!r}: expected {expected}")
        self.got = got
        self.expected = expected


@dataclass(frozen=True, eq=False)
class Variant:
    """One game's rules. `parse_variant` returns the same object for the same rules; plugins make their own."""

    name: str
    """The canonical name, e.g. `tictactoe` or `mnk:7,6,4`."""
    columns: int
    rows: int
    lines: tuple[int, ...]
    """Every line, as a set of cells (bit `c` = cell `c`)."""
    layers: int = 1
    """How many boards lie on top of each other; 1 on flat ones."""
    beside: Mapping[int, int] = field(default_factory=dict, repr=False)
    """For a line the cells of which none may hold a stone of its owner, or it counts for nothing: those before and
    behind it where exactly k in a row win. A line that is not here cannot be spoiled."""
    blocked_ends: Mapping[int, int] = field(default_factory=dict, repr=False)
    """For a line the cells which, when all of them hold stones of the other side, make it count for nothing: in caro
    those at its two ends. A line that is not here cannot be shut."""
    supports: tuple[int, ...] = field(default=(), repr=False)
    """For each cell the set of cells that must hold stones before one may be placed on it; 0 for none. With gravity
    that is the cell beneath. Empty where all is free, and then filled with zeros."""
    forbids: Forbids | None = field(default=None, repr=False)
    """What a side may not play although the rest of the rules allows it: a move so forbidden is an illegal one. None
    where nothing is."""
    agreement: str = ""
    """The rule by which the players agree on the first stones and their sides, see `agreement`; empty for none."""
    cells: int = field(init=False)
    """Number of cells; they are numbered row by row from 0, layer by layer."""
    lines_through: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    """For each cell the lines that hold it: the only ones a stone placed there can complete."""
    shortest_win: int = field(init=False)
    """The least number of moves after which a line can be complete; beyond the board if there are no lines."""

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
        """Whether some cells must wait for others, so that `free_cells` are not all that hold no stone."""
        return any(self.supports)

    @cached_property
    def occupancy_mask(self) -> tuple[int, ...]:
        """For each cell the set that decides whether a stone may be placed there: the cell, and what is `supports` it.

        It may if `occupied & occupancy_mask[cell] == supports[cell]`: the cell is free, and the others are not.
        """
        return tuple(below | 1 << cell for cell, below in enumerate(self.supports))

    @cached_property
    def line_cells(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each line in ascending order, in the order of `lines`."""
        return tuple(tuple(members(line)) for line in self.lines)

    @cached_property
    def _free_cells(self) -> dict[int, tuple[int, ...]]:
        return {}

    def free_cells(self, occupied: int) -> tuple[int, ...]:
        """The cells where a stone may be placed when the set `occupied` holds stones, ascending.

        Those outside the set; with gravity only those of them that what is below supports. Not all of them may be
        played by either side where the variant forbids moves: see `legal_cells`.
        """
        known = self._free_cells.get(occupied)
        if known is not None:
            return known
        free = tuple(members(self.playable(self.full & ~occupied, occupied)))
        if self.cells <= _REMEMBERED_CELLS:
            self._free_cells[occupied] = free
        return free

    def legal_cells(self, own: int, opponent: int, side: int) -> tuple[int, ...]:
        """The cells that the side (0 first, 1 second) may play when it has the stones `own`, ascending."""
        free = self.free_cells(own | opponent)
        forbids = self.forbids
        if forbids is None:
            return free
        return tuple(cell for cell in free if forbids(own, opponent, cell, side) is None)

    def can_move(self, own: int, opponent: int, side: int) -> bool:
        """Whether the side has any cell that it may play."""
        forbids, occupied = self.forbids, own | opponent
        if forbids is None:
            return occupied != self.full
        free = members(self.playable(self.full & ~occupied, occupied))
        return any(forbids(own, opponent, cell, side) is None for cell in free)

    def playable(self, cells: int, occupied: int) -> int:
        """Those of the set `cells`, none of them in `occupied`, where a stone may be placed, as a set."""
        if not self.gravity or not cells:
            return cells
        below = self.supports
        return sum(1 << cell for cell in members(cells) if occupied & below[cell] == below[cell])

    def takes(self, cell: int, occupied: int) -> bool:
        """Whether `cell` is on the board, and a stone may be placed there when the set `occupied` holds stones."""
        return 0 <= cell < self.cells and occupied & self.occupancy_mask[cell] == self.supports[cell]

    # In the following the other side's stones matter only where lines can be shut: elsewhere they may be left out.

    def holds(self, stones: int, line: int, opponent: int = 0) -> bool:
        """Whether a side that has `stones` wins with this line."""
        return bool(
            stones & line == line
            and not stones & self.beside.get(line, 0)
            and ~opponent & self.blocked_ends.get(line, -1)
        )

    def completes(self, stones: int, cell: int, opponent: int = 0) -> bool:
        """Whether `stones`, the stone on `cell` included, win with a line through `cell`."""
        return any(stones & line == line and self.holds(stones, line, opponent) for line in self.lines_through[cell])

    def outcome(self, own: int, opponent: int, cell: int, side: int) -> Outcome | None:
        """How the game ended when `side` placed the last of its stones `own` on `cell`; None if it goes on."""
        if self.completes(own, cell, opponent):
            return won(side)
        return None if self.can_move(opponent, own, 1 - side) else DRAWN

    def has_line(self, stones: int, opponent: int = 0) -> bool:
        """Whether `stones` win with any line at all."""
        return any(stones & line == line and self.holds(stones, line, opponent) for line in self.lines)

    def winning_cells(self, stones: int, cell: int, opponent: int = 0) -> tuple[int, ...]:
        """The cells of all lines that the last of `stones`, on `cell`, completed, ascending; none if it did not win."""
        won = 0
        for line in self.lines_through[cell]:
            if self.holds(stones, line, opponent):
                won |= line
        return tuple(members(won))

    def won_with(self, moves: Sequence[int]) -> tuple[int, ...]:
        """The winning cells of a game with these moves from the empty board; none if the last move did not win."""
        if not moves:
            return ()
        opponent, stones = (sum(1 << cell for cell in moves[first::2]) for first in (len(moves) & 1, ~len(moves) & 1))
        return self.winning_cells(stones, moves[-1], opponent)


def members(cells: int) -> Iterator[int]:
    """The cells of a set, ascending."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest
