"""Units of work: a claim invalidates all earlier claims of the unit."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select, update

from noughts_referee.work_units import GameSoFar, Slot
from noughts_server.competition.units import unit_count, unit_ordinals
from noughts_server.errors import NotFound, WrongState
from noughts_server.store import nodes
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import TournamentState, games, units
from noughts_server.store.journal import games_so_far
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id, require_state, schedule_of

MOST_DEATHS = 5
"""After this many lost referees no other tries the unit, because it could be the cause."""


class Claim(NamedTuple):
    """The right to play a unit's missing games until the next claim."""

    number: int
    """The unit's."""
    attempt: int
    slots: tuple[Slot, ...]
    """The slots without a game, in order; empty if the unit is complete."""
    encounters: tuple[int, ...]
    """The encounter of each slot if the tournament has openings; else empty."""
    begun: Mapping[int, GameSoFar]
    """Journaled games of these slots, by ordinal."""


def unfinished_units(connection: Connection, tournament_id: int) -> range:
    """Return the numbers of the units that can have missing games, in the order in which to play them.

    Some behind the first gap can turn out to be complete when claimed. Raises NotFound.
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    if not tournament.unit_games:
        return range(0)
    return range(tournament.folded // tournament.unit_games, unit_count(tournament.games_total, tournament.unit_games))


def claim_unit(connection: Connection, tournament_id: int, number: int) -> Claim:
    """Claim a unit; results of its earlier attempts are dropped from now on. Writes.

    A finished tournament has no slots left. Raises NotFound, WrongState (the tournament is not running).
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    require_state(tournament, TournamentState.RUNNING, TournamentState.FINISHED)
    if tournament.state is TournamentState.FINISHED:
        return Claim(number, 0, (), (), {})
    return _claim(connection, tournament, number)


def _claim(connection: Connection, tournament: Tournament, number: int) -> Claim:
    tournament_id = tournament.id
    ordinals = unit_ordinals(number, tournament.games_total, tournament.unit_games)
    if not ordinals:
        raise NotFound(f"{tournament.name}/units/{number}")
    upsert(connection, units, [(tournament_id, number, 1, None, 0, 0)], add=("attempt",))
    this = select(units.c.attempt).where(units.c.tournament_id == tournament_id, units.c.number == number)
    attempt: int = connection.execute(this).scalar_one()
    of_unit = games.c.ordinal.between(ordinals.start, ordinals.stop - 1)
    chosen = select(games.c.ordinal).where(games.c.tournament_id == tournament_id, of_unit)
    stored = set(connection.scalars(chosen))
    schedule = schedule_of(connection, tournament)
    missing = [ordinal for ordinal in ordinals if ordinal not in stored]
    encounters = tuple(schedule.encounters(missing)) if tournament.settings.openings else ()
    begun: Mapping[int, GameSoFar] = {}
    if tournament.settings.journaled:
        begun = games_so_far(connection, tournament.id, ordinals.start, ordinals.stop - 1, attempt=attempt)
    return Claim(number, attempt, tuple(schedule.slots(missing)), encounters, begun)


def claim_next(
    connection: Connection,
    tournament_id: int,
    holder: str,
    *,
    holding: Collection[int],
    played: Collection[int],
    most: int = 1,
) -> list[Claim]:
    """Claim the first units, up to `most`, that have missing games and no live holder.

    The holder has them until it returns them or is considered dead.

    `holding` are the units that the holder plays; `played` are those whose games it has all stored, which are returned.
    Writes. Returns nothing if the tournament is not running. Raises NotFound, WrongState (too many referees lost).
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    if not tournament.unit_games:
        return []
    for number in played:
        _give_back(connection, tournament, number)
    if tournament.state is not TournamentState.RUNNING:
        return []
    first = tournament.folded // tournament.unit_games
    count = unit_count(tournament.games_total, tournament.unit_games)
    rest = select(units).where(units.c.tournament_id == tournament_id, units.c.number >= first)
    known: dict[int, Row[Any]] = {row.number: row for row in connection.execute(rest)}
    alive = {node.name for node in nodes.alive(connection)} - {holder}
    claims: list[Claim] = []
    for number in range(first, count):
        row = known.get(number)
        deaths = 0
        if row is not None:
            size = len(unit_ordinals(number, tournament.games_total, tournament.unit_games))
            if row.played >= size or row.holder in alive or (row.holder == holder and number in holding):
                continue
            deaths = row.deaths + (row.holder not in (None, holder))
        if deaths > MOST_DEATHS:
            got = f"with unit {number}, whose games have ended {deaths} referees"
            raise WrongState(tournament.name, got=got, expected="a unit that can be played", hint=_AFTER_DEATHS)
        claim = _claim(connection, tournament, number)
        if not claim.slots:
            _give_back(connection, tournament, number)
            continue
        key = (units.c.tournament_id == tournament_id) & (units.c.number == number)
        connection.execute(update(units).where(key).values(holder=holder, deaths=deaths))
        claims.append(claim)
        if len(claims) == most:
            break
    return claims


def hand_over(connection: Connection, tournament_id: int, holder: str) -> None:
    """Release the holder's units, so that others can claim them. Writes."""
    held = (units.c.tournament_id == tournament_id) & (units.c.holder == holder)
    connection.execute(update(units).where(held).values(holder=None))


_AFTER_DEATHS = "Check the referees' logs. To retry the unit, pause the tournament and start it again."


def _give_back(connection: Connection, tournament: Tournament, number: int) -> None:
    size = len(unit_ordinals(number, tournament.games_total, tournament.unit_games))
    key = (units.c.tournament_id == tournament.id) & (units.c.number == number)
    connection.execute(update(units).where(key).values(holder=None, played=size, deaths=0))
