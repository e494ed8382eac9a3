"""Conversion of the seeds of tournaments for the database."""

from enum import IntEnum
from typing import Any

from sqlalchemy import Row

from noughts_referee.rules import OldSeed


class SeedKind(IntEnum):
    """The origin of a tournament's seed."""

    OLD = 0
    """An `OldSeed`, from a version that did not keep seeds secret."""
    DRAWN = 1
    """Chosen at random by the server and secret until the end."""
    GIVEN = 2
    """Chosen by the creator of the tournament."""


def signed(seed: int) -> int:
    """Return the signed 64-bit number with the same bits, because databases have no unsigned numbers."""
    return seed - (1 << 64) if seed >> 63 else seed


def unsigned(number: int) -> int:
    """Return the number that `signed` was given."""
    return number & ((1 << 64) - 1)


def stored_seed(row: Row[Any]) -> int:
    """Return the seed of a row of `tournaments`."""
    seed = unsigned(row.seed)
    return OldSeed(seed) if row.seed_kind == SeedKind.OLD else seed
