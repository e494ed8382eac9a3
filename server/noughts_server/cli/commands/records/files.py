"""Files of games, which the commands of `noughts records` read."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated

from typer import Argument

from noughts_server.cli.errors import UsageProblem
from noughts_server.records.formats import WITHOUT_MOVES, format_of
from noughts_server.tables.recorded_game import RecordedGame

Games = Callable[[str], Iterator[RecordedGame]]
FileArgument = Annotated[str, Argument(metavar="FILE", help="Games: .jsonl, .sgf, .psq, .parquet, .pgn or .csv")]


def require_moves(file: str) -> None:
    """Raise UsageProblem for a file of a format that holds results without moves."""
    if format_of(file) in WITHOUT_MOVES:
        message = f"{file}: got results without moves, expected games: .jsonl, .sgf, .psq or .parquet"
        raise UsageProblem(message, "Name the file that has the moves.")


def game_in(file: str, number: int, games: Games) -> RecordedGame:
    """Return the game at this place of the file, from 1. Raises UsageProblem."""
    game = find_game(file, number, games)
    if game is None:
        count = sum(1 for _ in games(file))
        if not count:
            raise UsageProblem(f"{file}: got no games, expected at least one")
        raise UsageProblem(f"{file}: there is no game {number}, expected 1 to {count}", f"noughts records list {file}")
    return game


def find_game(file: str, number: int, games: Games) -> RecordedGame | None:
    """Return the game at this place of the file, from 1; None if there is none."""
    return next(islice(games(file), number - 1, None), None) if number > 0 else None
