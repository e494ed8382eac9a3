"""Notes on games: details of a side that failed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, bindparam, case, select, update

from noughts_referee.game import LostGame
from noughts_referee.rules import DISCONNECTIONS, Outcome, Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import Kind, bots, entries, entries_with_bots, game_notes, games
from noughts_server.store.tournaments.tournaments import get_tournament

LONGEST_NOTE = 64 * 1024
"""Characters; a longer text keeps its beginning, which has the reason, and its end."""
_KEPT_BEGINNING = 1_000
"""Characters at the beginning of a long note that are kept."""
_CUT = "\n[...]\n"


class GameNote(NamedTuple):
    """A note about one side of a game, in addition to its moves."""

    tournament: int
    """The store's key."""
    ordinal: int
    side: int
    """0: the first mover, 1: the second."""
    text: str


def notes_of_process(games: Sequence[LostGame], reason: str, text: str) -> list[GameNote]:
    """Return the notes on games that were lost together by the end of a process.

    What the process wrote is the same for all games, so only the first note has the whole text.
    """
    return [
        GameNote(
            game.tournament,
            game.ordinal,
            game.side,
            text if number == 0 else f"it {reason}; more with game {games[0].ordinal}",
        )
        for number, game in enumerate(games)
    ]


def output_until(stderr: str, fault: str) -> str:
    """Return the output up to the last line with the fault, else all of it. Later lines concern other games."""
    reason = fault.removeprefix("resigned: ")
    at = stderr.rfind(reason) if reason else -1
    end = stderr.find("\n", at)
    return stderr if at < 0 or end < 0 else stderr[: end + 1]


def losing_versions(connection: Connection, games: Sequence[FinishedGame]) -> list[int | None]:
    """Return the key of the bot version that lost each of these games; None if it is not known."""
    losers = [(game.tournament, game.second if game.outcome.loser else game.first) for game in games]
    column = entries.c
    versions: dict[tuple[int, int], int] = {}
    for tournament in {tournament for tournament, _ in losers}:
        numbers = {number for key, number in losers if key == tournament}
        of_losers = column.tournament_id == tournament, column.number.in_(numbers)
        for row in connection.execute(select(column.number, column.bot_version_id).where(*of_losers)):
            versions[tournament, row.number] = row.bot_version_id
    return [versions.get(loser) for loser in losers]


def has_crashed(connection: Connection, note: GameNote) -> bool:
    """Return whether the game of the note is stored as lost by the end of this side's process."""
    column = games.c
    of_game = column.tournament_id == note.tournament, column.ordinal == note.ordinal
    row = connection.execute(select(column.termination, column.result).where(*of_game)).first()
    if row is None:
        return False
    outcome = Outcome(Result(row.result), Termination(row.termination))
    return outcome.termination in DISCONNECTIONS and outcome.loser == note.side


def add_notes(connection: Connection, notes: Iterable[GameNote]) -> None:
    """Store notes. They replace earlier notes on the same side of a game."""
    last_notes = {(note.tournament, note.ordinal, note.side): note for note in notes}
    rows = [(note.tournament, note.ordinal, note.side, _shortened(note.text)) for note in last_notes.values()]
    upsert(connection, game_notes, rows, replace=("text",))


def add_faults(connection: Connection, tournament: int, faults: Mapping[int, str]) -> None:
    """Set the reasons of losses, by ordinal, for games that were stored before the reason was known."""
    column = games.c
    of_game = (column.tournament_id == bindparam("tournament"), column.ordinal == bindparam("number"))
    rows = [{"tournament": tournament, "number": number, "why": _shortened(why)} for number, why in faults.items()]
    if rows:
        connection.execute(update(games).where(*of_game).values(fault=bindparam("why")), rows)


def notes_of(connection: Connection, slug: str, ordinal: int, *, owner_id: int | None = None) -> dict[int, str]:
    """Return the notes on a game by side; with `owner_id`, only what this owner can see. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    column = game_notes.c
    of_game = (column.tournament_id == tournament.id, column.ordinal == ordinal)
    statement = select(column.side, column.text).where(*of_game).order_by(column.side)
    # The creator of a challenge or a test can be the bot's opponent.
    is_organiser = owner_id == tournament.owner_id and tournament.kind is Kind.ORGANISED
    if owner_id is not None and not is_organiser:
        entry = case((column.side == 0, games.c.first_entry), else_=games.c.second_entry)
        same = and_(games.c.tournament_id == column.tournament_id, games.c.ordinal == column.ordinal)
        statement = (
            statement.join(games, same)
            .join(entries_with_bots, and_(entries.c.tournament_id == column.tournament_id, entries.c.number == entry))
            .where(bots.c.owner_id == owner_id)
        )
    return {row.side: row.text for row in connection.execute(statement)}


def _shortened(text: str) -> str:
    # PostgreSQL accepts no NUL in a text.
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(text) <= LONGEST_NOTE:
        return text
    return text[:_KEPT_BEGINNING] + _CUT + text[len(text) - (LONGEST_NOTE - _KEPT_BEGINNING - len(_CUT)) :]
