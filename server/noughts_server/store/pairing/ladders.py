"""Ladders in the store: the next pairings follow from all games so far, and from joining and withdrawn entries."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from noughts_referee.work_units import FinishedGame
from noughts_server.competition.formats.ladder import Ladder
from noughts_server.competition.pairing_batch import Pairing, PlayedPairing
from noughts_server.store.engine.schema import entries
from noughts_server.store.pairing.pairings import NewSlot, append_slots, points_of_first, slots_with_results

_PAIR = 2


class StoredLadder:
    """The state of a stored ladder. It is cached between transactions, and rebuilt if the database differs."""

    def __init__(self, connection: Connection, tournament: Row[Any]) -> None:
        self.games_total = int(tournament.games_total)
        self.games_done = 0
        self._length = int(tournament.games_per_pair)
        """Games of a pairing. Their ordinals are consecutive, so a pairing's number follows from the ordinal."""
        self._open: dict[int, _OpenPairing] = {}
        rows = connection.execute(_ENTRIES.where(entries.c.tournament_id == tournament.id)).all()
        self._entries = {row.number for row in rows}
        self._gone = {row.number for row in rows if row.withdrawn_at is not None}
        history = self._history(connection, tournament.id)
        self._ladder = Ladder.rebuild(sorted(self._entries), self._gone, history)

    def take(self, stored: Iterable[FinishedGame]) -> None:
        """Add games that are stored in this transaction."""
        for game in stored:
            number = (game.ordinal - 1) // self._length
            pairing = self._open[number]
            pairing.add(game.first, game.result)
            self.games_done += 1
            if pairing.games == self._length:
                del self._open[number]
                other_points = self._length - pairing.points
                self._ladder.record_result(pairing.first, pairing.second, pairing.points, other_points)

    def follow(self, connection: Connection, tournament_id: int) -> None:
        """Add entries that have joined since, and withdraw those that left."""
        for row in connection.execute(_ENTRIES.where(entries.c.tournament_id == tournament_id)):
            if row.number not in self._entries:
                self._entries.add(row.number)
                self._ladder.add(row.number)
            if row.withdrawn_at is not None and row.number not in self._gone:
                self._gone.add(row.number)
                self._ladder.withdraw(row.number)

    def pair(self, at_once: int) -> list[NewSlot]:
        """Return the slots of the pairings that can begin now, so that `at_once` games can be played concurrently."""
        most = max(1, at_once // self._length) - len(self._open)
        slots: list[NewSlot] = []
        number = self.games_total // self._length
        for first, second in self._ladder.pair(most):
            self._open[number] = _OpenPairing(first, second)
            for game in range(self._length):
                swapped = game % _PAIR
                slot = NewSlot(
                    first_entry=second if swapped else first,
                    second_entry=first if swapped else second,
                    game_pair=(number * self._length + game) // _PAIR,
                    round=number + 1,
                )
                slots.append(slot)
            number += 1
        self.games_total += len(slots)
        return slots

    def _history(self, connection: Connection, tournament_id: int) -> Iterator[PlayedPairing | Pairing]:
        """Yield the stored pairings in order: `PlayedPairing` if all their games are stored, else `Pairing`."""
        rows = slots_with_results(connection, tournament_id)
        while slots := rows.fetchmany(self._length):
            number = slots[0].round - 1
            pairing = _OpenPairing(slots[0].first_entry, slots[0].second_entry)
            for slot in slots:
                if slot.result is not None:
                    pairing.add(slot.x, slot.result)
                    self.games_done += 1
            if pairing.games == self._length:
                yield PlayedPairing(
                    round=number + 1,
                    first=pairing.first,
                    second=pairing.second,
                    first_points=pairing.points,
                    second_points=self._length - pairing.points,
                    games=self._length,
                )
            else:
                self._open[number] = pairing
                yield Pairing(pairing.first, pairing.second)


class _OpenPairing:
    """A pairing with unfinished games."""

    __slots__ = ("first", "games", "points", "second")

    def __init__(self, first: int, second: int) -> None:
        self.first = first
        self.second = second
        self.games = 0
        self.points = 0.0
        """The points of `first`."""

    def add(self, x: int, result: int) -> None:
        """Add the result of a game that the entry `x` began."""
        self.games += 1
        self.points += points_of_first(self.first, x, result)


_ENTRIES = select(entries.c.number, entries.c.withdrawn_at).order_by(entries.c.number)


def append_to_ladder(
    connection: Connection, tournament: Row[Any], stored: Sequence[FinishedGame], cached: StoredLadder | None
) -> StoredLadder:
    """Pair the entries that can be paired after these games, which this transaction has stored already.

    `tournament` is its row before this transaction. Returns the ladder to cache after the commit.
    """
    before = (tournament.games_done, tournament.games_total)
    if cached is not None and (cached.games_done, cached.games_total) == before:
        ladder = cached
        ladder.take(stored)
    else:
        ladder = StoredLadder(connection, tournament)
    ladder.follow(connection, tournament.id)
    append_slots(connection, tournament.id, tournament.games_total, ladder.pair(tournament.concurrency))
    return ladder
