"""The journal: unfinished games with long time controls, stored after each move.

After a crash they resume from the last stored move. A row has the whole game so far, so it can be written again.
`TimeControl.long` decides which games are journaled.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, delete, exists, func, select

from noughts_referee.work_units import GameSoFar
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import games, journal

_STATE_COLUMNS = tuple(column.name for column in journal.columns if not column.primary_key)
# Built once, because building takes longer than executing and a commit can need it.
_PLAYED = delete(journal).where(
    journal.c.tournament_id == bindparam("tournament"),
    journal.c.ordinal.between(bindparam("first"), bindparam("last")),
    exists().where(games.c.tournament_id == journal.c.tournament_id, games.c.ordinal == journal.c.ordinal),
)


def journal_games(connection: Connection, running: Iterable[GameSoFar]) -> None:
    """Store the state of these games, at most one for each slot. The caller has checked their attempts."""
    rows = [
        (
            game.tournament,
            game.ordinal,
            game.first,
            game.second,
            game.moves,
            game.times,
            game.first_clock_us,
            game.second_clock_us,
            game.opening_plies,
            game.scores,
            game.comments,
            game.thoughts,
            game.time_factor,
        )
        for game in running
    ]
    upsert(connection, journal, rows, replace=_STATE_COLUMNS)


def forget_played(connection: Connection, tournament_id: int, first: int, last: int) -> None:
    """Delete the rows of these slots of a tournament if they now have a game."""
    connection.execute(_PLAYED, {"tournament": tournament_id, "first": first, "last": last})


def forget_all(connection: Connection, tournament_id: int) -> None:
    """Delete all rows of this tournament."""
    connection.execute(delete(journal).where(journal.c.tournament_id == tournament_id))


def games_so_far(
    connection: Connection, tournament_id: int, first: int, last: int, *, attempt: int = 0
) -> dict[int, GameSoFar]:
    """Return the journaled games of these slots by ordinal, to be resumed under `attempt`."""
    slots = journal.c.ordinal.between(first, last)
    rows = connection.execute(select(journal).where(journal.c.tournament_id == tournament_id, slots))
    return {
        row.ordinal: GameSoFar(
            tournament=row.tournament_id,
            ordinal=row.ordinal,
            attempt=attempt,
            first=row.first_entry,
            second=row.second_entry,
            moves=row.moves,
            times=row.times,
            first_clock_us=row.first_clock_us,
            second_clock_us=row.second_clock_us,
            opening_plies=row.opening_plies,
            scores=row.scores,
            comments=row.comments,
            thoughts=row.thoughts,
            time_factor=row.time_factor,
        )
        for row in rows
    }


def count_plies(connection: Connection, tournament_id: int, first: int, last: int) -> int:
    """Return a measure of the journaled plies of these slots, which grows with every ply: the bytes of their times."""
    slots = journal.c.ordinal.between(first, last)
    total = select(func.coalesce(func.sum(func.length(journal.c.times)), 0))
    return int(connection.execute(total.where(journal.c.tournament_id == tournament_id, slots)).scalar_one())
