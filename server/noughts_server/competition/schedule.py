"""The interface of schedules: the slots (scheduled games) of a tournament in any format."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from noughts_referee.work_units import ScheduledGame


class Schedule(Protocol):
    """The slots of one tournament. Ordinals count from 1, entries from 0."""

    @property
    def entries(self) -> int:
        """Return the number of entries."""

    @property
    def total(self) -> int:
        """Return the number of slots; their ordinals are 1 to `total`."""

    def slot(self, ordinal: int) -> ScheduledGame:
        """Return the slot with this ordinal. Raises IndexError outside 1..total."""

    def slots(self, ordinals: Iterable[int]) -> Iterator[ScheduledGame]:
        """Yield the slots with these ordinals, in their order."""

    def game_pairs(self, ordinals: Iterable[int]) -> Iterator[int]:
        """Yield the number, from 0, of each slot's pair of games: two games on one opening, with sides swapped."""

    def slots_of(self, entry: int, before: int) -> Iterator[int]:
        """Yield the ordinals below `before` of the slots of this entry, in descending order."""

    def slots_between(self, one: int, other: int, before: int) -> Iterator[int]:
        """Yield the ordinals below `before` of the slots between these two entries, in descending order."""
