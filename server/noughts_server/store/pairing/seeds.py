"""Tournaments' seeds as they are stored."""

from enum import IntEnum
from typing import Any

from sqlalchemy import Row

from noughts_referee.rules import OldSeed


class SeedKind(IntEnum):
    """How a tournament's seed came about."""

    OLD = 0
    """Before seeds were kept secret: an `OldSeed`."""
    DRAWN = 1
    """By the server: nobody knows it before the end."""
    GIVEN = 2
    """Whoever created the tournament chose it."""


def signed(seed: int) -> int:
    """An unsigned 64-bit number as the signed one with the same bits, which databases can keep."""
    return seed - (1 << 64) if seed >> 63 else seed


def stored_seed(row: Row[Any]) -> int:
    """The seed of a row of `tournaments`."""
    seed: int = row.seed & ((1 << 64) - 1)
    return OldSeed(seed) if row.seed_kind == SeedKind.OLD else seed
