"""Slots that are stored as rows: slots of rounds that are paired by results, and of extensions."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, CursorResult, Row, and_, func, insert, select, update

from noughts_referee.rules import Result
from noughts_referee.work_units import ScheduledGame
from noughts_server.competition.schedule import Schedule
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import games, pairings, tournaments

_ROWS_AT_ONCE = 256
_POINTS = {Result.FIRST_WINS: 1.0, Result.DRAW: 0.5, Result.SECOND_WINS: 0.0, Result.VOID: 0.5}


class NewScheduledGame(NamedTuple):
    """A slot that is not stored yet. It gets the next ordinal."""

    first_entry: int
    second_entry: int
    game_pair: int
    """See `Schedule.game_pairs`."""
    round: int
    """From 1; 0: outside any round."""


class StoredSchedule:
    """A `Schedule` of a tournament with stored pairings; its first slots can follow from their ordinals."""

    def __init__(
        self, connection: Connection, tournament_id: int, entries: int, total: int, base: Schedule | None = None
    ) -> None:
        """`base` has the slots that follow from their ordinals; None if all slots are stored."""
        self.entries = entries
        self.total = total
        self._connection = connection
        self._tournament_id = tournament_id
        self._base = base
        self._base_total = base.total if base is not None else 0

    def slot(self, ordinal: int) -> ScheduledGame:
        if not 1 <= ordinal <= self.total:
            raise IndexError(f"slot {ordinal} of {self.total}")
        return next(self.slots([ordinal]))

    def slots(self, ordinals: Iterable[int]) -> Iterator[ScheduledGame]:
        numbers = list(ordinals)
        if self._base is not None:
            yield from self._base.slots(ordinal for ordinal in numbers if ordinal <= self._base_total)
        yield from (ScheduledGame(row.ordinal, row.first_entry, row.second_entry) for row in self._stored(numbers))

    def game_pairs(self, ordinals: Iterable[int]) -> Iterator[int]:
        numbers = list(ordinals)
        if self._base is not None:
            yield from self._base.game_pairs(ordinal for ordinal in numbers if ordinal <= self._base_total)
        yield from (row.encounter for row in self._stored(numbers))

    def slots_of(self, entry: int, before: int) -> Iterator[int]:
        sides = (pairings.c.first_entry, pairings.c.second_entry)
        yield from merge(*(self._descending(side == entry, before) for side in sides), reverse=True)
        if self._base is not None and entry < self._base.entries:
            yield from self._base.slots_of(entry, before)

    def slots_between(self, one: int, other: int, before: int) -> Iterator[int]:
        first, second = pairings.c.first_entry, pairings.c.second_entry
        pairs = (and_(first == one, second == other), and_(first == other, second == one))
        yield from merge(*(self._descending(pair, before) for pair in pairs), reverse=True)
        if self._base is not None and max(one, other) < self._base.entries:
            yield from self._base.slots_between(one, other, before)

    def _stored(self, ordinals: Iterable[int]) -> Iterator[Row[Any]]:
        """Yield the rows of the ordinals that `base` does not have."""
        of_tournament = select(pairings).where(pairings.c.tournament_id == self._tournament_id)
        for batch in in_batches(ordinal for ordinal in ordinals if ordinal > self._base_total):
            rows = self._connection.execute(of_tournament.where(pairings.c.ordinal.in_(batch)))
            stored = {row.ordinal: row for row in rows}
            yield from (stored[ordinal] for ordinal in batch)

    def _descending(self, condition: ColumnElement[bool], before: int) -> Iterator[int]:
        ordinal = pairings.c.ordinal
        ordinals = select(ordinal).where(pairings.c.tournament_id == self._tournament_id, condition)
        statement = ordinals.order_by(ordinal.desc()).limit(_ROWS_AT_ONCE)
        while batch := self._connection.scalars(statement.where(ordinal < before)).all():
            yield from batch
            before = batch[-1]


def slots_with_results(connection: Connection, tournament_id: int, from_round: int = 0) -> CursorResult[Any]:
    """Return the slots from this round on, in order, with the results of their games.

    `x` is the entry that began the game. `x`, `result` and `termination` are None without a stored game.
    """
    same = and_(games.c.tournament_id == pairings.c.tournament_id, games.c.ordinal == pairings.c.ordinal)
    statement = select(pairings, games.c.first_entry.label("x"), games.c.result, games.c.termination).select_from(
        pairings
    )
    from_rounds = (pairings.c.tournament_id == tournament_id, pairings.c.round >= from_round)
    ordered = statement.outerjoin(games, same).where(*from_rounds).order_by(pairings.c.ordinal)
    return connection.execute(ordered.execution_options(yield_per=1000))


def points_of_first(first: int, x: int, result: int) -> float:
    """Return the points of the entry `first`: 1 for a win, 1/2 for a draw. The entry `x` began the game.

    After an agreement on sides, `x` can be the second entry of the slot.
    """
    points = _POINTS[Result(result)]
    return points if x == first else 1 - points


def append_slots(connection: Connection, tournament_id: int, total: int, slots: Sequence[NewScheduledGame]) -> int:
    """Store slots after the first `total` slots, and return the new total."""
    rows = [
        {
            "tournament_id": tournament_id,
            "ordinal": ordinal,
            "first_entry": slot.first_entry,
            "second_entry": slot.second_entry,
            "encounter": slot.game_pair,
            "round": slot.round,
        }
        for ordinal, slot in enumerate(slots, total + 1)
    ]
    for batch in in_batches(rows):
        connection.execute(insert(pairings), list(batch))
    total += len(slots)
    if slots:
        connection.execute(update(tournaments).where(tournaments.c.id == tournament_id).values(games_total=total))
    return total


def next_game_pair(connection: Connection, tournament_id: int, base: Schedule | None) -> int:
    """Return the first unused number of a pair of games."""
    highest = select(func.max(pairings.c.encounter)).where(pairings.c.tournament_id == tournament_id)
    stored: int | None = connection.execute(highest).scalar()
    if stored is not None:
        return stored + 1
    return next(base.game_pairs([base.total])) + 1 if base is not None and base.total else 0
