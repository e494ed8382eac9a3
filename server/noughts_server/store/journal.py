"""The journal: games of long time controls, kept move by move while they are played.

After a crash they go on from their last move. A row is a whole game so far, so that writing one again, or an older one
never, does no harm. Which games are journaled says `TimeControl.long`.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, delete, exists, select

from noughts_referee.work_units import GameSoFar
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import games, journal

_KEPT = ("first_entry", "second_entry", "moves", "times", "first_clock_us", "second_clock_us", "opening_plies")
# Built once: that takes longer than to execute it, and a commit may need it.
_PLAYED = delete(journal).where(
    journal.c.tournament_id == bindparam("tournament"),
    exists().where(games.c.tournament_id == journal.c.tournament_id, games.c.ordinal == journal.c.ordinal),
)


def keep_so_far(connection: Connection, running: Iterable[GameSoFar]) -> None:
    """Keeps how far these games are; of no slot two. The caller has seen to their attempts."""
    rows = [(game.tournament, game.ordinal, *game[3:]) for game in running]
    upsert(connection, journal, rows, replace=_KEPT)


def forget_played(connection: Connection, tournament_id: int) -> None:
    """Some slots of this tournament have got their games."""
    connection.execute(_PLAYED, {"tournament": tournament_id})


def forget_all(connection: Connection, tournament_id: int) -> None:
    """Nothing of this tournament is gone on with."""
    connection.execute(delete(journal).where(journal.c.tournament_id == tournament_id))


def games_so_far(
    connection: Connection, tournament_id: int, first: int, last: int, *, attempt: int = 0
) -> dict[int, GameSoFar]:
    """The journaled games of these slots, by ordinal; whoever goes on with them does so under `attempt`."""
    slots = journal.c.ordinal.between(first, last)
    rows = connection.execute(select(journal).where(journal.c.tournament_id == tournament_id, slots))
    return {row.ordinal: GameSoFar(row.tournament_id, row.ordinal, attempt, *row[2:]) for row in rows}
