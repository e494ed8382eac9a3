"""Thinking times counted in bounded memory, with quantiles that are right to 0.2 %.

The buckets are those of G. Tene's HdrHistogram: a number keeps its ten leading bits, so what is below 1,024 is exact
and there are 512 buckets for each doubling above it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

_KEPT_BITS = 10


def bucket(microseconds: int) -> int:
    """The smallest time of the bucket that this one falls into."""
    shift = microseconds.bit_length() - _KEPT_BITS
    return microseconds >> shift << shift if shift > 0 else microseconds


class TimeHistogram:
    """Times in whole microseconds, 0 or more."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.largest = 0
        """Exact."""

    def add(self, times: Iterable[int]) -> None:
        """Counts these times."""
        for time in times:
            self._counts[bucket(time)] += 1
            if time > self.largest:
                self.largest = time

    @property
    def count(self) -> int:
        """How many times were added."""
        return self._counts.total()

    def quantile(self, share: float) -> int | None:
        """The smallest counted time, to 0.2 %, that at least this share of them does not exceed; None without any.

        `quantile(0.5)` is the lower median.
        """
        total, seen = self.count, 0
        for time, count in sorted(self._counts.items()):
            seen += count
            if seen >= share * total:
                return time
        return None

    def items(self) -> Iterator[tuple[int, int]]:
        """Each bucket's smallest time and its count, ascending."""
        yield from sorted(self._counts.items())
