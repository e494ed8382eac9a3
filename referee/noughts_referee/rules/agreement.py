"""Openings by agreement: one side places the first stones and the other chooses its side, so neither is favoured.

With `swap`, the opener places three stones (X, O, X), and the opponent chooses X or O. With `swap2`, the opponent can
place two more (O, X) instead, and the opener chooses. Then O is to move, and the rules of the variant apply.
"""

from dataclasses import dataclass
from typing import NamedTuple

from noughts_referee.rules.chance import Draws
from noughts_referee.rules.position import Position
from noughts_referee.rules.variant import Variant, members

_FIRST_STONES = 3
_MORE_STONES = 2

# X, O, X as (columns, rows) from the middle. The stones are far apart, so that O's move makes up for the extra X.
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
    """Place stones of both sides in turn."""

    cells: tuple[int, ...]


class Take(NamedTuple):
    """Choose a side."""

    side: int
    """0 for X; 1 for O, which is to move."""


Choice = Put | Take


@dataclass(frozen=True, slots=True)
class OpeningChoice:
    """A player's question in an opening by agreement: place stones, or choose a side."""

    variant: Variant
    rule: str
    stones: tuple[int, ...] = ()
    """The stones on the board, in order: zero, three or five."""
    seed: int = 0
    """The player's seed: its only source of randomness, through `rng()`."""
    clock_us: int = 0
    """The time limit in microseconds; 0 without a limit."""

    @property
    def step(self) -> int:
        """Return the number of earlier choices: 0, 1 or 2. The opener makes the first and the third choice."""
        return (len(self.stones) - 1) // 2 if self.stones else 0

    @property
    def may_put(self) -> int:
        """Return the exact number of stones that the player can place now, or 0."""
        if not self.stones:
            return _FIRST_STONES
        return _MORE_STONES if self.rule == "swap2" and len(self.stones) == _FIRST_STONES else 0

    @property
    def may_take(self) -> bool:
        """Return whether the player can choose a side now: always, after the first stones."""
        return bool(self.stones)

    @property
    def position(self) -> Position:
        position = Position.after(self.variant, self.stones, seed=self.seed)
        position.own_clock_us = self.clock_us
        return position

    def rng(self) -> Draws:
        """Return the player's random number generator, which gives the same numbers each time."""
        return Draws(self.seed, len(self.stones))

    def allows(self, choice: Choice) -> bool:
        """Return whether the rule and the board allow the choice."""
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
        """Return a sensible choice: first random stones far from each other, then the side that looks better."""
        if not self.stones:
            return Put(self._usual_stones())
        return Take(0 if _balance(self.variant, self.position) > 0 else 1)

    def _usual_stones(self) -> tuple[int, ...]:
        draws = self.rng()
        variant = self.variant
        shape = draws.choice(_USUAL)
        turn = draws.below(_TURNS)
        middle_row = (variant.rows - 1) // 2
        middle_column = (variant.columns - 1) // 2
        stones = [_turned(stone, turn) for stone in shape]
        return tuple((middle_row + down) * variant.columns + middle_column + across for across, down in stones)


def _turned(cell: tuple[int, int], turn: int) -> tuple[int, int]:
    """Return the image of a cell, relative to the middle, under one of the eight symmetries of a square."""
    across, down = cell if turn & 1 else cell[::-1]
    return (across if turn & 2 else -across), (down if turn & 4 else -down)


def _balance(variant: Variant, position: Position) -> int:
    """Return how much better X's open lines look than O's, after O's best-looking stone."""
    first, second = position.opponent, position.own
    balance = 0
    gains = [0] * variant.cells
    for line, cells in zip(variant.lines, variant.line_cells, strict=True):
        x_stones = (first & line).bit_count()
        o_stones = (second & line).bit_count()
        if x_stones and o_stones:
            continue
        value = _WEIGHT**x_stones - _WEIGHT**o_stones
        balance += value
        # O's next stone blocks a line of X, or extends a line of O.
        next_value = 0 if x_stones else 1 - _WEIGHT ** (o_stones + 1)
        for cell in cells:
            gains[cell] += value - next_value
    free = members(variant.full & ~(first | second))
    return balance - max(gains[cell] for cell in free)
