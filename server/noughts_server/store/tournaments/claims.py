"""Claims of units of work. A claim invalidates all earlier claims of the unit."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, case, exists, func, select, update

from noughts_referee.work_units import GameSoFar, ScheduledGame
from noughts_server.competition.units import unit_count, unit_ordinals
from noughts_server.core.errors import NotFound
from noughts_server.store import nodes
from noughts_server.store.engine import dialect
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import TournamentState, games, units
from noughts_server.store.engine.schema import nodes as nodes_table
from noughts_server.store.journal import count_plies, games_so_far
from noughts_server.store.tournaments.stops import play_resumed, play_stopped
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    get_tournament_by_id,
    require_state,
    running_tournaments,
    schedule_of,
)

MOST_LOST = 5
"""If more referees than this are lost with a unit in a row, without a new game or ply, the unit could be the cause."""
# The delay between two claims of such a unit. It doubles with each further loss.
FIRST_DELAY_MS = 60_000
LONGEST_DELAY_MS = 3_600_000
_MOST_KEPT = MOST_LOST + 8
"""Names of lost nodes that a unit keeps. With more, the delay would not grow."""

_UNITS_A_QUERY = 32
"""Rows of units that a claim reads at once. Nearly every claim needs only the first ones."""


class Claim(NamedTuple):
    """The right to play a unit's missing games until the next claim."""

    number: int
    """The unit's number."""
    attempt: int
    slots: tuple[ScheduledGame, ...]
    """The slots without a game, in order; empty if the unit is complete."""
    game_pairs: tuple[int, ...]
    """The number of each slot's pair of games if the tournament has openings; else empty."""
    begun: Mapping[int, GameSoFar]
    """Journaled games of these slots, by ordinal."""


