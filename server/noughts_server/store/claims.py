"""Units of work: claiming one fences off whoever claimed it before."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from noughts_referee.work_units import GameSoFar, Slot
from noughts_server.competition.schedule import Schedule
from noughts_server.competition.units import unit_count, unit_ordinals
from noughts_server.errors import NotFound
from noughts_server.store import dialect
from noughts_server.store.journal import games_so_far
from noughts_server.store.pairings import StoredSchedule
from noughts_server.store.schema import games, units
from noughts_server.store.tournaments import (
    TournamentState,
    get_tournament_by_id,
    require_state,
    schedule_of,
)


class Claim(NamedTuple):
    """The right to play a unit's missing games, until somebody else claims it."""

    attempt: int
    slots: tuple[Slot, ...]
    """The slots that have no game yet, in order; empty when there is nothing left to do."""
    encounters: tuple[int, ...]
    """Of each of them, where the tournament has openings; else empty."""
    begun: Mapping[int, GameSoFar]
    """Those whose games were journaled, by ordinal."""


def unfinished_units(connection: Connection, tournament_id: int) -> range:
    """The numbers of the units that may have missing games, in the order in which they should be played.

    Some behind the first gap may turn out to be complete when claimed. Raises NotFound.
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    if not tournament.unit_games:
        return range(0)
    return range(
        tournament.folded // tournament.unit_games,
        unit_count(tournament.games_total, tournament.unit_games),
    )


def claim_unit(connection: Connection, tournament_id: int, number: int) -> Claim:
    """Claims a unit: results of its earlier attempts are dropped from now on. Writes.

    Raises NotFound, WrongState (the tournament is not running).
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    require_state(tournament, TournamentState.RUNNING)
    ordinals = unit_ordinals(number, tournament.games_total, tournament.unit_games)
    if not ordinals:
        raise NotFound(f"{tournament.name}/units/{number}")
    attempt = dialect.of(connection).next_attempt(connection, units, tournament_id=tournament_id, number=number)
    stored = set(
        connection.scalars(
            select(games.c.ordinal).where(
                games.c.tournament_id == tournament_id,
                games.c.ordinal.between(ordinals.start, ordinals.stop - 1),
            )
        )
    )
    schedule = schedule_of(connection, tournament)
    missing = [ordinal for ordinal in ordinals if ordinal not in stored]
    encounters = _encounters(schedule, missing) if tournament.settings.openings else ()
    begun: Mapping[int, GameSoFar] = {}
    if tournament.settings.journaled:
        begun = games_so_far(connection, tournament.id, ordinals.start, ordinals.stop - 1, attempt=attempt)
    return Claim(attempt, tuple(schedule.slots(missing)), encounters, begun)


def _encounters(schedule: Schedule, ordinals: list[int]) -> tuple[int, ...]:
    if isinstance(schedule, StoredSchedule):
        found = schedule.encounters(ordinals)
        return tuple(found[ordinal] for ordinal in ordinals)
    return tuple(map(schedule.encounter, ordinals))
