"""The search of `level`: a shallow search that adds random errors to the scores of its own first moves.

Each line that only one side can still complete counts for that side, by its stones. The search adds these up, looks a
few plies ahead (alpha-beta: D. E. Knuth, R. W. Moore, "An Analysis of Alpha-Beta Pruning", 1975), and adds a
random error to the score of each move in the position. So it confuses moves of nearly the same score most often. A win
or a loss counts more the nearer it is, so it misses a line that needs one more stone more rarely than a deep threat.

All numbers are integers and follow from the stones and the seed, so the moves are the same on every machine.
"""

from itertools import pairwise
from typing import NamedTuple

from noughts_referee.rules import Draws, Position, Variant, members

_WIN = 1_000
"""The least score of a win. A win in n plies scores `_NEARNESS` / n more; a loss scores the negative."""
_NEARNESS = 3_000
_MOST_STATIC = 900
"""Limit of the score of a position that is neither a known win nor a known loss."""
_INFINITY = 1 << 40
_LONGEST_LINE = 5
_WORTH = (0, 1, 4, 16, 64)
"""The score of a line that only one side can complete, by the number of its stones."""
_SMALL_BOARD = 16
"""Cells up to which every move is searched. With gravity every move is searched, too, because there are few."""
_WIDTH = 8
"""Moves that are searched in a position of a larger board: those with the best scores."""
_EVERY_CELL = 100
"""Cells up to which the search considers moves far from all stones."""
_ERROR_BITS = 16
_ERROR_PARTS = 4
_ERROR_MASK = (1 << _ERROR_BITS) - 1
_ERROR_MEAN = _ERROR_PARTS * _ERROR_MASK // 2
_ERROR_DEVIATION = 37_837
"""The standard deviation of a sum of `_ERROR_PARTS` uniform numbers of `_ERROR_BITS` bits."""

Stones = tuple[int, int, int, int, int]
"""The stones of one side: their cells, and the lines with at least 1, 2, 3 and 4 of them, as sets."""
_NO_STONES: Stones = (0, 0, 0, 0, 0)


class Strength(NamedTuple):
    """The two settings of a level."""

    depth: int
    """Plies that the search looks ahead."""
    error: int
    """The standard deviation of the random errors."""


