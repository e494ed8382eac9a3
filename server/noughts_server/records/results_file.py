"""Reads the results of games from a file in any format of `formats`, for ratings."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from noughts_server.records.formats import DIALECT, FORMATS, GUESSED, Dialect, read_games
from noughts_server.records.recorded_game import PlacedGame, RecordError
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.tables.tally import Tally


class ResultsError(ValueError):
    """An error in a file of results, with its line."""

    def __init__(self, line: int, got: str, expected: str, file: str = "", fix: str = "") -> None:
        """`fix` says what the user can do, unless it is to correct the line."""
        super().__init__(f"{file}{', ' if file else ''}line {line}: got {got}, expected {expected}")
        self.line = line
        self.got = got
        self.expected = expected
        self.fix = fix


def read_results(path: Path, *, forfeits: bool = True, dialect: Dialect = DIALECT) -> tuple[Tally, int]:
    """Return the results in a file, and the number of games without a result.

    Without `forfeits`, losses by a fault do not count. The file's name determines the format. With any other name, a
    file that starts with `{` has JSON lines, and all others CSV. Raises ResultsError, FormatError, UnknownEncoding and
    OSError.
    """
    form = "" if path.suffix.lower() in FORMATS else GUESSED
    tally = Tally(forfeits=forfeits)
    void = 0
    for game in _games(read_games(str(path), form=form, dialect=dialect)):
        if game.score is None:
            void += 1
        else:
            tally.add(game)
    return tally, void


def _games(all_placed: Iterable[PlacedGame]) -> Iterator[RecordedGame]:
    """Yield the games. Raises ResultsError for games that cannot be counted, e.g. of several variants."""
    variant = ""
    for line, game, file in all_placed:
        if isinstance(game, RecordError):
            raise ResultsError(line, game.got, game.expected, file, game.fix)
        if not (game.first and game.second):
            raise ResultsError(line, "a game between players without names", "two names", file)
        if game.first == game.second:
            raise ResultsError(line, f"{game.first!r} against itself", "two players", file)
        if game.variant and variant and game.variant != variant:
            expected = "games of one variant in a file"
            raise ResultsError(line, f"a game of {game.variant} after games of {variant}", expected, file)
        variant = variant or game.variant
        yield game
