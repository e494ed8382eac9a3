"""Counts of move times in bounded memory, with quantiles that are accurate to 0.2 %.

The buckets are those of G. Tene's HdrHistogram: a number keeps its ten leading bits, so numbers below 1,024 are exact
and each doubling above has 512 buckets.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

_LEADING_BITS = 10
"""The precision of a bin: times that agree in their first bits are counted together."""


def bucket(microseconds: int) -> int:
    """Return the smallest time in the bucket of this time: its leading bits, followed by zeros."""
    shift = microseconds.bit_length() - _LEADING_BITS
    return microseconds >> shift << shift if shift > 0 else microseconds


class TimeHistogram:
    """Counts of times in whole microseconds, 0 or more."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.largest = 0
        """The largest time, exactly."""

    def add(self, times: Iterable[int]) -> None:
        for time in times:
            self._counts[bucket(time)] += 1
            if time > self.largest:
                self.largest = time

    @property
    def count(self) -> int:
        return self._counts.total()

    def quantile(self, share: float) -> int | None:
        """Return the smallest counted time (to 0.2 %) that at least `share` of all times do not exceed.

        None without times.

        `quantile(0.5)` is the lower median.
        """
        total = self.count
        seen = 0
        for time, count in sorted(self._counts.items()):
            seen += count
            if seen >= share * total:
                return time
        return None

    def items(self) -> Iterator[tuple[int, int]]:
        """Yield each bucket's smallest time and its count, ascending."""
        yield from sorted(self._counts.items())
