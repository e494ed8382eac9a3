"""Openings by agreement: one side places the first stones and the other chooses its side, so neither is favoured.

With `swap`, the opener places three stones (X, O, X), and the opponent chooses X or O. With `swap2`, the opponent can
place two more (O, X) instead, and the opener chooses. Then O is to move, and the rules of the variant apply.
"""

from dataclasses import dataclass
from typing import NamedTuple

from noughts_referee.rules.chance import Draws
from noughts_referee.rules.position import Position
from noughts_referee.rules.variant import Variant, members

_FIRST_STONES, _MORE_STONES = 3, 2

# X, O, X as (columns, rows) from the middle: stones so far apart that O's move makes up for the extra X.
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
        """Return how many choices were made: 0, 1 or 2. The opener makes the first and the third."""
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
        shape, turn = draws.choice(_USUAL), draws.below(_TURNS)
        row, column = (variant.rows - 1) // 2, (variant.columns - 1) // 2
        return tuple(
            (row + down) * variant.columns + column + across for across, down in (_turned(at, turn) for at in shape)
        )


def _turned(at: tuple[int, int], turn: int) -> tuple[int, int]:
    """Return one of the eight symmetries of a cell."""
    across, down = at if turn & 1 else at[::-1]
    return (across if turn & 2 else -across), (down if turn & 4 else -down)


def _balance(variant: Variant, position: Position) -> int:
    """Return how much better X's open lines look than O's, after O's best-looking stone."""
    first, second = position.opponent, position.own
    worth = 0
    gains = [0] * variant.cells
    for line, cells in zip(variant.lines, variant.line_cells, strict=True):
        mine, theirs = (first & line).bit_count(), (second & line).bit_count()
        if mine and theirs:
            continue
        now = _WEIGHT**mine - _WEIGHT**theirs
        worth += now
        # O's stone ends a line of X and extends one of O.
        then = 0 if mine else 1 - _WEIGHT ** (theirs + 1)
        for cell in cells:
            gains[cell] += now - then
    free = members(variant.full & ~(first | second))
    return worth - max(gains[cell] for cell in free)
