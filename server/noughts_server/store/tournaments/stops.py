"""Stops: the stored reason why a running tournament is not played, until play resumes."""

from typing import NamedTuple

from sqlalchemy import Connection, exists, func, select, update

from noughts_server.core.resource_names import tournament_name
from noughts_server.store.engine.schema import TournamentState, entries, tournaments, units
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.tournaments.reasons import shortened_reason


class Stop(NamedTuple):
    """Why a running tournament is not played."""

    name: str
    """`tournaments/ID`."""
    reason: str
    """The reason; empty if the tournament is played."""
    retry_at: int | None
    """When the next attempt is due; None: as soon as the reason is over."""


def stopped_tournaments(connection: Connection) -> list[Stop]:
    """Return the running tournaments in which play has stopped, oldest first."""
    stopped = (tournaments.c.state == TournamentState.RUNNING, tournaments.c.reason.is_not(None))
    rows = connection.execute(select(tournaments).where(*stopped).order_by(tournaments.c.id))
    return [Stop(tournament_name(row.slug), row.reason, row.retry_at) for row in rows]


class PlayingBot(NamedTuple):
    version: int
    """The store's key of the bot version."""
    label: str


class Unplayed(NamedTuple):
    """A running tournament that no referee plays, without a planned next attempt."""

    key: int
    slug: str
    reason: str
    """The stored reason; empty without one."""
    bots: tuple[PlayingBot, ...]
    """Its entries that have not withdrawn."""


def unplayed_tournaments(connection: Connection) -> list[Unplayed]:
    """Return the running tournaments that no referee plays and that have no planned next attempt, oldest first."""
    first = tournaments.c.folded // func.nullif(tournaments.c.unit_games, 0)
    of_tournament = (units.c.tournament_id == tournaments.c.id, units.c.number >= first)
    is_claimed = exists().where(*of_tournament, units.c.holder.is_not(None))
    running = (tournaments.c.state == TournamentState.RUNNING, tournaments.c.retry_at.is_(None), ~is_claimed)
    columns = select(tournaments.c.id, tournaments.c.slug, tournaments.c.reason).where(*running)
    return [
        Unplayed(row.id, row.slug, row.reason or "", tuple(_bots(connection, row.id)))
        for row in connection.execute(columns.order_by(tournaments.c.id)).all()
    ]


def _bots(connection: Connection, tournament_id: int) -> list[PlayingBot]:
    plays = (entries.c.tournament_id == tournament_id, entries.c.withdrawn_at.is_(None))
    rows = connection.execute(select(entries).where(*plays).order_by(entries.c.number))
    return [PlayingBot(row.bot_version_id, row.label) for row in rows]


def play_stopped(
    connection: Connection, tournament_id: int, reason: str, *, now_ms: int, retry_at: int | None = None
) -> bool:
    """Store why play has stopped. Return whether the reason is new. Writes.

    With `retry_at`, the next attempt is due at this time, and the reason stays until there is a new game or ply.
    Without it, the reason ends as soon as a referee claims games. A tournament that is not running has no stops.
    """
    reason = shortened_reason(reason)
    stop = _stop(connection, tournament_id)
    if stop is None or (stop.reason, stop.retry_at) == (reason, retry_at):
        return False
    connection.execute(
        update(tournaments).where(tournaments.c.id == tournament_id).values(reason=reason, retry_at=retry_at)
    )
    if stop.reason == reason:
        return False
    report_event(connection, "tournament.stopped", tournament_id, now_ms, reason=reason)
    return True


def play_resumed(connection: Connection, tournament_id: int, *, now_ms: int) -> bool:
    """Delete the reason why play had stopped; return whether there was one. Writes."""
    stop = _stop(connection, tournament_id)
    if stop is None or not stop.reason:
        return False
    connection.execute(update(tournaments).where(tournaments.c.id == tournament_id).values(reason=None, retry_at=None))
    report_event(connection, "tournament.resumed", tournament_id, now_ms)
    return True


def _stop(connection: Connection, tournament_id: int) -> Stop | None:
    """Return the stop of a running tournament, with an empty reason if it is played; None if it is not running."""
    running = (tournaments.c.id == tournament_id, tournaments.c.state == TournamentState.RUNNING)
    row = connection.execute(select(tournaments).where(*running)).one_or_none()
    return None if row is None else Stop(tournament_name(row.slug), row.reason or "", row.retry_at)
