"""Games of files as tables and reports need them, in any format."""

from collections.abc import Iterator
from pathlib import Path

from noughts_server.records.formats import read_games
from noughts_server.records.recorded_game import RecordedGame, RecordError
from noughts_server.tables.game_record import GameRecord

_UNKNOWN = "unknown"


class GamesFileError(Exception):
    """An invalid game in a file: its place, its content and what is expected."""

    def __init__(self, path: Path, line: int, file: str, error: RecordError) -> None:
        place = f"{path / file}" if file else f"{path}, line {line:,}"
        super().__init__(f"{place}: {error}")
        self.line = line


def game_records(path: Path) -> Iterator[GameRecord]:
    """Yield the games in a file, or in a folder of `.psq` files, in order, one at a time in memory.

    Moves are not checked against the rules. Raises FormatError, OSError, GamesFileError.
    """
    for line, game, file in read_games(str(path)):
        try:
            if isinstance(game, RecordError):
                raise game
            yield game_record(game)
        except RecordError as error:
            raise GamesFileError(path, line, file, error) from None


def game_record(game: RecordedGame) -> GameRecord:
    return GameRecord(
        variant=game.variant or _UNKNOWN,
        first=game.first or f"{_UNKNOWN} X",
        second=game.second or f"{_UNKNOWN} O",
        seed=game.seed or 0,
        moves=game.moves,
        result=game.result,
        termination=game.termination or _UNKNOWN,
        times_us=[round(time * 1000) for time in game.times_ms],
        opening=game.opening,
        agreed=game.agreed,
        fault=game.fault,
        date=game.occasion.get("date", ""),
    )
