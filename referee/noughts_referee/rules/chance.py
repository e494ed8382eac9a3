"""Chance that can be repeated: every draw follows from a seed and a ply, and from nothing else.

A question that is asked twice gets the same answer, and no answer depends on what else is being played.
The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
"""

from array import array
from collections.abc import Iterable, Sequence
from sys import byteorder
from typing import TypeVar

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
# They set the streams of different plies and sides apart: odd, and no small multiples of the gamma or each other.
_PLY_STEP = 0xD1342543DE82EF95
_SIDE_STEP = 0xA0761D6478BD642F
_FEW_ROWS = 16

Item = TypeVar("Item")


def game_seed(tournament_seed: int, number: int) -> int:
    """The seed of a tournament's game: output `number` of the generator that begins at the tournament's seed."""
    return _mix(tournament_seed + number * _GAMMA)


def side_seed(game: int, side: int) -> int:
    """The seed of one side (0 first, 1 second). Unmixed: what is drawn from it is mixed."""
    return (game + side * _SIDE_STEP) & _MASK


def side_seeds(tournament_seed: int, numbers: Sequence[int], sides: Sequence[int]) -> list[int]:
    """`side_seed` of a tournament's games by their numbers, a side of each: a tenth of the time of as many calls."""
    rows = len(numbers)
    if rows < _FEW_ROWS or byteorder == "big":
        return [
            side_seed(game_seed(tournament_seed, number), side) for number, side in zip(numbers, sides, strict=True)
        ]
    ones, mask = _ones(rows)
    z = _side_by_side(numbers) * _GAMMA + ones * (tournament_seed & _MASK) & mask
    return _numbers(_mixed(z, mask) + _side_by_side(sides) * _SIDE_STEP & mask, rows)


def _mix(z: int) -> int:
    z &= _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def first_choice(seed: int, ply: int, items: Sequence[Item]) -> Item:
    """`Draws(seed, ply).choice(items)` in half the time, for whoever draws once a move and millions of moves."""
    z = (seed + ply * _PLY_STEP + _GAMMA) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return items[(z ^ (z >> 31)) * len(items) >> 64]


def first_choices(seeds: Sequence[int], plies: Sequence[int], items: Iterable[Sequence[Item]]) -> list[Item]:
    """`first_choice` of each row of these columns of equal length, for whoever draws for hundreds of games at once.

    It takes half the time of as many calls.
    """
    rows = len(seeds)
    if rows < _FEW_ROWS or byteorder == "big":
        return list(map(first_choice, seeds, plies, items))
    ones, mask = _ones(rows)
    z = _side_by_side(seeds) + _side_by_side(plies) * _PLY_STEP + ones * _GAMMA & mask
    bits = _numbers(_mixed(z, mask), rows)
    return [choices[draw * len(choices) >> 64] for draw, choices in zip(bits, items, strict=True)]


# Many rows at once: they lie side by side in one long integer, 64 bits each with 64 bits of room for a product, and
# every step of the generator is taken for all of them.


def _ones(rows: int) -> tuple[int, int]:
    """1 in every row, and the largest number of 64 bits in every row."""
    ones = int.from_bytes((b"\1" + bytes(15)) * rows, "little")
    return ones, ones * _MASK


def _mixed(z: int, mask: int) -> int:
    """`_mix` of every row."""
    z = (z ^ (z >> 30 & mask)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27 & mask)) * 0x94D049BB133111EB & mask
    return z ^ (z >> 31 & mask)


def _side_by_side(numbers: Sequence[int]) -> int:
    column = array("Q", bytes(16 * len(numbers)))
    column[::2] = array("Q", numbers)
    return int.from_bytes(column.tobytes(), "little")


def _numbers(z: int, rows: int) -> list[int]:
    return array("Q", z.to_bytes(16 * rows, "little"))[::2].tolist()


class Draws:
    """The draws of one bot at one ply of one game: a stream that begins at (seed, ply)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, ply: int) -> None:
        self._state = seed + ply * _PLY_STEP

    def bits(self) -> int:
        """The next 64 uniform bits."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return z ^ (z >> 31)

    # `below` and `choice` say `bits` again: a call costs as much as the arithmetic, and bots draw for every move.

    def below(self, count: int) -> int:
        """A uniform integer in 0..count-1 (the bias of the multiplication is below count / 2**64)."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return (z ^ (z >> 31)) * count >> 64

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items, each with the same chance."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return items[(z ^ (z >> 31)) * len(items) >> 64]

    def weighted(self, items: Sequence[Item], weights: Sequence[int]) -> Item:
        """One of the items, each with a chance proportional to its weight (a non-negative integer)."""
        ticket = self.below(sum(weights))
        for item, weight in zip(items, weights, strict=True):
            ticket -= weight
            if ticket < 0:
                return item
        raise AssertionError("the ticket is below the sum of the weights")
