"""Chance that can be repeated: every draw follows from a seed and a ply, and from nothing else.

A question that is asked twice gets the same answer, and no answer depends on what else is being played.
The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
"""

from collections.abc import Sequence
from typing import TypeVar

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
# They set the streams of different plies and sides apart: odd, and no small multiples of the gamma or each other.
_PLY_STEP = 0xD1342543DE82EF95
_SIDE_STEP = 0xA0761D6478BD642F

Item = TypeVar("Item")


def game_seed(tournament_seed: int, number: int) -> int:
    """The seed of a tournament's game: output `number` of the generator that begins at the tournament's seed."""
    return _mix(tournament_seed + number * _GAMMA)


def side_seed(game: int, side: int) -> int:
    """The seed of one side (0 first, 1 second). Unmixed: what is drawn from it is mixed."""
    return (game + side * _SIDE_STEP) & _MASK


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
