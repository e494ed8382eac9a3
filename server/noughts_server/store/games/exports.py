"""The games of a tournament for files. The last game carries the facts about the tournament that no game has."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from noughts_server.store.engine.schema import TournamentState, games
from noughts_server.store.games.games import ExportedGame, export
from noughts_server.store.games.standings import CrosstablePage, crosstable
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.about import About, time_text
from noughts_server.tables.pairings import matches_won


def export_file(
    connection: Connection, tournament: Tournament, *, after: int = 0, through: int | None = None
) -> Iterator[ExportedGame]:
    """Yield the stored games of the slots after `after` up to `through`. The last stored game has `tournament` set."""
    of_tournament = games.c.tournament_id == tournament.id
    number, last = connection.execute(select(func.count(), func.max(games.c.ordinal)).where(of_tournament)).one()
    for game in export(connection, tournament.id, after=after, through=through):
        if game.ordinal == last:
            facts = about_stored(tournament, crosstable(connection, tournament, top=1))
            is_finished = tournament.state is TournamentState.FINISHED
            game = replace(game, tournament=facts.file_facts(number, finished=is_finished))
        yield game


def about_stored(tournament: Tournament, table: CrosstablePage) -> About:
    """Return the facts about a tournament; `table` can be a part of the crosstable."""
    settings = tournament.settings
    matches = (*table.matches, *table.encounters)
    own_times = {label: str(time) for label, time in settings.own_times.items()}
    return About(
        schedule=str(settings.schedule),
        time=time_text(str(settings.time), own_times),
        began=_iso(tournament.started_at),
        ended=_iso(tournament.ended_at),
        byes={row.label: row.byes for row in table.standings if row.byes},
        bye_points={row.label: row.bye_points for row in table.standings},
        withdrawn={row.label: row.withdrawn_reason for row in table.standings if row.withdrawn_at is not None},
        matches_won=matches_won(matches) if settings.schedule.places_by_bracket else None,
        matches=matches,
    )


def _iso(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms // 1000, UTC).isoformat()
