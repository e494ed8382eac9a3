"""Chance that can be repeated: every draw follows from a seed and a ply, and from nothing else.

A question that is asked twice gets the same answer, and no answer depends on what else is being played.
The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15

Item = TypeVar("Item")


def game_seed(tournament_seed: int, number: int) -> int:
    """The seed of a tournament's game: BLAKE2b-64 of the text `SEED/NUMBER`, little endian."""
    return int.from_bytes(blake2b(b"%d/%d" % (tournament_seed, number), digest_size=8).digest(), "little")


def side_seed(game: int, side: int) -> int:
    """The seed of one side (0 first, 1 second) of a game: the first 64 bits drawn at (game's seed, side)."""
    return Draws(game, side).bits()


class Draws:
    """The draws of one bot at one ply of one game: a stream that begins at (seed, ply)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, ply: int) -> None:
        # The ply is mixed before it is added: neighbouring plies must not share a stream with an offset.
        z = (ply + 1) * 0xD1342543DE82EF95 & _MASK
        z = (z ^ (z >> 32)) * 0xDABA0B6EB09322E3 & _MASK
        self._state = (seed + (z ^ (z >> 29))) & _MASK

    def bits(self) -> int:
        """The next 64 uniform bits."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return z ^ (z >> 31)

    def below(self, count: int) -> int:
        """A uniform integer in 0..count-1 (the bias of the multiplication is below count / 2**64)."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return (z ^ (z >> 31)) * count >> 64

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items, each with the same chance."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[Item], weights: Sequence[int]) -> Item:
        """One of the items, each with a chance proportional to its weight (a non-negative integer)."""
        ticket = self.below(sum(weights))
        for item, weight in zip(items, weights, strict=True):
            ticket -= weight
            if ticket < 0:
                return item
        raise AssertionError("the ticket is below the sum of the weights")