class NoisySearch:
    """Chooses moves in one variant. All of its lines must be equally long, with at most five cells."""

    def __init__(self, variant: Variant) -> None:
        bits = {line: 1 << number for number, line in enumerate(variant.lines)}
        self.variant = variant
        self._lines = variant.lines
        self._through = tuple(sum(map(bits.__getitem__, lines)) for lines in variant.lines_through)
        self._all_lines = (1 << len(variant.lines)) - 1
        self._full = variant.full
        self.length = len(variant.line_cells[0])
        """The cells of each line."""
        assert self.length <= _LONGEST_LINE
        self._almost = self.length - 1
        worth = _WORTH[: self.length]
        gains = [after - before for before, after in pairwise(worth)]
        # A stone adds to the lines of its owner, by their stones, and takes the lines of the other side. The lines with
        # at least n stones also have at least n - 1, so the weights of these sets are the differences.
        self._own_weights = [gains[0], *(now - before for before, now in pairwise(gains))]
        self._other_weights = [now - before for before, now in pairwise(worth)]
        self._columns = variant.columns if variant.gravity else 0
        self._floor = ((1 << variant.columns) - 1) << (variant.cells - variant.columns)
        is_small = variant.gravity or variant.cells <= _SMALL_BOARD
        self._width = variant.cells if is_small else _WIDTH
        self._near = _neighbours(variant) if variant.cells > _EVERY_CELL else ()

    @property
    def rules(self) -> tuple[int, ...]:
        """Return what `tools/level_games.c` needs to know, besides the lines."""
        weights = len(self._own_weights), *self._own_weights, *self._other_weights
        return self._columns, self._width, int(not self._near), *weights

    def choose(self, position: Position, strength: Strength) -> int:
        """Return the move of this strength. There must be a free cell, and no complete line."""
        own, other = self._stones(position.own), self._stones(position.opponent)
        occupied = position.own | position.opponent
        static = self._static(own, other)
        draws = position.rng()
        wins = self._completing(own, other, occupied)
        danger = self._completing(other, own, occupied)
        ratings = self._ratings(own, other, self._playable(occupied))
        moves = []
        for rating, cell in ratings:
            if wins >> cell & 1:
                score, is_known = _WIN + _NEARNESS, True
            elif danger & ~(1 << cell):
                score, is_known = -_WIN - _NEARNESS // 2, True
            else:
                score, is_known = _limited(static + rating), strength.depth == 1
            error = _error(draws, strength.error)
            moves.append((score + error, -cell, error, rating, is_known))
        moves.sort(reverse=True)
        best, choice = -_INFINITY, 0
        for total, negative_cell, error, rating, is_known in moves[: self._width]:
            if not is_known:
                placed = self._placed(own, -negative_cell)
                # The exact value of a score is needed only if its total with the error exceeds the best total so far.
                needed = best - error
                score = -self._value(other, placed, -(static + rating), strength.depth - 1, -_INFINITY, -needed, 1)
                total = score + error
            if total > best:
                best, choice = total, -negative_cell
        return choice

    def _value(self, own: Stones, other: Stones, static: int, depth: int, alpha: int, beta: int, ply: int) -> int:
        """Return the score of `own`, which is to move, if it is between `alpha` and `beta`; else a bound.

        `static` is the sum over all lines, and `ply` the number of plies since the root.
        """
        occupied = own[0] | other[0]
        almost = self._almost
        if own[almost] & ~other[1] and self._completing(own, other, occupied):
            return _WIN + _NEARNESS // (ply + 1)
        if other[almost] & ~own[1] and (danger := self._completing(other, own, occupied)):
            if danger & (danger - 1):
                return -_WIN - _NEARNESS // (ply + 2)
            ((rating, cell),) = self._ratings(own, other, danger)
            return -self._value(other, self._placed(own, cell), -(static + rating), depth, -beta, -alpha, ply + 1)
        cells = self._playable(occupied)
        if not cells:
            return 0
        if self._near:
            near_cells = self._near_stones(occupied) & cells
            cells = near_cells or cells
        ratings = self._ratings(own, other, cells)
        if depth == 1:
            return _limited(static + max(ratings)[0])
        ratings.sort(key=_by_rating)
        best = -_INFINITY
        for rating, cell in ratings[: self._width]:
            score = -self._value(other, self._placed(own, cell), -(static + rating), depth - 1, -beta, -alpha, ply + 1)
            if score > best:
                best = score
                if score > alpha:
                    alpha = score
                    if alpha >= beta:
                        break
        return best

    def _stones(self, cells: int) -> Stones:
        stones = _NO_STONES
        for cell in members(cells):
            stones = self._placed(stones, cell)
        return stones

    def _placed(self, stones: Stones, cell: int) -> Stones:
        """Return the stones with one more on `cell`."""
        cells, one, two, three, four = stones
        lines = self._through[cell]
        return cells | 1 << cell, one | lines, two | one & lines, three | two & lines, four | three & lines

    def _completing(self, own: Stones, other: Stones, occupied: int) -> int:
        """Return the cells where a stone can be placed that completes a line of `own`, as a set."""
        lines = own[self._almost] & ~other[1]
        cells = 0
        while lines:
            number = lines.bit_length() - 1
            lines ^= 1 << number
            cells |= self._lines[number]
        return cells and cells & self._playable(occupied)

    def _playable(self, occupied: int) -> int:
        free = self._full & ~occupied
        if self._columns:
            return free & (occupied >> self._columns | self._floor)
        return free

    def _near_stones(self, occupied: int) -> int:
        """Return the cells next to a stone, as a set. Some of them can be occupied."""
        cells = 0
        for cell in members(occupied):
            cells |= self._near[cell]
        return cells

    def _ratings(self, own: Stones, other: Stones, cells: int) -> list[tuple[int, int]]:
        """Return how much a stone on each of the cells adds to the static score, and the cell."""
        not_other, not_own = self._all_lines & ~other[1], ~own[1]
        terms = [(not_other, self._own_weights[0])]
        for number, weight in enumerate(self._own_weights[1:], start=1):
            if lines := own[number] & not_other:
                terms.append((lines, weight))
        for number, weight in enumerate(self._other_weights, start=1):
            if lines := other[number] & not_own:
                terms.append((lines, weight))
        through = self._through
        ratings = []
        while cells:
            lowest = cells & -cells
            cells ^= lowest
            cell = lowest.bit_length() - 1
            lines_here = through[cell]
            rating = 0
            for lines, weight in terms:
                rating += (lines_here & lines).bit_count() * weight
            ratings.append((rating, cell))
        return ratings

    def _static(self, own: Stones, other: Stones) -> int:
        """Return the sum over the lines that only one side can complete, from the point of view of `own`."""
        not_other, not_own = ~other[1], ~own[1]
        return sum(
            ((own[number] & not_other).bit_count() - (other[number] & not_own).bit_count()) * weight
            for number, weight in enumerate(self._other_weights, start=1)
        )


def _by_rating(rated: tuple[int, int]) -> tuple[int, int]:
    return -rated[0], rated[1]


def _limited(static: int) -> int:
    return max(-_MOST_STATIC, min(_MOST_STATIC, static))


def _error(draws: Draws, deviation: int) -> int:
    """Return a random integer with this standard deviation, nearly normally distributed around 0."""
    bits = draws.bits()
    total = sum(bits >> _ERROR_BITS * part & _ERROR_MASK for part in range(_ERROR_PARTS))
    return (total - _ERROR_MEAN) * deviation // _ERROR_DEVIATION


def _neighbours(variant: Variant) -> tuple[int, ...]:
    """Return for each cell the cells next to it on a line, as a set."""
    near = [0] * variant.cells
    for line in variant.line_cells:
        for cell, after in pairwise(line):
            near[cell] |= 1 << after
            near[after] |= 1 << cell
    return tuple(near)
