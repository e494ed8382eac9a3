"""A position: the stones on the board, the side to move, and the random numbers of the bot asked for a move."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from noughts_referee.rules.chance import Draws
from noughts_referee.rules.invalid import InvalidInput
from noughts_referee.rules.outcome import DRAWN, Outcome, won
from noughts_referee.rules.variant import Variant, members

_MARKS = "XO"


class PositionError(InvalidInput):
    """An invalid position text."""

    text = "position {got!r}: expected {expected}"


@dataclass(slots=True, eq=False, repr=False)
class Position:
    """The position that a bot must answer.

    One object follows one game. It advances between two questions and never during one. To keep a position longer, or
    to try moves, use `copy()`.
    """

    variant: Variant
    _: KW_ONLY
    own: int = 0
    """The stones of the side to move, as a set of cells (bit `c` = cell `c`)."""
    opponent: int = 0
    side: int = 0
    """The side to move: 0 moved first (X), 1 second (O)."""
    moves: list[int] = field(default_factory=list, init=False)
    """Cells in the order played; empty if the position was set up instead of played."""
    seed: int = 0
    """The bot's seed in this game: its only source of randomness, through `rng()`."""
    own_clock_us: int = field(default=0, init=False)
    """The mover's clock in microseconds: the rest of its base time, or the limit of a move; 0 without a limit."""
    opponent_clock_us: int = field(default=0, init=False)
    limit_us: int = field(default=0, init=False)
    """The limit of this move in microseconds: `own_clock_us`, or the limit of each move if that is smaller."""
    fuel: int = field(default=0, init=False)
    """The fuel of each move of a WebAssembly module; 0 if the tournament sets none."""
    memo: Any = field(default=None, init=False)
    """Data that the bot keeps with the game. None until the bot sets it, and when the game is resumed."""

    @classmethod
    def after(cls, variant: Variant, moves: Iterable[int], *, seed: int = 0) -> "Position":
        """Return the position after `moves` from the empty board."""
        position = cls(variant, seed=seed)
        for cell in moves:
            position.play(cell)
        return position

    @classmethod
    def parse(cls, variant: Variant, text: str, *, seed: int = 0) -> "Position":
        """Parse `X...O...X O`: rows top to bottom of `.`, `X` and `O`, layer by layer, then the side to move.

        A `/` is allowed between rows, also of different layers. If the side is missing, X moves if the counts are
        equal, and O if X has one more. Raises PositionError, also for a stone that has no support under gravity.
        """
        board, _, mover = text.strip().partition(" ")
        rows = board.split("/")
        mover = mover.strip()
        if len(rows) > 1 and [len(row) for row in rows] != [variant.columns] * (variant.rows * variant.layers):
            layers = f"{variant.layers} times " if variant.layers > 1 else ""
            raise PositionError(text, f"{layers}{variant.rows} rows of {variant.columns} cells for {variant.name}")
        board = "".join(rows)
        if len(board) != variant.cells or set(board) - set("." + _MARKS):
            raise PositionError(text, f"{variant.cells} cells of '.', 'X' and 'O' for {variant.name}")
        lead = board.count("X") - board.count("O")
        if not mover:
            if lead not in (0, 1):
                raise PositionError(text, "the side to move, e.g. 'X...O...X O': the counts are ambiguous")
            mover = _MARKS[lead]
        if mover not in ("X", "O"):
            raise PositionError(text, "X or O as the side to move")
        stones = [sum(1 << cell for cell, mark in enumerate(board) if mark == side) for side in _MARKS]
        for cell in members(sum(stones)):
            if variant.supports[cell] & ~sum(stones):
                raise PositionError(text, f"supported stones, as {variant.name} requires; cell {cell} floats")
        side = _MARKS.index(mover)
        return cls(variant, own=stones[side], opponent=stones[1 - side], side=side, seed=seed)

    def __str__(self) -> str:
        board = ["."] * self.variant.cells
        for stones, mark in ((self.own, _MARKS[self.side]), (self.opponent, _MARKS[1 - self.side])):
            for cell in members(stones):
                board[cell] = mark
        return f"{''.join(board)} {_MARKS[self.side]}"

    def __repr__(self) -> str:
        return f"Position({self.variant.name}, {str(self)!r})"

    @property
    def ply(self) -> int:
        """The number of stones on the board."""
        return (self.own | self.opponent).bit_count()

    @property
    def free(self) -> tuple[int, ...]:
        """The cells that the side to move can play, ascending. With gravity, those where stones come to rest."""
        variant = self.variant
        if variant.forbids is None:
            return variant.free_cells(self.own | self.opponent)
        return variant.legal_cells(self.own, self.opponent, self.side)

    def forbidden(self, cell: int) -> str | None:
        """Return why the side to move must not play a free cell, e.g. `overline`; None if the variant allows it.

        Also return None for a cell where no stone can be placed, on the board or not.
        """
        forbids = self.variant.forbids
        if forbids is None or not self.variant.takes(cell, self.own | self.opponent):
            return None
        return forbids(self.own, self.opponent, cell, self.side)

    def outcome(self) -> Outcome | None:
        """Return how the game has ended on the board; None if it continues.

        The last move decides. In a position that was set up, any line wins. If both sides have one, the side that is
        not to move wins.
        """
        if self.moves:
            return self.variant.outcome(self.opponent, self.own, self.moves[-1], 1 - self.side)
        own, opponent, side = self.own, self.opponent, self.side
        for stones, others, owner in ((opponent, own, 1 - side), (own, opponent, side)):
            if self.variant.has_line(stones, others):
                return won(owner)
        return None if self.free else DRAWN

    def rng(self) -> Draws:
        """Return the bot's random number generator at this ply. It gives the same numbers each time."""
        return Draws(self.seed, (self.own | self.opponent).bit_count())

    def draws(self) -> Draws:
        """Return `rng()`. Deprecated: `draws` is its old name."""
        warnings.warn("Position.draws() is called rng() now", DeprecationWarning, stacklevel=2)
        return self.rng()

    def play(self, cell: int) -> None:
        """Place a stone of the side to move on `cell`, one of `free`. Then the other side is to move."""
        self.own, self.opponent = self.opponent, self.own | 1 << cell
        self.side ^= 1
        self.moves.append(cell)

    def copy(self) -> "Position":
        """Return an independent copy without the memo."""
        twin = Position(self.variant, own=self.own, opponent=self.opponent, side=self.side, seed=self.seed)
        twin.moves = self.moves.copy()
        twin.own_clock_us, twin.opponent_clock_us = self.own_clock_us, self.opponent_clock_us
        twin.limit_us, twin.fuel = self.limit_us, self.fuel
        return twin


def free_of_each(positions: Sequence[Position]) -> list[tuple[int, ...]]:
    """Return `free` of each position, all of one variant, in two thirds of the time of single calls."""
    variant = positions[0].variant
    if variant.forbids is not None:
        return [position.free for position in positions]
    free_cells = variant.free_cells
    return [free_cells(position.own | position.opponent) for position in positions]
