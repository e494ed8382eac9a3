"""Scheduled starts of tournaments."""

from sqlalchemy import Connection, func, select

from noughts_server.core.errors import WrongState
from noughts_server.store.engine.schema import TournamentState, entries, tournaments
from noughts_server.store.tournaments.leagues import before_start
from noughts_server.store.tournaments.tournaments import Tournament, cancel_tournament, get_tournament, start_tournament


def next_start(connection: Connection) -> int | None:
    """Return the next scheduled start, in milliseconds since 1970 in UTC, even if past; None if there is none."""
    start_at: int | None = connection.execute(
        select(func.min(tournaments.c.start_at)).where(tournaments.c.state == TournamentState.OPEN)
    ).scalar()
    return start_at


def due_tournaments(connection: Connection, *, now_ms: int) -> list[str]:
    """Return the IDs of tournaments that should have started by now, in the order of their start times."""
    due = (tournaments.c.state == TournamentState.OPEN, tournaments.c.start_at <= now_ms)
    statement = select(tournaments.c.slug).where(*due).order_by(tournaments.c.start_at, tournaments.c.id)
    return list(connection.scalars(statement))


def start_or_cancel(connection: Connection, slug: str, *, now_ms: int) -> Tournament:
    """Start a due tournament, or cancel it if it cannot start, e.g. with too few entries. Writes. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    if tournament.state is not TournamentState.OPEN:
        return tournament
    if not before_start(connection, tournament):
        return get_tournament(connection, slug)
    of_tournament = entries.c.tournament_id == tournament.id
    got = connection.execute(select(func.count()).select_from(entries).where(of_tournament)).scalar_one()
    expected = tournament.joining.entries_min
    if got < expected:
        reason = f"too few entries: got {got}, expected at least {expected}"
        return cancel_tournament(connection, slug, now_ms=now_ms, reason=reason)
    try:
        return start_tournament(connection, slug, now_ms=now_ms)
    except WrongState as error:
        # No client would see the error of an automatic start, e.g. more rounds than the entries can play.
        return cancel_tournament(connection, slug, now_ms=now_ms, reason=f"could not start: {error}")
