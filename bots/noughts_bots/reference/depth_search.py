"""A search to a limited depth, with any scale of scores, for `nextstep` and `minimax`."""

from collections.abc import Iterable
from typing import NamedTuple

from noughts_bots.reference.winning_cells import WinningCells
from noughts_referee.rules import Variant, members

_MOST_CACHED = 1 << 18
"""Limit of the values that are cached between two moves. All 3x3 boards with either side to move need fewer."""


class Scale(NamedTuple):
    """The scores of a search, from the point of view of the side to move at the root.

    `lost` < `unknown` <= `drawn` < `won`. Scores above `drawn` are wins, and scores below `unknown` are losses.
    """

    lost: int
    unknown: int
    """The score of a position at the limit of the depth, if the game is not over."""
    drawn: int
    won: int
    step: int
    """The amount by which a win or a loss counts less for each ply of distance."""

    def earlier(self) -> dict[int, int]:
        """Return a mapping from each score to its value half a move earlier: wins and losses are farther away."""
        scores = range(self.lost, self.won + 1)
        losses = {score: score + self.step for score in scores if score < self.unknown}
        wins = {score: score - self.step for score in scores if score > self.drawn}
        return dict(zip(scores, scores, strict=True)) | losses | wins


class DepthSearch:
    """Computes the scores of all moves in one variant at one depth. They equal those of a plain recursion.

    It skips positions that cannot change a score (see `_value`), and searches each position once while the cache lasts.
    """

    def __init__(self, variant: Variant, depth: int, scale: Scale) -> None:
        self._variant = variant
        self._playable = variant.playable
        self._depth = depth
        self._scale = scale
        # The score of a completed line, indexed by whether the line belongs to the side to move at the root.
        self._ends = (scale.lost, scale.won)
        self._earlier = scale.earlier()
        self._threats = WinningCells(variant)
        # For each cell, the lines that a stone there can close: its opponent can no longer win with the lines through
        # the cell, and its owner can no longer win with the lines that the stone spoils.
        self._closed_by = [
            [*through, *spoiled]
            for through, spoiled in zip(variant.lines_through, self._threats.spoiled_by, strict=True)
        ]
        # The largest number of open lines that a stone on a free cell of the root position can close.
        self._most_closed_at_once = 0
        self._values: dict[tuple[int, int, int, bool], int] = {}

    def scores(self, own: int, opponent: int) -> dict[int, int]:
        """Return each free cell's score for the side to move, which has the stones `own`, if there is no line yet."""
        variant = self._variant
        empty = variant.full & ~(own | opponent)
        if len(self._values) + len(self._threats) > _MOST_CACHED:
            self._values.clear()
            self._threats.forget()
        # A depth beyond the end of the game changes no score. Limiting it lets different plies share cached values.
        remaining = min(self._depth, empty.bit_count()) - 1
        lines = self._lines_open_to_any(variant.lines, own, opponent)
        open_lines = set(lines)
        self._most_closed_at_once = max(len(open_lines.intersection(self._closed_by[cell])) for cell in members(empty))
        free = variant.free_cells(own | opponent)
        return {cell: self._after(own, opponent, cell, remaining, True, lines) for cell in free}

    def _after(
        self, mover: int, other: int, cell: int, remaining: int, is_root_side: bool, lines: tuple[int, ...]
    ) -> int:
        """Return the score after the mover's stone on `cell`.

        Args:
            remaining: plies to search after this one.
            is_root_side: whether the mover is the side to move at the root, for which scores are computed.
            lines: all lines that are open to either side. If so many are open that the search cannot close them all,
                closed lines are not removed.
        """
        if self._threats.of(mover) >> cell & 1:
            return self._ends[is_root_side]
        self._threats.after(mover, cell)  # stores the threats of the new stones, so that `of` finds them
        mover |= 1 << cell
        if not self._cannot_close_all(remaining + 1, lines):
            lines = self._lines_open_to_any(lines, mover, other)
            if not lines:
                return self._scale.drawn
        if not remaining:
            return self._scale.unknown
        return self._value(other, mover, remaining, not is_root_side, lines)

    def _cannot_close_all(self, moves: int, lines: tuple[int, ...]) -> bool:
        """Return whether this many stones cannot close all open lines."""
        return len(lines) > moves * self._most_closed_at_once

    def _value(self, mover: int, other: int, remaining: int, is_root_side: bool, lines: tuple[int, ...]) -> int:
        """Return the score of the mover's best reply, if there is no line yet and some line is open.

        If the mover can win at once, it does. Two threats of the opponent lose. The mover must block a single threat,
        because a block is never worse than a loss in two plies. Without threats, no line can be completed within
        two plies; with gravity, threats on cells that cannot be played yet count here, too.
        """
        earlier = self._earlier
        occupied = mover | other
        if self._playable(self._threats.of(mover) & ~occupied, occupied):
            return earlier[self._ends[is_root_side]]
        threats = self._threats.of(other) & ~occupied
        danger = self._playable(threats, occupied)
        if danger and remaining > 1:
            if danger.bit_count() > 1:
                return earlier[earlier[self._ends[not is_root_side]]]
            return earlier[self._after(mover, other, danger.bit_length() - 1, remaining - 1, is_root_side, lines)]
        if (remaining == 1 or (remaining == 2 and not threats)) and self._cannot_close_all(remaining, lines):
            return self._scale.unknown
        key = (mover, other, remaining, is_root_side)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = self._search(mover, other, remaining, is_root_side, lines)
        return value

    def _search(self, mover: int, other: int, remaining: int, is_root_side: bool, lines: tuple[int, ...]) -> int:
        earlier = self._earlier
        # The mover cannot win with this move, so a win with its next one, two plies later, is the best result.
        best_possible = earlier[earlier[earlier[self._ends[is_root_side]]]]
        better = max if is_root_side else min
        best = self._ends[not is_root_side]
        cells: Iterable[int] = self._variant.free_cells(mover | other)
        if not self._variant.gravity and not self._cannot_close_all(remaining, lines):
            cells = self._representatives(self._variant.free_cells(mover | other), lines)
        for cell in cells:
            best = better(best, earlier[self._after(mover, other, cell, remaining - 1, is_root_side, lines)])
            if best == best_possible:
                break
        return best

    def _lines_open_to_any(self, lines: tuple[int, ...], stones: int, others: int) -> tuple[int, ...]:
        """Return the lines that at least one side can still win with."""
        # Only variants with exact lines have cells beside a line.
        if not self._variant.beside:
            return tuple(line for line in lines if not line & stones or not line & others)
        beside = self._variant.beside.get
        return tuple(
            line
            for line in lines
            if not (line & others or beside(line, 0) & stones) or not (line & stones or beside(line, 0) & others)
        )

    def _representatives(self, cells: tuple[int, ...], lines: tuple[int, ...]) -> Iterable[int]:
        """Return one cell of each group of cells on the same open lines, because all cells of a group score the same.

        With exact lines, the cells of a group are also next to the same lines.
        """
        if not self._variant.beside:
            return {tuple(line for line in lines if line >> cell & 1): cell for cell in cells}.values()
        beside = self._variant.beside.get
        return {
            tuple((line, line >> cell & 1) for line in lines if (line | beside(line, 0)) >> cell & 1): cell
            for cell in cells
        }.values()
