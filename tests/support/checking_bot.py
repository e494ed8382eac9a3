"""A bot that compares the ends of its games with the database."""

from pathlib import Path

from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.bot import GameEnd, GameInfo
from tests.support.databases import rows_of


class Checking(Random):
    """Looks for each of its games in the database as soon as the server reports the game's end."""

    stored_ends = True  # it is told of ends after they are stored

    def __init__(self, database: Path) -> None:
        super().__init__()
        self._database = database
        self.missing: list[str] = []
        self.ended: list[str] = []

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self.ended.append(game.name)
        number = int(game.name.rpartition("/")[2])
        if not rows_of(self._database, f"SELECT 1 FROM games WHERE ordinal = {number}"):
            self.missing.append(game.name)
