"""Split statements about many keys, because databases limit the parameters of one statement."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

Key = TypeVar("Key")

KEYS_A_STATEMENT = 1000
"""For keys of one column; statements with deeply nested conditions need fewer."""


def in_batches(keys: Iterable[Key], size: int = KEYS_A_STATEMENT) -> Iterator[Sequence[Key]]:
    """Yield the keys in order, at most `size` at a time."""
    rest = iter(keys)
    while batch := list(islice(rest, size)):
        yield batch
