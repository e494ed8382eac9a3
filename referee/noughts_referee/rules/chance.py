"""Repeatable randomness: every random number follows from a seed and a ply only.

The same seed and ply always give the same numbers, whatever other games run. Numbers come from splitmix64 (Steele, Lea
and Flood, "Fast splittable pseudorandom number generators", 2014), which is fast but invertible. Seeds therefore follow
from seeds by a hash (BLAKE2b), so that a bot cannot compute other seeds from its own.
"""

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b, sha256
from struct import Struct
from sys import byteorder
from typing import Any, TypeVar

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
# Separates the streams of different plies: odd, and not a small multiple of the gamma.
_PLY_STEP = 0xD1342543DE82EF95
_OLD_SIDE_STEP = 0xA0761D6478BD642F
_FEW_ROWS = 16
"""For fewer rows, plain Python is faster than numpy."""
_KEPT = 512
"""Results that are cached."""
_ONE_NUMBER, _TWO_NUMBERS = Struct("<Q").pack, Struct("<2Q").pack
_EIGHT_NUMBERS, _SIXTEEN_NUMBERS = Struct("<8Q").unpack, Struct("<16Q").unpack

Item = TypeVar("Item")


class OldSeed(int):
    """The seed of a tournament that is older than secret seeds. It gives its games seeds by invertible arithmetic."""


def game_seed(tournament_seed: int, number: int) -> int:
    """Return the seed of a tournament's game: a hash that reveals neither the tournament's seed nor another game's."""
    return _games(tournament_seed, number >> 3)[number & 7]


def side_seed(game: int, side: int) -> int:
    """Return the seed of one side (0 first, 1 second): a hash that does not reveal the other side's."""
    seeds: tuple[int, ...] = _EIGHT_NUMBERS(blake2b(_ONE_NUMBER(game)).digest())
    return seeds[side]


def side_seeds(tournament_seed: int, numbers: Sequence[int], sides: Sequence[int]) -> list[int]:
    """Return `side_seed` of many games and sides of a tournament, in a fraction of the time of single calls."""
    seeds: list[int] = []
    block: int | None = None
    block_seeds: tuple[int, ...] = ()
    for number, side in zip(numbers, sides, strict=True):
        if number >> 3 != block:
            block = number >> 3
            block_seeds = _sides(tournament_seed, block)
        seeds.append(block_seeds[2 * (number & 7) + side])
    return seeds


def purpose_seed(tournament_seed: int, purpose: int) -> int:
    """Return the tournament's seed for a purpose other than its games."""
    return type(tournament_seed)(tournament_seed ^ purpose)


def commitment(tournament_seed: int) -> str:
    """Return the public commitment to a secret seed: SHA-256 of `noughts seed N`, in hexadecimal."""
    return sha256(f"noughts seed {tournament_seed}".encode()).hexdigest()


# One hash gives eight numbers: the seeds of eight games, or of the sides of one. Games that begin together have
# neighbouring numbers, and each is sent to two players, so the latest hashes are cached.


@lru_cache(maxsize=_KEPT, typed=True)
def _games(tournament_seed: int, block: int) -> tuple[int, ...]:
    """Return the seeds of the eight games of a block: those whose number // 8 is `block`."""
    if isinstance(tournament_seed, OldSeed):
        return tuple(_mix(tournament_seed + number * _GAMMA) for number in range(8 * block, 8 * block + 8))
    return _EIGHT_NUMBERS(blake2b(_TWO_NUMBERS(tournament_seed & _MASK, block)).digest())


@lru_cache(maxsize=_KEPT, typed=True)
def _sides(tournament_seed: int, block: int) -> tuple[int, ...]:
    """Return the seeds of both sides of each game in the block: first side, second side, next game."""
    games = _games(tournament_seed, block)
    if isinstance(tournament_seed, OldSeed):
        return tuple(seed for game in games for seed in (game, (game + _OLD_SIDE_STEP) & _MASK))
    return _SIXTEEN_NUMBERS(b"".join([blake2b(_ONE_NUMBER(game)).digest()[:16] for game in games]))


def _mix(z: int) -> int:
    """Return the output of splitmix64 for a state."""
    z &= _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def bits_at(seed: Any, ply: Any, number: Any) -> Any:
    """Return the `number`th 64 bits, from 1, of `Draws(seed, ply)`. The arguments can be numpy arrays of uint64."""
    return _mix(seed + ply * _PLY_STEP + number * _GAMMA)


def first_choice(seed: int, ply: int, items: Sequence[Item]) -> Item:
    """Return `Draws(seed, ply).choice(items)` in half the time."""
    z = (seed + ply * _PLY_STEP + _GAMMA) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return items[(z ^ (z >> 31)) * len(items) >> 64]


def first_choices(seeds: Sequence[int], plies: Sequence[int], items: Iterable[Sequence[Item]]) -> list[Item]:
    """Return `first_choice` of each row of these columns of equal length, in half the time of single calls."""
    rows = len(seeds)
    if rows < _FEW_ROWS or byteorder == "big":
        return list(map(first_choice, seeds, plies, items))
    ones = int.from_bytes((b"\1" + bytes(15)) * rows, "little")
    mask = ones * _MASK
    z = _side_by_side(seeds) + _side_by_side(plies) * _PLY_STEP + ones * _GAMMA & mask
    bits = _numbers(_mixed(z, mask), rows)
    return [choices[draw * len(choices) >> 64] for draw, choices in zip(bits, items, strict=True)]


# The rows lie next to each other in one long integer, as 64 bits each and 64 bits of space for a product. Each step of
# the generator handles all of them.


def _mixed(z: int, mask: int) -> int:
    """Return `_mix` of every row."""
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
    """The random number generator of one bot at one ply of one game. It starts at (seed, ply)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, ply: int) -> None:
        self._state = seed + ply * _PLY_STEP

    def bits(self) -> int:
        """Return the next 64 uniform bits."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return z ^ (z >> 31)

    # `below` and `choice` repeat the code of `bits`, because a call costs as much as the arithmetic.

    def below(self, count: int) -> int:
        """Return a uniform integer in 0..count-1 (the bias of the multiplication is below count / 2**64)."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return (z ^ (z >> 31)) * count >> 64

    def choice(self, items: Sequence[Item]) -> Item:
        """Return one of the items with equal probability."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return items[(z ^ (z >> 31)) * len(items) >> 64]

    def weighted(self, items: Sequence[Item], weights: Sequence[int]) -> Item:
        """Return one of the items with a probability proportional to its weight (a non-negative integer)."""
        remainder = self.below(sum(weights))
        for item, weight in zip(items, weights, strict=True):
            remainder -= weight
            if remainder < 0:
                return item
        raise AssertionError("a number below the sum of the weights belongs to an item")
