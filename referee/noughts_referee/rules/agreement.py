"""Openings by agreement: one side puts the first stones, the other chooses its colour, so that neither is favoured.

By `swap` who opens puts three stones, X, O and X in turn, and the opponent takes X or O. By `swap2` the opponent may
put two more instead, O and X, and who opened takes a side. Then O is to move, and the game goes on by its variant's
rules.
"""

from dataclasses import dataclass
from typing import NamedTuple

from noughts_referee.rules.chance import Draws
from noughts_referee.rules.position import Position
from noughts_referee.rules.variant import Variant, members

_FIRST_STONES, _MORE_STONES = 3, 2

# By columns and rows from the middle: X, O, X. Stones that hardly help each other, so that O's move makes up for one.
_USUAL = (
    ((0, 0), (1, 1), (-3, 3)),
    ((0, 0), (0, -1), (4, 2)),
    ((-3, -3), (-2, -3), (2, 3)),
    ((-4, 0), (-3, 1), (3, -1)),
    ((3, 3), (2, 1), (-3, -2)),
    ((0, 4), (1, 3), (-1, -4)),
)
_TURNS = 8
_WEIGHT = 4


class Put(NamedTuple):
    """To put stones, of both sides in turn."""

    cells: tuple[int, ...]


class Take(NamedTuple):
    """To play a side from now on."""

    side: int
    """0 for X, 1 for O, who is to move."""


Choice = Put | Take


@dataclass(frozen=True, slots=True)
class OpeningChoice:
    """What somebody is asked: to put stones, or to choose a side."""

    variant: Variant
    rule: str
    """`swap` or `swap2`."""
    stones: tuple[int, ...] = ()
    """What has been put, in order: none, three or five."""
    seed: int = 0
    """The asked one's: its only source of chance, through `rng()`."""
    clock_us: int = 0
    """What it may think, in microseconds; 0 where there is no limit."""

    @property
    def step(self) -> int:
        """How many choices were made: 0, 1 or 2. Who opens makes the first and the third."""
        return (len(self.stones) - 1) // 2 if self.stones else 0

    @property
    def may_put(self) -> int:
        """How many stones may be put now, neither more nor fewer; 0 for none."""
        if not self.stones:
            return _FIRST_STONES
        return _MORE_STONES if self.rule == "swap2" and len(self.stones) == _FIRST_STONES else 0

    @property
    def may_take(self) -> bool:
        """Whether a side may be chosen now: always, once there are stones."""
        return bool(self.stones)

    @property
    def position(self) -> Position:
        """The stones, with the seed of who is asked."""
        position = Position.after(self.variant, self.stones, seed=self.seed)
        position.own_clock_us = self.clock_us
        return position

    def rng(self) -> Draws:
        """The chance of who is asked: the same draws each time."""
        return Draws(self.seed, len(self.stones))

    def allows(self, choice: Choice) -> bool:
        """Whether the rule and the board allow it."""
        if isinstance(choice, Take):
            return self.may_take and choice.side in (0, 1)
        if len(choice.cells) != self.may_put or not choice.cells:
            return False
        position = self.position
        for cell in choice.cells:
            if not self.variant.takes(cell, position.own | position.opponent) or position.forbidden(cell) is not None:
                return False
            position.play(cell)
        return True

    def usual(self) -> Choice:
        """A sensible choice: stones far from each other, by lot, and then the side that looks better."""
        if not self.stones:
            return Put(self._usual_stones())
        return Take(0 if _balance(self.variant, self.position) > 0 else 1)

    def _usual_stones(self) -> tuple[int, ...]:
        draws, variant = self.rng(), self.variant
        shape, turn = draws.choice(_USUAL), draws.below(_TURNS)
        row, column = (variant.rows - 1) // 2, (variant.columns - 1) // 2
        return tuple(
            (row + down) * variant.columns + column + across for across, down in (_turned(at, turn) for at in shape)
        )


def _turned(at: tuple[int, int], turn: int) -> tuple[int, int]:
    """One of the eight ways to lay the same shape."""
    across, down = at if turn & 1 else at[::-1]
    return (across if turn & 2 else -across), (down if turn & 4 else -down)


def _balance(variant: Variant, position: Position) -> int:
    """How much better X's open lines look than O's after O's best-looking stone."""
    first, second = position.opponent, position.own
    worth, gains = 0, [0] * variant.cells
    for line, cells in zip(variant.lines, variant.line_cells, strict=True):
        mine, theirs = (first & line).bit_count(), (second & line).bit_count()
        if mine and theirs:
            continue
        now = _WEIGHT**mine - _WEIGHT**theirs
        worth += now
        # O's stone ends a line of X's, and makes one of O's longer.
        then = 0 if mine else 1 - _WEIGHT ** (theirs + 1)
        for cell in cells:
            gains[cell] += now - then
    free = members(variant.full & ~(first | second))
    return worth - max(gains[cell] for cell in free)
