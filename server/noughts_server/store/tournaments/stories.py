"""The stories of finished tournaments, from their stored games."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, select

from noughts_referee.rules import Result, Termination, parse_variant
from noughts_referee.work_units import bytes_of_a_move
from noughts_server.store.engine.schema import byes, games, pairings
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.standings import Standing
from noughts_server.tables.stories import Bye, PlayedGame, Story, story_of

MOST_GAMES_OF_STORY = 100_000
"""A story reads all games, without their moves. Tournaments with more games have none."""
_ROWS_AT_ONCE = 1_000


def read_story(connection: Connection, tournament: Tournament, table: Sequence[Standing]) -> Story | None:
    """Return the story of a finished tournament with these standings; None if it has none or too many games."""
    if not 0 < tournament.games_total <= MOST_GAMES_OF_STORY:
        return None
    move_bytes = bytes_of_a_move(parse_variant(tournament.settings.variant).cells)
    of_pairing = and_(pairings.c.tournament_id == games.c.tournament_id, pairings.c.ordinal == games.c.ordinal)
    statement = (
        select(
            games.c.ordinal,
            func.coalesce(pairings.c.round, 0).label("round"),
            games.c.first_entry,
            games.c.second_entry,
            games.c.result,
            games.c.termination,
            func.length(games.c.moves).label("bytes"),
        )
        .select_from(games.outerjoin(pairings, of_pairing))
        .where(games.c.tournament_id == tournament.id)
        .order_by(games.c.ordinal)
    )
    played = [
        PlayedGame(
            number=row.ordinal,
            round=row.round,
            first=row.first_entry,
            second=row.second_entry,
            result=Result(row.result),
            on_board=row.termination == Termination.LINE,
            moves=row.bytes // move_bytes,
        )
        for row in connection.execute(statement.execution_options(yield_per=_ROWS_AT_ONCE))
    ]
    if not played:
        return None
    is_bracket = tournament.settings.schedule.places_by_bracket
    had_byes = select(byes.c.round, byes.c.entry).where(byes.c.tournament_id == tournament.id)
    return story_of(
        played,
        # The seeds of a knockout are the numbers of its entries.
        {row.number: row.number + 1 if is_bracket else row.rank for row in table},
        [row.number for row in table if row.rank == 1],
        byes=[Bye(row.round, row.entry) for row in connection.execute(had_byes)],
        bye_points=tournament.settings.games_per_pair if tournament.settings.schedule.by_points else 0,
        is_bracket=is_bracket,
    )