def unfinished_units(connection: Connection, tournament_id: int) -> range:
    """Return the numbers of the units that can have missing games, in the order in which to play them.

    A unit behind the first gap can be complete, which its claim shows. Raises NotFound.
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
    upsert(connection, units, [(tournament_id, number, 1, None, 0, None, 0, 0, 0)], add=("attempt",))
    own_attempt = select(units.c.attempt).where(units.c.tournament_id == tournament_id, units.c.number == number)
    attempt: int = connection.execute(own_attempt).scalar_one()
    of_unit = games.c.ordinal.between(ordinals.start, ordinals.stop - 1)
    statement = select(games.c.ordinal).where(games.c.tournament_id == tournament_id, of_unit)
    stored = set(connection.scalars(statement))
    schedule = schedule_of(connection, tournament)
    # A local run can leave out its first games, which are not stored (`local_runs.omit_first_games`).
    missing = [ordinal for ordinal in ordinals if ordinal > tournament.folded and ordinal not in stored]
    game_pairs = tuple(schedule.game_pairs(missing)) if tournament.settings.openings else ()
    begun: Mapping[int, GameSoFar] = {}
    if tournament.settings.has_journal:
        begun = games_so_far(connection, tournament.id, ordinals.start, ordinals.stop - 1, attempt=attempt)
    return Claim(number, attempt, tuple(schedule.slots(missing)), game_pairs, begun)


def claim_next(
    connection: Connection,
    tournament_id: int,
    holder: str,
    *,
    holding: Collection[int],
    played: Collection[int],
    most: int = 1,
) -> list[Claim]:
    """Claim up to `most` units that have missing games and no live holder, the first ones first.

    The holder keeps them until it returns them or is considered dead. `holding` are the units that it plays now.
    `played` are units whose games it has stored completely; this call releases them. Writes.

    Return an empty list if the tournament is not running, or if all remaining units wait because too many referees were
    lost with them. The reason is then stored with the tournament. Raises NotFound.
    """
    tournament = get_tournament_by_id(connection, tournament_id)
    if not tournament.unit_games:
        return []
    for number in played:
        _release_complete(connection, tournament, number)
    if tournament.state is not TournamentState.RUNNING:
        return []
    now = dialect.of(connection).now_ms(connection)
    claims: list[Claim] = []
    waiting: list[_Waiting] = []
    is_played = False
    for number, row in _free_units(connection, tournament, holder, holding, now):
        if row is not None and row.holder not in (None, holder) and not nodes.lock_dead(connection, {row.holder}):
            is_played = True  # the holder's heartbeat is on its way
            continue
        history = _history(connection, tournament, number, row, holder)
        if history.next_claim_at > now:
            waiting.append(_Waiting(history.next_claim_at, number, len(history.lost)))
            continue
        claim = _claim(connection, tournament, number)
        if not claim.slots:
            _release_complete(connection, tournament, number)
            continue
        key = (units.c.tournament_id == tournament_id) & (units.c.number == number)
        values = {"lost": history.lost[-_MOST_KEPT:] or None, "games": history.games, "plies": history.plies}
        connection.execute(update(units).where(key).values(holder=holder, claimed_at=now, **values))
        claims.append(claim)
        if len(claims) == most:
            break
    if claims and tournament.reason and tournament.retry_at is None:
        play_resumed(connection, tournament_id, now_ms=now)
    if waiting and not claims and not is_played and not _has_players(connection, tournament, holder, holding, now):
        retry_at, number, lost = min(waiting)
        ordinals = unit_ordinals(number, tournament.games_total, tournament.unit_games)
        reason = _REASON.format(lost, ordinals.start, ordinals.stop - 1)
        play_stopped(connection, tournament_id, reason, now_ms=now, retry_at=retry_at)
    return claims


def has_free_units(connection: Connection, tournament_id: int, holder: str, *, holding: Collection[int]) -> bool:
    """Return whether `claim_next` would find units that this holder can claim, or that wait. Raises NotFound."""
    tournament = get_tournament_by_id(connection, tournament_id)
    if not tournament.unit_games or tournament.state is not TournamentState.RUNNING:
        return False
    now = dialect.of(connection).now_ms(connection)
    return next(_free_units(connection, tournament, holder, holding, now), None) is not None


def open_units(connection: Connection) -> int:
    """Return the number of units of running tournaments that are not played completely, with a holder or without."""
    number = 0
    for tournament in running_tournaments(connection):
        if tournament.unit_games:
            open_rows = select(func.count()).where(*_incomplete(tournament))
            number += int(connection.execute(open_rows).scalar_one()) + len(_unclaimed(connection, tournament))
    return number


def _free_units(
    connection: Connection, tournament: Tournament, holder: str, holding: Collection[int], now: int
) -> Iterator[tuple[int, Row[Any] | None]]:
    """Yield the numbers of the units without a live holder, in order, each with its row (None: never claimed).

    Units that the holder holds, but does not play now, are free for it. The number of rows that this reads depends on
    the number of units that are played at the same time, not on the size of the tournament.
    """
    after = -1
    while True:
        free = select(units).where(*_incomplete(tournament), ~_is_held(holder, holding, now), units.c.number > after)
        rows = connection.execute(free.order_by(units.c.number).limit(_UNITS_A_QUERY)).all()
        for row in rows:
            yield row.number, row
        if len(rows) < _UNITS_A_QUERY:
            break
        after = rows[-1].number
    for number in _unclaimed(connection, tournament):
        yield number, None


def _has_players(
    connection: Connection, tournament: Tournament, holder: str, holding: Collection[int], now: int
) -> bool:
    held = select(units.c.number).where(*_incomplete(tournament), _is_held(holder, holding, now))
    return connection.execute(held.limit(1)).first() is not None


def _incomplete(tournament: Tournament) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for rows of units that are not played completely, as `ix_units_open` can find them."""
    last = unit_count(tournament.games_total, tournament.unit_games) - 1
    games_of_last = len(unit_ordinals(last, tournament.games_total, tournament.unit_games))
    return (
        units.c.tournament_id == tournament.id,
        units.c.played < tournament.unit_games,
        units.c.number.between(tournament.folded // tournament.unit_games, last),
        (units.c.number != last) | (units.c.played < games_of_last),
    )


def _is_held(holder: str, holding: Collection[int], now: int) -> ColumnElement[bool]:
    """Return the condition for units of another live node, and for those that `holder` plays now."""
    alive = exists().where(nodes_table.c.name == units.c.holder, nodes.is_alive(now))
    return case((units.c.holder == holder, units.c.number.in_(list(holding))), else_=alive)


def _unclaimed(connection: Connection, tournament: Tournament) -> range:
    """Return the units that were never claimed. Units are claimed in order, so they follow the last one with a row."""
    of_tournament = units.c.tournament_id == tournament.id
    newest = connection.execute(select(func.max(units.c.number)).where(of_tournament)).scalar_one()
    first = tournament.folded // tournament.unit_games
    begin = first if newest is None else max(first, newest + 1)
    return range(begin, unit_count(tournament.games_total, tournament.unit_games))


class _Waiting(NamedTuple):
    """A unit that cannot be claimed before `retry_at`, because too many nodes were lost with it."""

    retry_at: int
    number: int
    lost: int
    """The number of lost nodes."""


class _History(NamedTuple):
    """The progress of a unit, and the nodes that were lost with it since then."""

    games: int
    """The number of its stored games."""
    plies: int
    """A measure of the journaled plies of its other games; see `count_plies`."""
    lost: list[str]
    """The lost nodes that did not return, the latest last."""
    claimed_at: int

    @property
    def next_claim_at(self) -> int:
        """Return when the unit can be claimed again."""
        further_losses = len(self.lost) - MOST_LOST - 1
        if further_losses < 0:
            return self.claimed_at
        doubled_delay_ms: int = FIRST_DELAY_MS * 2**further_losses
        return self.claimed_at + min(doubled_delay_ms, LONGEST_DELAY_MS)


def _history(
    connection: Connection, tournament: Tournament, number: int, row: Row[Any] | None, holder: str
) -> _History:
    """Return a unit's history; `row` is None if it was never claimed, `holder` is the node that would claim it."""
    if row is None:
        return _History(0, 0, [], 0)
    ordinals = unit_ordinals(number, tournament.games_total, tournament.unit_games)
    first, last = ordinals.start, ordinals.stop - 1
    of_unit = (games.c.tournament_id == tournament.id, games.c.ordinal.between(first, last))
    stored: int = connection.execute(select(func.count()).select_from(games).where(*of_unit)).scalar_one()
    plies = count_plies(connection, tournament.id, first, last) if tournament.settings.has_journal else 0
    # When a game is stored, its plies leave the journal, so games count before plies.
    if (stored, plies) > (row.games, row.plies):
        return _History(stored, plies, [], row.claimed_at)
    lost = [name for name in row.lost or () if name not in (holder, row.holder)]
    if row.holder not in (None, holder):
        lost.append(row.holder)
    return _History(stored, plies, lost, row.claimed_at)


_REASON = "{} referees in a row were lost with games {} to {}, without a new game or move. Fix: check their logs."


def hand_over(
    connection: Connection, tournament_id: int, holder: str, *, running: Collection[int] = ()
) -> frozenset[int]:
    """Release the holder's units, so that others can claim them. Return the numbers of those that it keeps. Writes.

    It keeps the units of its `running` games, which are given by their ordinals.
    """
    kept_units: frozenset[int] = frozenset()
    if running:
        unit_games = get_tournament_by_id(connection, tournament_id).unit_games
        kept_units = frozenset((ordinal - 1) // unit_games for ordinal in running)
    claimed = (units.c.tournament_id == tournament_id) & (units.c.holder == holder)
    connection.execute(update(units).where(claimed, units.c.number.not_in(kept_units)).values(holder=None))
    return kept_units


def give_up(
    connection: Connection, tournament_id: int, holder: str, reason: str, *, now_ms: int, retry_at: int
) -> bool:
    """Release the holder's units. Unless a live node plays the tournament, store why the holder does not. Writes.

    Return whether the reason is new.
    """
    if holder:
        hand_over(connection, tournament_id, holder)
    claimed = (units.c.tournament_id == tournament_id, units.c.holder.is_not(None))
    holders = set(connection.scalars(select(units.c.holder).where(*claimed)))
    if holders.intersection(node.name for node in nodes.alive(connection)):
        return False
    return play_stopped(connection, tournament_id, reason, now_ms=now_ms, retry_at=retry_at)


def _release_complete(connection: Connection, tournament: Tournament, number: int) -> None:
    size = len(unit_ordinals(number, tournament.games_total, tournament.unit_games))
    key = (units.c.tournament_id == tournament.id) & (units.c.number == number)
    connection.execute(update(units).where(key).values(holder=None, played=size, lost=None))
