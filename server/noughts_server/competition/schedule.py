"""Schedules: who plays whom, slot by slot, whatever the format of the tournament."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from noughts_referee.work_units import Slot


class Schedule(Protocol):
    """The slots of one tournament. Ordinals count from 1, entries from 0."""

    @property
    def entries(self) -> int:
        """How many there are."""

    @property
    def total(self) -> int:
        """The number of slots; their ordinals are 1 to `total`."""

    def slot(self, ordinal: int) -> Slot:
        """The slot with this ordinal. Raises IndexError outside 1..total."""

    def slots(self, ordinals: Iterable[int]) -> Iterator[Slot]:
        """The slots with these ordinals, in their order."""

    def encounter(self, ordinal: int) -> int:
        """The number, from 0, of the encounter that the slot belongs to.

        An encounter is two games of the same entries on the same opening, with sides swapped.
        """

    def slots_of(self, entry: int, before: int) -> Iterator[int]:
        """The ordinals below `before` of the slots in which this entry plays, from the highest down."""

    def slots_between(self, one: int, other: int, before: int) -> Iterator[int]:
        """The ordinals below `before` of the slots in which these two entries meet, from the highest down."""
