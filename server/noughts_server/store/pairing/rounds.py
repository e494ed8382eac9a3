"""Pairings that follow from results, stored in the same transaction as the games from which they follow.

Therefore a crash neither loses nor repeats pairings: the games and their pairings are stored together or not at all.
"""

from collections.abc import Iterator, Sequence
from itertools import count, groupby, islice
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from noughts_referee.rules import FAULTS, Result
from noughts_server.competition.formats import format_of
from noughts_server.competition.formats.tournament_format import InRounds
from noughts_server.competition.pairing_batch import Field, PairingBatch, PlayedPairing, UnfinishedPairing
from noughts_server.store.engine.schema import byes, entries, tournaments
from noughts_server.store.pairing import pairings
from noughts_server.store.pairing.ladders import append_to_ladder
from noughts_server.store.pairing.matches import stored_match
from noughts_server.store.pairing.pairings import NewScheduledGame
from noughts_server.store.tournament_options import read_settings


def append_batch(connection: Connection, tournament: Row[Any], games_done: int) -> int:
    """Store the pairings that follow from the stored games, and return the new number of slots.

    `games_done` is the number of games with those of this transaction.
    """
    kind = format_of(tournament.schedule)
    total = int(tournament.games_total)
    if games_done < total or not isinstance(kind, InRounds):
        return total
    while (batch := kind.next_wave(read_field(connection, tournament))) is not None:
        if batch.byes:
            rows = [{"tournament_id": tournament.id, "round": batch.round, "entry": entry} for entry in batch.byes]
            connection.execute(insert(byes), rows)
        if batch.pairings:
            return _append(connection, tournament, batch)
    return total


def pair_next(connection: Connection, tournament_id: int) -> None:
    """Store the pairings that follow without a new game: at the start, and after an extension."""
    tournament = tournament_row(connection, tournament_id)
    kind = format_of(tournament.schedule)
    if kind.endless:
        append_to_ladder(connection, tournament, (), None)
    elif kind.pairs_ahead:
        match = stored_match(connection, tournament)
        match.count_games(connection, tournament, {})
        match.store(connection, tournament.games_total)
    else:
        append_batch(connection, tournament, tournament.games_done)


def read_field(connection: Connection, tournament: Row[Any]) -> Field:
    """Return the data from which the pairings of a round follow."""
    of_tournament = entries.c.tournament_id == tournament.id
    rows = connection.execute(select(entries.c.number, entries.c.withdrawn_at).where(of_tournament)).all()
    statement = select(byes.c.round, byes.c.entry).where(byes.c.tournament_id == tournament.id)
    bye_rows = connection.execute(statement.order_by(byes.c.round))
    settings = read_settings(tournament)
    all_pairings = list(read_pairings(connection, tournament.id))
    return Field(
        entries=len(rows),
        withdrawn={row.number: row.withdrawn_at for row in rows if row.withdrawn_at is not None},
        played=tuple(pairing for pairing in all_pairings if isinstance(pairing, PlayedPairing)),
        unfinished=tuple(pairing for pairing in all_pairings if isinstance(pairing, UnfinishedPairing)),
        byes=tuple((row.round, row.entry) for row in bye_rows),
        rounds=settings.rounds,
        games=settings.games_per_pair,
        seed=settings.seed,
        stop_when_decided=settings.stop_when_decided,
    )


def tournament_row(connection: Connection, tournament_id: int) -> Row[Any]:
    """Return the row of a tournament, for the functions of this module."""
    return connection.execute(select(tournaments).where(tournaments.c.id == tournament_id)).one()


def read_pairings(
    connection: Connection, tournament_id: int, from_round: int = 0
) -> Iterator[PlayedPairing | UnfinishedPairing]:
    """Yield the pairings from this round on, in order of slots."""
    for (number, _, _), group in groupby(pairings.slots_with_results(connection, tournament_id, from_round), _pair_key):
        slots = list(group)
        stored = [slot for slot in slots if slot.result is not None]
        pairing = _pairing(number, slots[0], stored)
        if len(stored) == len(slots):
            yield pairing
        else:
            next_game = next(slot.ordinal for slot in slots if slot.result is None)
            yield UnfinishedPairing(so_far=pairing, games_left=len(slots) - len(stored), next_game=next_game)


def _pair_key(row: Row[Any]) -> tuple[int, int, int]:
    """Return the round and both entries of a slot, the smaller number first."""
    return row.round, min(row.first_entry, row.second_entry), max(row.first_entry, row.second_entry)


def _pairing(number: int, first_slot: Row[Any], slots: Sequence[Row[Any]]) -> PlayedPairing:
    one, other = first_slot.first_entry, first_slot.second_entry
    points = 0.0
    forfeits = {one: 0, other: 0}
    for slot in slots:
        points += pairings.points_of_first(one, slot.x, slot.result)
        if slot.termination in FAULTS:
            x, o = (one, other) if slot.x == one else (other, one)
            forfeits[o if slot.result == Result.FIRST_WINS else x] += 1
    return PlayedPairing(
        round=number,
        first=one,
        second=other,
        first_points=points,
        second_points=len(slots) - points,
        games=len(slots),
        first_forfeits=forfeits[one],
        second_forfeits=forfeits[other],
    )


def _append(connection: Connection, tournament: Row[Any], batch: PairingBatch) -> int:
    # A pairing of a round has one pair of games or several.
    numbers = count(pairings.next_game_pair(connection, tournament.id, None))
    slots = [
        NewScheduledGame(first_entry=first, second_entry=second, game_pair=number, round=batch.round)
        for one, other in batch.pairings
        for number in islice(numbers, batch.games // _PAIR)
        for first, second in ((one, other), (other, one))
    ]
    return pairings.append_slots(connection, tournament.id, tournament.games_total, slots)


_PAIR = 2
