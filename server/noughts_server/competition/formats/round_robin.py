"""Round robins: the pairing of a slot follows from its ordinal. Nothing is stored."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from noughts_referee.work_units import Slot
from noughts_server.competition.forecast import Forecast
from noughts_server.competition.formats.tournament_format import FixedPairings, FormatSettings


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """A `Schedule` in which every entry meets every other, in the order of Berger tables (FIDE Handbook C.05, annex 1).

    A cycle is a whole round robin with one game of each pair; every second cycle has the sides reversed. So the numbers
    of games on each side differ by at most one for each pair, and for each entry within a cycle. With an odd number of
    entries, one has no game in each round.
    """

    entries: int
    games_per_pair: int
    """The number of cycles."""

    @property
    def rounds_per_cycle(self) -> int:
        """Return the number of rounds of a cycle, in which every entry has at most one game."""
        return self._seats - 1

    @property
    def games_per_round(self) -> int:
        return self.entries // 2

    @property
    def total(self) -> int:
        return self.games_per_pair * self.entries * (self.entries - 1) // 2

    @property
    def _seats(self) -> int:
        return self.entries + self.entries % 2

    def slot(self, ordinal: int) -> Slot:
        if not 1 <= ordinal <= self.total:
            raise IndexError(f"slot {ordinal} of {self.total}")
        index, board = divmod(ordinal - 1, self.games_per_round)
        cycle, turn = divmod(index, self.rounds_per_cycle)
        first, second = self._pairing(turn, board)
        return Slot(ordinal, second, first) if cycle % 2 else Slot(ordinal, first, second)

    def slots(self, ordinals: Iterable[int]) -> Iterator[Slot]:
        """Yield the slots with these ordinals; pairings repeat every second cycle, so this is faster than `slot`."""
        period = 2 * self.rounds_per_cycle * self.games_per_round
        known: dict[int, tuple[int, int]] = {}
        # This takes half the time of calling Slot, which every game needs.
        make = partial(tuple.__new__, Slot)
        for ordinal in ordinals:
            place = (ordinal - 1) % period
            pair = known.get(place)
            if pair is None:
                pair = known[place] = self.slot(ordinal)[1:]
            yield make((ordinal, *pair))

    def encounters(self, ordinals: Iterable[int]) -> Iterator[int]:
        """Two consecutive cycles have the same encounters."""
        for ordinal in ordinals:
            cycle, place = divmod(ordinal - 1, self.rounds_per_cycle * self.games_per_round)
            yield cycle // 2 * self.rounds_per_cycle * self.games_per_round + place

    def slots_of(self, entry: int, before: int) -> Iterator[int]:
        """Each ordinal takes the same time, however long the tournament is."""
        turns, games = self.rounds_per_cycle, self.games_per_round
        last = min(before - 2, self.total - 1) // games
        for index in range(last, -1, -1):
            board = self._board(index % turns, entry)
            if board is not None and (ordinal := index * games + board + 1) < before:
                yield ordinal

    def slots_between(self, one: int, other: int, before: int) -> Iterator[int]:
        """They meet once in each cycle, always in the same turn. An entry does not meet itself."""
        if one == other:
            return
        circle = self._seats - 1
        turns = self.rounds_per_cycle
        games = self.games_per_round
        # Both are equally far from `opponent_of_last`, on either side (`_pairing`). The last seat meets that one.
        turn = (2 * min(one, other) if max(one, other) == circle else one + other) % circle
        board = self._board(turn, one) or 0
        last = min(before - 2, self.total - 1) // (turns * games)
        for cycle in range(last, -1, -1):
            ordinal = (cycle * turns + turn) * games + board + 1
            if ordinal < before:
                yield ordinal

    def _board(self, turn: int, entry: int) -> int | None:
        """Return the board of an entry in a turn, the inverse of `_pairing`; None if it has no game."""
        circle = self._seats - 1
        opponent_of_last = turn * (self._seats // 2) % circle
        distance = 0 if entry == circle else (entry - opponent_of_last) % circle
        board = min(distance, circle - distance) - self.entries % 2
        return board if board >= 0 else None

    def _pairing(self, turn: int, board: int) -> tuple[int, int]:
        # The last seat is fixed, the others move by half the table each round. An odd number of entries leaves the last
        # seat empty, so its board is omitted.
        seats = self._seats
        circle = self._seats - 1
        opponent_of_last = turn * (seats // 2) % circle
        board += self.entries % 2
        if board == 0:
            last = seats - 1
            return (last, opponent_of_last) if turn % 2 else (opponent_of_last, last)
        return (opponent_of_last + board) % circle, (opponent_of_last - board) % circle


class RoundRobinFormat(FixedPairings):
    number = 1
    title = "Round robin"
    summary = "everyone against everyone"

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        schedule = self.schedule(entries, settings.games_per_pair)
        total = schedule.total
        return Forecast(entries, settings.games_per_pair * schedule.rounds_per_cycle, total, total, (total,))

    def schedule(self, entries: int, games_per_pair: int) -> RoundRobin:
        return RoundRobin(entries, games_per_pair)


ROUND_ROBIN = RoundRobinFormat()
