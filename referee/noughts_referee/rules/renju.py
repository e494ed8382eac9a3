"""Moves that renju forbids the first side, Black: overlines, double fours and double threes.

The threats that a stone makes in a line depend on the stone and the ten cells around it, five on either side. Each of
these is black, free, or blocked (a white stone or off the board): at most 59,049 patterns, computed once each.

A three counts only if the stone that would turn it into a straight four is itself allowed, with the new stone in place.
This test recurses, and ends because each step adds a stone.

Source: the rules of the Renju International Federation, section 9. They do not say whether a stone that makes a five in
one line can complete a three in another; here it cannot.
"""

from typing import NamedTuple

from noughts_referee.rules.boards import Board
from noughts_referee.rules.variant import Forbids

OVERLINE = "overline"
DOUBLE_FOUR = "double-four"
DOUBLE_THREE = "double-three"
FORBIDDEN = (
    "The first player must not make an overline (six or more in a row), two fours at once or two open threes at once, "
    "unless the same stone makes exactly five in a row. Only exactly five win for the first player."
)

_REACH = 5
"""The largest distance of a stone from a cell that can make the cell forbidden: an overline has six stones."""
_WIDTH = 2 * _REACH + 1

# The threats that a stone makes in a line, as digits of one number, so that its four lines can be added.
_THREE = 1
_FOUR = 1 << 3
_OVERLINE = 1 << 7
_FIVE = 1 << 10
_THREES = _FOUR - 1


def forbidding(board: Board) -> Forbids:
    """Return the function that forbids moves in renju, on a flat board at least 15 cells wide."""
    return _Renju(board).forbidden


class _Ray(NamedTuple):
    """One of the four lines through a cell, and how to turn the stones on its eleven cells into an 11-bit number."""

    shift: int
    mask: int
    """After the shift, the cells that are on the board, a step apart."""
    modulus: int
    """2**step - 2: 2**(n * step) modulo this is 2**n, which brings the stones next to each other.

    In a row they are already, so it is 2**11, which changes nothing.
    """
    edge: int
    """Those of the eleven cells that are off the board, as bits."""
    step: int


class _Renju:
    def __init__(self, board: Board) -> None:
        # Sets of stones are first shifted by this many bits, so that a cell up to five steps before the first one still
        # has a bit, which is 0.
        self._lead = _REACH * (board.columns + 1)
        self._rays = tuple(
            tuple(self._ray(board, row, column, across, down) for across, down in ((1, 0), (0, 1), (1, 1), (-1, 1)))
            for row in range(board.rows)
            for column in range(board.columns)
        )

    def _ray(self, board: Board, row: int, column: int, across: int, down: int) -> _Ray:
        step = down * board.columns + across
        mask = edge = 0
        for place in range(_WIDTH):
            distance = place - _REACH
            if 0 <= column + distance * across < board.columns and 0 <= row + distance * down < board.rows:
                mask |= 1 << place * step
            else:
                edge |= 1 << place
        shift = self._lead + row * board.columns + column - _REACH * step
        modulus = (1 << step) - 2 if step > 1 else 1 << _WIDTH
        return _Ray(shift, mask, modulus, edge, step)

    def forbidden(self, own: int, opponent: int, cell: int, side: int) -> str | None:
        """Return why the move is forbidden; see `Forbids`."""
        if side:
            return None
        black, white = own << self._lead, opponent << self._lead
        made = self._made(black, white, cell)
        return None if made >= _FIVE else self._kind(black, white, cell, made)

    def _made(self, black: int, white: int, cell: int) -> int:
        """Return the threats that Black's stone on the free cell makes, including threes that might not count."""
        made = 0
        for shift, mask, modulus, edge, _ in self._rays[cell]:
            near = black >> shift & mask
            if near:
                blocked = (white >> shift & mask) % modulus | edge
                made += _MADE[(near % modulus) << _WIDTH | blocked]
        return made

    def _kind(self, black: int, white: int, cell: int, made: int) -> str | None:
        """Return why Black must not place a stone that makes these threats and no five; None if Black can."""
        if made >= _OVERLINE:
            return OVERLINE
        if made >= 2 * _FOUR:
            return DOUBLE_FOUR
        if made & _THREES >= 2 and self._has_two_threes(black, white, cell):
            return DOUBLE_THREE
        return None

    def _has_two_threes(self, black: int, white: int, cell: int) -> bool:
        threats = 0
        placed = black | 1 << cell + self._lead
        for shift, mask, modulus, edge, step in self._rays[cell]:
            near = black >> shift & mask
            blocked = (white >> shift & mask) % modulus | edge
            for distance in _COMPLETING[(near % modulus) << _WIDTH | blocked]:
                if self._may_complete(placed, white, cell + distance * step):
                    # A line has at most one three.
                    threats += 1
                    break
        return threats > 1

    def _may_complete(self, black: int, white: int, cell: int) -> bool:
        """Return whether a stone that turns a three into a straight four is allowed and makes no five."""
        made = self._made(black, white, cell)
        return made < _FIVE and self._kind(black, white, cell, made) is None


class _Line:
    """Eleven cells in a line with Black's stone in the middle: its other stones, and the free cells.

    In a pattern, the upper 11 bits are Black's stones, and the lower 11 bits the blocked cells.
    """

    def __init__(self, pattern: int) -> None:
        blocked = pattern & (1 << _WIDTH) - 1
        self.black = pattern >> _WIDTH | 1 << _REACH
        self.free = ~(self.black | blocked) & (1 << _WIDTH) - 1

    def run(self) -> int:
        """Return the length of the run of black stones that contains the middle one."""
        length = 1
        for direction in (1, -1):
            place = _REACH + direction
            while 0 <= place < _WIDTH and self.black >> place & 1:
                length += 1
                place += direction
        return length

    def fours(self) -> int:
        """Return how many sets of four stones with the middle one become a five by one more stone."""
        sets = set()
        for first in range(1, _REACH + 1):
            five = 0b11111 << first
            ends = 0b1000001 << first - 1
            gap = five & ~self.black
            if gap & self.free and gap & gap - 1 == 0 and not ends & self.black:
                sets.add(five & ~gap)
        return len(sets)

    def completing(self) -> tuple[int, ...]:
        """Return where a stone turns a three with the middle one into a straight four, as distances from the middle."""
        distances = []
        for first in range(2, _REACH + 1):
            four = 0b1111 << first
            ends = 0b100001 << first - 1
            beyond = 0b10000001 << first - 2
            gap = four & ~self.black
            if gap & self.free and gap & gap - 1 == 0 and ends & self.free == ends and not beyond & self.black:
                distances.append(gap.bit_length() - 1 - _REACH)
        return tuple(distances)


class _Made(dict[int, int]):
    """The threats that Black's stone makes in a line, by the pattern around it."""

    def __missing__(self, pattern: int) -> int:
        line = _Line(pattern)
        run = line.run()
        if run >= 5:
            made = _FIVE if run == 5 else _OVERLINE
        else:
            made = _FOUR * line.fours() + (_THREE if _COMPLETING[pattern] else 0)
        self[pattern] = made
        return made


class _Completing(dict[int, tuple[int, ...]]):
    """Where a stone turns a three in the line into a straight four, by the pattern around the middle."""

    def __missing__(self, pattern: int) -> tuple[int, ...]:
        self[pattern] = distances = _Line(pattern).completing()
        return distances


_MADE = _Made()
_COMPLETING = _Completing()
