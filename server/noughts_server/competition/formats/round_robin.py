"""Round robins: every entry plays every other. The pairings are computed, not stored."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from noughts_referee.work_units import ScheduledGame
from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.tournament_format import FixedPairings, FormatSettings
from noughts_server.core.messages import N_


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """A `Schedule` in which every entry meets every other, in the order of Berger tables (FIDE Handbook C.05, annex 1).

    A cycle is a whole round robin with one game of each pair; every second cycle has the sides reversed. So the numbers
    of games on each side differ by at most one for each pair, and for each entry within a cycle. With an odd number of
    entries, one of them has no game in each round.

    The entries sit in a circle, except the one in the last seat. With an odd number of entries the last seat is empty.
    In each turn (a round of the cycle), the last seat meets an entry `x` of the circle on board 0, and the entries at
    the same distance from `x` on both sides meet each other: `x + 1` and `x - 1` on board 1, and so on.
    """

    entries: int
    games_per_pair: int
    """The number of cycles."""

    @property
    def rounds_per_cycle(self) -> int:
        """Return the number of rounds of a cycle, in which every entry has at most one game."""
        return self._circle

    @property
    def games_per_round(self) -> int:
        return self.entries // 2

    @property
    def total(self) -> int:
        return self.games_per_pair * self.entries * (self.entries - 1) // 2

    @property
    def _circle(self) -> int:
        """Return the number of seats in the circle, which is also the number of the last seat."""
        return self.entries - 1 + self.entries % 2

    def _opponent_of_last(self, turn: int) -> int:
        """Return the entry of the circle that meets the last seat in this turn.

        It moves by half the circle each turn.
        """
        return turn * ((self._circle + 1) // 2) % self._circle

    def slot(self, ordinal: int) -> ScheduledGame:
        if not 1 <= ordinal <= self.total:
            raise IndexError(f"slot {ordinal} of {self.total}")
        index, board = divmod(ordinal - 1, self.games_per_round)
        cycle, turn = divmod(index, self.rounds_per_cycle)
        first, second = self._pairing(turn, board)
        return ScheduledGame(ordinal, second, first) if cycle % 2 else ScheduledGame(ordinal, first, second)

    def slots(self, ordinals: Iterable[int]) -> Iterator[ScheduledGame]:
        """Yield the slots with these ordinals, faster than `slot` does: pairings repeat every second cycle."""
        period = 2 * self.rounds_per_cycle * self.games_per_round
        pairings: dict[int, tuple[int, int]] = {}
        # This takes half the time of calling ScheduledGame, and every game needs a slot.
        new_slot = partial(tuple.__new__, ScheduledGame)
        for ordinal in ordinals:
            place = (ordinal - 1) % period
            pair = pairings.get(place)
            if pair is None:
                pair = pairings[place] = self.slot(ordinal)[1:]
            yield new_slot((ordinal, *pair))

    def game_pairs(self, ordinals: Iterable[int]) -> Iterator[int]:
        """Yield the numbers of the slots' pairs of games. Two consecutive cycles have the same pairs."""
        games_per_cycle = self.rounds_per_cycle * self.games_per_round
        for ordinal in ordinals:
            cycle, place = divmod(ordinal - 1, games_per_cycle)
            yield cycle // 2 * games_per_cycle + place

    def slots_of(self, entry: int, before: int) -> Iterator[int]:
        """Yield the ordinals in descending order. The time for each one does not depend on the tournament's size."""
        turns, games = self.rounds_per_cycle, self.games_per_round
        last = min(before - 2, self.total - 1) // games
        for index in range(last, -1, -1):
            board = self._board(index % turns, entry)
            if board is not None and (ordinal := index * games + board + 1) < before:
                yield ordinal

    def slots_between(self, one: int, other: int, before: int) -> Iterator[int]:
        """Yield the ordinals in descending order. The two entries meet once in each cycle, always in the same turn."""
        if one == other:
            return
        circle = self._circle
        turns = self.rounds_per_cycle
        games = self.games_per_round
        # In turn t the opponent of the last seat is x = t * (circle + 1) / 2, so t = 2 * x (modulo the circle). Two
        # entries of the circle meet if they are at the same distance from x on both sides: their sum is 2 * x, too.
        turn = (2 * min(one, other) if max(one, other) == circle else one + other) % circle
        board = self._board(turn, one) or 0
        last = min(before - 2, self.total - 1) // (turns * games)
        for cycle in range(last, -1, -1):
            ordinal = (cycle * turns + turn) * games + board + 1
            if ordinal < before:
                yield ordinal

    def _board(self, turn: int, entry: int) -> int | None:
        """Return the board of an entry in a turn, the inverse of `_pairing`; None if it has no game."""
        circle = self._circle
        distance = 0 if entry == circle else (entry - self._opponent_of_last(turn)) % circle
        board = min(distance, circle - distance) - self.entries % 2
        return board if board >= 0 else None

    def _pairing(self, turn: int, board: int) -> tuple[int, int]:
        """Return the entries on a board in a turn. If the last seat is empty, its board is omitted."""
        circle = self._circle
        opponent_of_last = self._opponent_of_last(turn)
        board += self.entries % 2
        if board == 0:
            return (circle, opponent_of_last) if turn % 2 else (opponent_of_last, circle)
        return (opponent_of_last + board) % circle, (opponent_of_last - board) % circle


class RoundRobinFormat(FixedPairings):
    """The format whose schedules are `RoundRobin`s."""

    number = 1
    title = N_("Round robin")
    summary = N_("everyone against everyone")

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        schedule = self.schedule(entries, settings.games_per_pair)
        total = schedule.total
        rounds = settings.games_per_pair * schedule.rounds_per_cycle
        return Forecast(entries=entries, rounds=rounds, least=total, most=total, waves=(Wave(total, entries // 2),))

    def games_of_each(self, settings: FormatSettings, entries: int) -> int | None:
        # A test can end before all games are played.
        return None if settings.sprt else settings.games_per_pair * (entries - 1)

    def schedule(self, entries: int, games_per_pair: int) -> RoundRobin:
        return RoundRobin(entries, games_per_pair)


ROUND_ROBIN = RoundRobinFormat()
