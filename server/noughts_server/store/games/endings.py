"""The end of tournaments whose games are all stored."""

from collections.abc import Mapping
from functools import partial

from sqlalchemy import Connection

from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.standings import standings
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    change_tournament,
    get_tournament_by_id,
    start_tournament,
)
from noughts_server.tables.standings import first_places


def report_end(connection: Connection, tournament_id: int, now_ms: int) -> None:
    """Report to webhooks that all games of a tournament are stored, with the winners."""
    winners = partial(_winners, connection, tournament_id)
    report_event(connection, "tournament.finished", tournament_id, now_ms, costly=winners)


def _winners(connection: Connection, tournament_id: int) -> Mapping[str, object]:
    tournament = get_tournament_by_id(connection, tournament_id)
    return {"winners": first_places(standings(connection, tournament)) if tournament.games_done else []}


def start_or_finish(connection: Connection, slug: str, *, now_ms: int, owner_id: int | None = None) -> Tournament:
    """Start a tournament, resume it, or finish it if no game is left. Raises the errors of `start_tournament`."""
    tournament = start_tournament(connection, slug, now_ms=now_ms, owner_id=owner_id)
    if tournament.settings.schedule.endless or tournament.games_done < tournament.games_total:
        return tournament
    finished = change_tournament(
        connection,
        tournament,
        state=TournamentState.FINISHED,
        ended_at=now_ms,
        retry_at=None,
    )
    report_end(connection, tournament.id, now_ms)
    return finished
