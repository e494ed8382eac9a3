"""Statements about many keys, in several parts: databases limit the parameters of one."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

Key = TypeVar("Key")

KEYS_A_STATEMENT = 1000
"""Keys of one column each; fewer where a condition is nested deeply."""


def in_batches(keys: Iterable[Key], size: int = KEYS_A_STATEMENT) -> Iterator[Sequence[Key]]:
    """The keys in their order, at most `size` at a time."""
    rest = iter(keys)
    while batch := list(islice(rest, size)):
        yield batch
