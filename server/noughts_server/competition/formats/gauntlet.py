"""Gauntlets: the first entry plays each of the others. The pairings are computed, not stored."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noughts_referee.work_units import ScheduledGame
from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.tournament_format import FixedPairings, FormatSettings
from noughts_server.core.messages import N_


@dataclass(frozen=True, slots=True)
class Gauntlet:
    """A `Schedule` in which entry 0 meets every other entry `games_per_pair` times; the others never meet.

    A cycle is one game of each pair, in the order of the entries. Sides alternate between the games of a cycle and
    between the cycles of a pair. So the sides differ by at most one game, for each pair and for entry 0 in a cycle.
    """

    entries: int
    games_per_pair: int
    """The number of cycles."""

    @property
    def total(self) -> int:
        return self.games_per_pair * (self.entries - 1)

    def slot(self, ordinal: int) -> ScheduledGame:
        if not 1 <= ordinal <= self.total:
            raise IndexError(f"slot {ordinal} of {self.total}")
        cycle, place = divmod(ordinal - 1, self.entries - 1)
        opponent = place + 1
        return ScheduledGame(ordinal, opponent, 0) if (cycle + place) % 2 else ScheduledGame(ordinal, 0, opponent)

    def slots(self, ordinals: Iterable[int]) -> Iterator[ScheduledGame]:
        return map(self.slot, ordinals)

    def game_pairs(self, ordinals: Iterable[int]) -> Iterator[int]:
        """Two consecutive cycles have the same pairs of games."""
        for ordinal in ordinals:
            cycle, place = divmod(ordinal - 1, self.entries - 1)
            yield cycle // 2 * (self.entries - 1) + place

    def slots_of(self, entry: int, before: int) -> Iterator[int]:
        last = min(before - 1, self.total)
        if entry == 0:
            return iter(range(last, 0, -1))
        # The entry has one slot in each cycle; its first slot has its own number as ordinal.
        opponents = self.entries - 1
        return iter(range(last - (last - entry) % opponents, 0, -opponents))

    def slots_between(self, one: int, other: int, before: int) -> Iterator[int]:
        if one == other or min(one, other) > 0:
            return iter(())
        return self.slots_of(max(one, other), before)


class GauntletFormat(FixedPairings):
    """The format whose schedules are `Gauntlet`s."""

    number = 2
    title = N_("Gauntlet")
    summary = N_("the first entry against all others")

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        total = self.schedule(entries, settings.games_per_pair).total
        return Forecast(entries=entries, rounds=None, least=total, most=total, waves=(Wave(total, 1),))

    def schedule(self, entries: int, games_per_pair: int) -> Gauntlet:
        return Gauntlet(entries, games_per_pair)


GAUNTLET = GauntletFormat()
