"""Schedules: who plays whom, slot by slot, whatever the format of the tournament.

The store, the services and the command line know the protocol `Schedule` and the kinds in this module, never a format.
A new format whose pairings follow from the number of entries alone is a class beside `round_robin` and a row in
`_SCHEDULES`. One whose pairings follow from results (`waves`) makes them when a round is over: they are stored as rows
in the transaction that commits the round's last game, slots are only ever appended, and its schedule is made of those
rows (`store.pairings`).
"""

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Protocol

from noughts_referee.work_units import Slot
from noughts_server.competition.gauntlet import Gauntlet
from noughts_server.competition.knockout import EXTRA_PAIRS
from noughts_server.competition.round_robin import RoundRobin


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


class ScheduleKind(IntEnum):
    """How pairings are made. Values equal those of the protocol's enum."""

    ROUND_ROBIN = 1
    GAUNTLET = 2
    SWISS = 3
    KNOCKOUT = 4
    LADDER = 5

    @property
    def title(self) -> str:
        """For people: `Round robin`."""
        return self.name.capitalize().replace("_", " ")

    @property
    def follows_results(self) -> bool:
        """Whether pairings follow from results, and not from the number of entries alone."""
        return self not in _SCHEDULES

    def __str__(self) -> str:
        return self.name.lower().replace("_", "-")


_SCHEDULES: dict[ScheduleKind, Callable[[int, int], Schedule]] = {
    ScheduleKind.ROUND_ROBIN: RoundRobin,
    ScheduleKind.GAUNTLET: Gauntlet,
}


def make_schedule(kind: ScheduleKind, entries: int, games_per_pair: int) -> Schedule:
    """The schedule of a tournament of this kind with so many entries. Not for one that follows results."""
    return _SCHEDULES[kind](entries, games_per_pair)


def most_games(kind: ScheduleKind, entries: int, games_per_pair: int, rounds: int = 0) -> int:
    """How many games such a tournament has at most; of a ladder, in its first round."""
    if not kind.follows_results:
        return make_schedule(kind, entries, games_per_pair).total
    if kind is ScheduleKind.SWISS:
        return (rounds or max(1, (entries - 1).bit_length())) * (entries // 2) * games_per_pair
    if kind is ScheduleKind.KNOCKOUT:
        return (entries - 1) * (games_per_pair + 2 * EXTRA_PAIRS)
    return entries // 2 * games_per_pair
