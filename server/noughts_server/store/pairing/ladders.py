"""Ladders in the store: the next pairings follow from all games so far, and from the entries that are present."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select, update

from noughts_referee.work_units import FinishedGame
from noughts_server.competition.elo import START
from noughts_server.competition.formats import FORMATS
from noughts_server.competition.formats.ladder import Ladder
from noughts_server.competition.pairing_batch import Pairing, PlayedPairing
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import TournamentState, bots, entries, entries_with_bots, tournaments
from noughts_server.store.pairing.pairings import NewScheduledGame, append_slots, points_of_first, slots_with_results

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
        self._absent: set[int] = set()
        history = self._history(connection, tournament.id)
        anchors = {row.number: anchor for row in rows if (anchor := _in_ladder(row.anchor)) is not None}
        self._ladder = Ladder.rebuild(sorted(self._entries), self._gone, history, anchors)

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
        """Add entries that have joined since, withdraw those that left, and note which are absent."""
        for row in connection.execute(_ENTRIES.where(entries.c.tournament_id == tournament_id)):
            if row.number not in self._entries:
                self._entries.add(row.number)
                self._ladder.add(row.number, _in_ladder(row.anchor))
            if row.withdrawn_at is not None and row.number not in self._gone:
                self._gone.add(row.number)
                self._ladder.withdraw(row.number)
            if row.absent and row.number not in self._absent:
                self._absent.add(row.number)
                self._ladder.record_absence(row.number)
            elif not row.absent and row.number in self._absent:
                self._absent.discard(row.number)
                self._ladder.record_return(row.number)

    def pair(self, at_once: int) -> list[NewScheduledGame]:
        """Return the slots of the pairings that can begin now, so that `at_once` games can be played concurrently.

        Games that wait for an absent bot do not count.
        """
        most = max(1, at_once // self._length) - self._ladder.live_pairings
        slots: list[NewScheduledGame] = []
        number = self.games_total // self._length
        for first, second in self._ladder.pair(most):
            self._open[number] = _OpenPairing(first, second)
            for game in range(self._length):
                swapped = game % _PAIR
                slot = NewScheduledGame(
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


_ENTRIES = (
    select(entries.c.number, entries.c.withdrawn_at, entries.c.absent, bots.c.anchor)
    .select_from(entries_with_bots)
    .order_by(entries.c.number)
)


def _in_ladder(anchor: float | None) -> float | None:
    """Return a known rating on the scale of the ladder, on which a newcomer has 0."""
    return None if anchor is None else anchor - START


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


class LadderEntry(NamedTuple):
    """An entry of a ladder that is not over."""

    tournament: int
    """The store's key."""
    number: int
    bot_version: int
    """The store's key."""
    absent: bool
    """Whether its bot was offline when the server last looked."""


def ladder_entries(connection: Connection) -> list[LadderEntry]:
    """Return the entries of all ladders that are not over, except withdrawn ones."""
    columns = (entries.c.tournament_id, entries.c.number, entries.c.bot_version_id, entries.c.absent)
    unfinished = tournaments.c.state.in_((TournamentState.OPEN, TournamentState.RUNNING, TournamentState.PAUSED))
    endless = tournaments.c.schedule.in_(_ENDLESS)
    statement = select(*columns).select_from(entries).join(tournaments, tournaments.c.id == entries.c.tournament_id)
    rows = connection.execute(statement.where(unfinished, endless, entries.c.withdrawn_at.is_(None)))
    return [LadderEntry(*row) for row in rows]


def note_absences(connection: Connection, tournament_id: int, absences: Mapping[int, bool]) -> None:
    """Store which entries of a ladder are absent, by number. A pairing that is made later follows from it."""
    this = update(entries).where(entries.c.tournament_id == tournament_id)
    for absent in (False, True):
        numbers = [number for number, is_absent in absences.items() if is_absent == absent]
        for batch in in_batches(numbers):
            connection.execute(this.where(entries.c.number.in_(batch)).values(absent=absent))


_ENDLESS = [each.number for each in FORMATS if each.endless]
