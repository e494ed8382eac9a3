"""Games of files as tables and reports need them, in any format."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from noughts_server.records.formats import read_games
from noughts_server.records.recorded_game import RecordError
from noughts_server.tables.recorded_game import RecordedGame

_UNKNOWN = "unknown"


class GamesFileError(Exception):
    """An invalid game in a file: its place, its content and what is expected."""

    def __init__(self, path: Path, line: int, file: str, error: RecordError) -> None:
        place = f"{path / file}" if file else f"{path}, line {line:,}"
        super().__init__(f"{place}: {error}")
        self.line = line


def game_records(path: Path) -> Iterator[RecordedGame]:
    """Yield the games in a file, or in a folder of `.psq` files, in order, one at a time in memory.

    Moves are not checked against the rules. Raises FormatError, OSError, GamesFileError.
    """
    for line, game, file in read_games(str(path)):
        if isinstance(game, RecordError):
            raise GamesFileError(path, line, file, game)
        yield game_record(game)


def game_record(game: RecordedGame) -> RecordedGame:
    """Return the game with a name for whatever is not known."""
    return replace(
        game,
        variant=game.variant or _UNKNOWN,
        first=game.first or f"{_UNKNOWN} X",
        second=game.second or f"{_UNKNOWN} O",
        termination=game.termination or _UNKNOWN,
    )
