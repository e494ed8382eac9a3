"""Bots that answer many games at once with numpy arrays: `ArrayBot`, and the `Batch` that it gets. Needs `[arrays]`.

    import numpy as np
    from noughts_bots import ArrayBot

    class Lowest(ArrayBot):
        def choose_arrays(self, batch):
            return batch.legal.argmax(axis=1)

An `ArrayBot` can play wherever a `Bot` can. It is faster with many games, because a move needs no Python object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from noughts_bots.sdk.bot import Answer, Bot, Move, Resign
from noughts_referee.rules import Position, Variant, bits_at, members

RESIGN = -2
"""An answer instead of a cell, which resigns the game. Any other number off the board loses it as an illegal move."""

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


@dataclass(eq=False)
class Batch:
    """The games of one variant in which the bot is to move, as arrays of equal length with a row for each game.

    The bot owns the arrays. Do not change `boards` before you have read `legal`, which is computed from it.
    """

    variant: Variant
    games: npt.NDArray[np.int64]
    """An index of each game that does not change while the game runs, for the bot's own data about the game.

    Indexes are small numbers from 0. A later game can get the index of a game that is over: see `new`.
    """
    new: npt.NDArray[np.bool_]
    """Whether it is the first question of the game, or the first one after a reconnection."""
    boards: npt.NDArray[np.int8]
    """Shape (games, cells): 0 for a free cell, 1 for the bot's own stone, 2 for the opponent's."""
    last: npt.NDArray[np.int64]
    """The opponent's last move as a cell; -1 if there is none."""
    ply: npt.NDArray[np.int64]
    """The number of stones on the board."""
    side: npt.NDArray[np.int64]
    """The bot's side: 0 moved first (X), 1 second (O)."""
    seed: npt.NDArray[np.uint64]
    """The bot's seed in the game; see `bits`."""
    own_clock_us: npt.NDArray[np.int64]
    """The bot's clock in microseconds, as in `Position`; 0 without a limit."""
    opponent_clock_us: npt.NDArray[np.int64]
    limit_us: npt.NDArray[np.int64]
    """The limit of this move in microseconds."""

    def __len__(self) -> int:
        return len(self.games)

    @cached_property
    def legal(self) -> npt.NDArray[np.bool_]:
        """Shape (games, cells): where the bot can play, with gravity and forbidden moves taken into account."""
        legal: npt.NDArray[np.bool_] = self.boards == 0
        if self.variant.gravity:
            # The additional last column stands for the floor and for padding in `supports`: it is always occupied.
            occupied = np.pad(~legal, ((0, 0), (0, 1)), constant_values=True)
            for supporting_cells in supports(self.variant).T:
                legal &= occupied[:, supporting_cells]
        if self.variant.forbids is not None:
            self._forbid(legal)
        return legal

    def _forbid(self, legal: npt.NDArray[np.bool_]) -> None:
        """Remove forbidden cells. The variant's rule is a function of sets of cells, so this is as slow as `free`."""
        forbids = self.variant.forbids
        assert forbids is not None
        stones = zip(_sets(self.boards == 1), _sets(self.boards == 2), self.side.tolist(), strict=True)
        for row, (own, opponent, side) in enumerate(stones):
            for cell in np.flatnonzero(legal[row]).tolist():
                legal[row, cell] = forbids(own, opponent, cell, side) is None

    def bits(self, count: int = 1) -> npt.NDArray[np.uint64]:
        """Return random bits of the shape (games, count): the numbers of `position.rng().bits()` in each game.

        If they are the bot's only source of randomness, the same game can be played again.
        """
        numbers = np.arange(1, count + 1, dtype=np.uint64)
        bits: npt.NDArray[np.uint64] = bits_at(self.seed[:, None], self.ply.astype(np.uint64)[:, None], numbers)
        return bits

    def random(self, count: int = 1) -> npt.NDArray[np.float64]:
        """Return random numbers of at least 0 and less than 1, made from `bits`, in the shape (games, count)."""
        numbers: npt.NDArray[np.float64] = (self.bits(count) >> np.uint64(11)) * np.float64(2.0**-53)
        return numbers

    def pick(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return a random cell of each row of a mask such as `legal`: the same cell as `position.rng().choice(...)`.

        Every row must have a cell.
        """
        rows, width = mask.shape
        (cells,) = mask.ravel().nonzero()
        bounds = cells.searchsorted(np.arange(0, rows * width + 1, width))
        counts = np.diff(bounds).astype(np.uint64)
        bits = self.bits()[:, 0]
        # A random index below the count: the upper 64 bits of the 128-bit product `bits * counts`. numpy has no
        # numbers of 128 bits, so it is computed from halves.
        carry = ((bits & _LOW_HALF) * counts) >> _HALF
        index = ((bits >> _HALF) * counts + carry) >> _HALF
        picked: npt.NDArray[np.int64] = cells[bounds[:-1] + index.astype(np.int64)] % width
        return picked


class ArrayBot(Bot):
    """A bot that gets the questions of all its games at once, as arrays. Subclass it and write `choose_arrays`."""

    def choose_arrays(self, batch: Batch) -> Any:
        """Return a cell for each game, in order, as an array or list of whole numbers; or a tuple: cells, scores.

        Higher scores are better for the bot; NaN means no score. The cell `RESIGN` resigns a game. An exception, or
        anything other than a cell for each game, is logged and resigns all games of the batch.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `choose_arrays(self, batch)`")

    def choose_batch(self, positions: Sequence[Position]) -> list[Answer]:
        """Answer positions, each as a new game, for callers without arrays, such as `noughts bot ask`."""
        cells, scores = read_cells(self.choose_arrays(batch_of(positions)), len(positions))
        answers: list[Answer] = []
        for row, cell in enumerate(cells.tolist()):
            if cell == RESIGN:
                answers.append(Resign())
            elif row in scores:
                answers.append(Move(cell, scores[row]))
            else:
                answers.append(cell)
        return answers


def read_cells(answer: Any, count: int) -> tuple[npt.NDArray[np.int64], dict[int, float]]:
    """Return the cells, and scores by row, of a result of `choose_arrays`. Raises TypeError or ValueError."""
    if isinstance(answer, tuple) and len(answer) != 2:
        raise TypeError(f"choose_arrays: got a {len(answer)}-tuple, expected an array of cells, or (cells, scores)")
    cell_list, scores = answer if isinstance(answer, tuple) else (answer, None)
    cells = np.asarray(cell_list)
    if cells.shape != (count,):
        got = f"{len(cells)} cells" if cells.ndim == 1 else f"an array of shape {cells.shape}"
        raise ValueError(f"choose_arrays: got {got}, expected {count}, one for each game, in the same order")
    if cells.dtype.kind not in "iu":
        raise TypeError(f"choose_arrays: got cells of type {cells.dtype}, expected whole numbers, e.g. from argmax")
    cells = cells.astype(np.int64, copy=False)
    if scores is None:
        return cells, {}
    numbers = np.asarray(scores, np.float64)
    if numbers.shape != (count,):
        raise ValueError(f"choose_arrays: got scores of shape {numbers.shape}, expected ({count},), one for each game")
    rows = np.flatnonzero(np.isfinite(numbers))
    return cells, dict(zip(rows.tolist(), numbers[rows].tolist(), strict=True))


def batch_of(positions: Sequence[Position]) -> Batch:
    """Return positions of one variant as a batch in which all games are new."""
    variant = positions[0].variant
    count = len(positions)
    own, opponent = (
        _masks(stones, variant.cells) for stones in ([p.own for p in positions], [p.opponent for p in positions])
    )
    return Batch(
        variant=variant,
        games=np.arange(count),
        new=np.ones(count, np.bool_),
        boards=own + 2 * opponent,
        last=np.array([p.moves[-1] if p.moves else -1 for p in positions], np.int64),
        ply=np.array([p.ply for p in positions], np.int64),
        side=np.array([p.side for p in positions], np.int64),
        seed=np.array([p.seed for p in positions], np.uint64),
        own_clock_us=np.array([p.own_clock_us for p in positions], np.int64),
        opponent_clock_us=np.array([p.opponent_clock_us for p in positions], np.int64),
        limit_us=np.array([p.limit_us for p in positions], np.int64),
    )


def _masks(sets: Sequence[int], cells: int) -> npt.NDArray[np.int8]:
    """Return sets of cells as rows of 0 and 1."""
    size = (cells + 7) // 8
    packed = np.frombuffer(b"".join([cell_set.to_bytes(size, "little") for cell_set in sets]), np.uint8).reshape(
        -1, size
    )
    return np.unpackbits(packed, axis=1, count=cells, bitorder="little").view(np.int8)


def _sets(masks: npt.NDArray[np.bool_]) -> list[int]:
    """Return rows of masks as sets of cells."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(masks, axis=1, bitorder="little")]


@lru_cache(maxsize=16)
def supports(variant: Variant) -> npt.NDArray[np.int64]:
    """Return the cells that each cell rests on, padded with `variant.cells`, in the shape (cells, most cells)."""
    table = np.full((variant.cells, max(below.bit_count() for below in variant.supports)), variant.cells, np.int64)
    for cell, below in enumerate(variant.supports):
        table[cell, : below.bit_count()] = list(members(below))
    return table
