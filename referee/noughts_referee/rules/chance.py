"""Chance that can be repeated: every draw follows from a seed and a ply, and from nothing else.

A question that is asked twice gets the same answer, and no answer depends on what else is being played.
Draws come from splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), which is
quick and can be turned round: so seeds follow from seeds by a hash (BLAKE2b), and who knows his own learns no other.
"""

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b, sha256
from struct import Struct
from sys import byteorder
from typing import TypeVar

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
# It sets the streams of different plies apart: odd, and no small multiple of the gamma.
_PLY_STEP = 0xD1342543DE82EF95
_OLD_SIDE_STEP = 0xA0761D6478BD642F
_FEW_ROWS = 16
_KEPT = 512
_ONE_NUMBER, _TWO_NUMBERS = Struct("<Q").pack, Struct("<2Q").pack
_EIGHT_NUMBERS, _SIXTEEN_NUMBERS = Struct("<8Q").unpack, Struct("<16Q").unpack

Item = TypeVar("Item")


class OldSeed(int):
    """The seed of a tournament that was made before seeds were kept secret: its games' seeds follow as they did then,
    by arithmetic that can be turned round."""


def game_seed(tournament_seed: int, number: int) -> int:
    """The seed of a tournament's game: a hash of both, from which neither the tournament's seed nor another game's
    can be found."""
    return _games(tournament_seed, number >> 3)[number & 7]


def side_seed(game: int, side: int) -> int:
    """The seed of one side (0 first, 1 second): a hash of both, from which the other side's cannot be found."""
    seeds: tuple[int, ...] = _EIGHT_NUMBERS(blake2b(_ONE_NUMBER(game)).digest())
    return seeds[side]


def side_seeds(tournament_seed: int, numbers: Sequence[int], sides: Sequence[int]) -> list[int]:
    """`side_seed` of a tournament's games by their numbers, a side of each: a fraction of the time of as many calls."""
    seeds: list[int] = []
    block = -1
    known: tuple[int, ...] = ()
    for number, side in zip(numbers, sides, strict=True):
        if number >> 3 != block:
            block = number >> 3
            known = _sides(tournament_seed, block)
        seeds.append(known[2 * number + side & 15])
    return seeds


def apart(tournament_seed: int, purpose: int) -> int:
    """The tournament's seed for another purpose than its games."""
    return type(tournament_seed)(tournament_seed ^ purpose)


def commitment(tournament_seed: int) -> str:
    """What is told of a tournament's seed while that is secret: SHA-256 of `noughts seed N`, in hexadecimal."""
    return sha256(f"noughts seed {tournament_seed}".encode()).hexdigest()


# One hash gives eight numbers: the seeds of as many games, or those of the sides of one. Games that begin together have
# neighbouring numbers, and each is told to two players: what was hashed last is kept.


@lru_cache(maxsize=_KEPT, typed=True)
def _games(tournament_seed: int, block: int) -> tuple[int, ...]:
    if isinstance(tournament_seed, OldSeed):
        return tuple(_mix(tournament_seed + number * _GAMMA) for number in range(8 * block, 8 * block + 8))
    return _EIGHT_NUMBERS(blake2b(_TWO_NUMBERS(tournament_seed & _MASK, block)).digest())


@lru_cache(maxsize=_KEPT, typed=True)
def _sides(tournament_seed: int, block: int) -> tuple[int, ...]:
    """Of the first game of the block first and second, then of the next."""
    games = _games(tournament_seed, block)
    if isinstance(tournament_seed, OldSeed):
        return tuple(seed for game in games for seed in (game, (game + _OLD_SIDE_STEP) & _MASK))
    return _SIXTEEN_NUMBERS(b"".join([blake2b(_ONE_NUMBER(game)).digest()[:16] for game in games]))


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
