"""A position: the stones on the board, whose turn it is, and the chance of whoever is asked."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from noughts_referee.rules.chance import Draws
from noughts_referee.rules.outcome import DRAWN, Outcome, won
from noughts_referee.rules.variant import Variant, members

_MARKS = "XO"


class PositionError(ValueError):
    """A position's text that cannot be read: `got` is the text, `expected` what would have been right."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"position {got!r}: expected {expected}")
        self.got = got
        self.expected = expected


class Position:
    """What a bot is asked about.

    One object follows one game: it is advanced between two questions and never while one is being answered. Take a
    `copy()` to keep it longer or to try moves on it.
    """

    __slots__ = (
        "limit_us",
        "memo",
        "moves",
        "opponent",
        "opponent_clock_us",
        "own",
        "own_clock_us",
        "seed",
        "side",
        "variant",
    )

    variant: Variant
    own: int
    """The stones of the side to move, as a set of cells (bit `c` = cell `c`)."""
    opponent: int
    """The stones of the other side."""
    side: int
    """The side to move: 0 moved first (X), 1 second (O)."""
    moves: list[int]
    """Cells in the order played; empty when the position was set up rather than played."""
    seed: int
    """The asked bot's seed in this game: its only source of chance, through `rng()`."""
    own_clock_us: int
    """What the clock of the side to move shows, in microseconds: what is left of its bank, or the limit of a move where
    there is no bank; 0 where there is no limit."""
    opponent_clock_us: int
    limit_us: int
    """What this move may take: `own_clock_us`, or the limit of a move if there is a bank, too, and that is more."""
    memo: Any
    """What the bot keeps with the game: None until it sets it, and again when a game is taken up anew."""

    def __init__(self, variant: Variant, *, own: int = 0, opponent: int = 0, side: int = 0, seed: int = 0) -> None:
        self.variant = variant
        self.own = own
        self.opponent = opponent
        self.side = side
        self.moves = []
        self.seed = seed
        self.own_clock_us = self.opponent_clock_us = self.limit_us = 0
        self.memo = None

    @classmethod
    def after(cls, variant: Variant, moves: Iterable[int], *, seed: int = 0) -> "Position":
        """The position after `moves` from the empty board."""
        position = cls(variant, seed=seed)
        for cell in moves:
            position.play(cell)
        return position

    @classmethod
    def parse(cls, variant: Variant, text: str, *, seed: int = 0) -> "Position":
        """Reads `X...O...X O`: rows top to bottom of `.`, `X` and `O`, layer by layer, then the mover.

        A `/` between rows is allowed, between those of different layers too. Without a mover the counts tell: X when
        they are equal, O when X has one more. Raises PositionError, also for a stone that gravity would not leave
        where it is.
        """
        board, _, mover = text.strip().partition(" ")
        rows, mover = board.split("/"), mover.strip()
        if len(rows) > 1 and [len(row) for row in rows] != [variant.columns] * (variant.rows * variant.layers):
            layers = f"{variant.layers} times " if variant.layers > 1 else ""
            raise PositionError(text, f"{layers}{variant.rows} rows of {variant.columns} cells for {variant.name}")
        board = "".join(rows)
        if len(board) != variant.cells or set(board) - set("." + _MARKS):
            raise PositionError(text, f"{variant.cells} cells of '.', 'X' and 'O' for {variant.name}")
        lead = board.count("X") - board.count("O")
        if not mover:
            if lead not in (0, 1):
                raise PositionError(text, "the side to move, e.g. 'X...O...X O': counts do not tell")
            mover = _MARKS[lead]
        if mover not in ("X", "O"):
            raise PositionError(text, "X or O as the side to move")
        stones = [sum(1 << cell for cell, mark in enumerate(board) if mark == side) for side in _MARKS]
        for cell in members(sum(stones)):
            if variant.supports[cell] & ~sum(stones):
                raise PositionError(text, f"stones that rest on others for {variant.name}; cell {cell} floats")
        side = _MARKS.index(mover)
        return cls(variant, own=stones[side], opponent=stones[1 - side], side=side, seed=seed)

    def __str__(self) -> str:
        board = ["."] * self.variant.cells
        for stones, mark in ((self.own, _MARKS[self.side]), (self.opponent, _MARKS[1 - self.side])):
            for cell in range(self.variant.cells):
                if stones >> cell & 1:
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
        """The cells that the side to move may play, ascending: with gravity, where a stone would come to rest."""
        variant = self.variant
        if variant.forbids is None:
            return variant.free_cells(self.own | self.opponent)
        return variant.legal_cells(self.own, self.opponent, self.side)

    def forbidden(self, cell: int) -> str | None:
        """Why the side to move may not play a cell that is free, e.g. `overline`; None where the variant allows it.

        None also for a cell where no stone can be placed at all, on the board or not.
        """
        forbids = self.variant.forbids
        if forbids is None or not self.variant.takes(cell, self.own | self.opponent):
            return None
        return forbids(self.own, self.opponent, cell, self.side)

    def outcome(self) -> Outcome | None:
        """How the game has ended on the board; None while it goes on.

        The last move decides. A position that was set up has none: there any line wins, first of all one of the side
        that is not to move.
        """
        if self.moves:
            return self.variant.outcome(self.opponent, self.own, self.moves[-1], 1 - self.side)
        own, opponent, side = self.own, self.opponent, self.side
        for stones, others, owner in ((opponent, own, 1 - side), (own, opponent, side)):
            if self.variant.has_line(stones, others):
                return won(owner)
        return None if self.free else DRAWN

    def rng(self) -> Draws:
        """The bot's chance at this ply: the same draws each time it is asked."""
        return Draws(self.seed, (self.own | self.opponent).bit_count())

    def draws(self) -> Draws:
        """The old name of `rng`."""
        warnings.warn("Position.draws() is called rng() now", DeprecationWarning, stacklevel=2)
        return self.rng()

    def play(self, cell: int) -> None:
        """The side to move places a stone on `cell`, one of `free`; then the other side is to move."""
        self.own, self.opponent = self.opponent, self.own | 1 << cell
        self.side ^= 1
        self.moves.append(cell)

    def copy(self) -> "Position":
        """The same position, independent of this one and without its memo."""
        twin = Position(self.variant, own=self.own, opponent=self.opponent, side=self.side, seed=self.seed)
        twin.moves = self.moves.copy()
        twin.own_clock_us, twin.opponent_clock_us = self.own_clock_us, self.opponent_clock_us
        twin.limit_us = self.limit_us
        return twin


def free_of_each(positions: Sequence[Position]) -> list[tuple[int, ...]]:
    """`free` of each of these positions, all of one variant: in a third less time, for frames of hundreds."""
    variant = positions[0].variant
    if variant.forbids is not None:
        return [position.free for position in positions]
    free_cells = variant.free_cells
    return [free_cells(position.own | position.opponent) for position in positions]
