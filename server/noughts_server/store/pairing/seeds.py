"""Seeds of tournaments as stored."""

from enum import IntEnum
from typing import Any

from sqlalchemy import Row


class SeedKind(IntEnum):
    """The origin of a tournament's seed."""

    DRAWN = 1
    """Chosen at random by the server and secret until the end."""
    GIVEN = 2
    """Chosen by the creator of the tournament."""


def signed(seed: int) -> int:
    """Return the signed 64-bit number with the same bits, because databases store no unsigned ones."""
    return seed - (1 << 64) if seed >> 63 else seed


def stored_seed(row: Row[Any]) -> int:
    """Return the seed of a row of `tournaments`."""
    return int(row.seed & ((1 << 64) - 1))
