"""`level`: plays four games at a chosen strength."""

from functools import cache

from noughts_bots.reference.levels.search import NoisySearch
from noughts_bots.reference.levels.table import levels
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position


class LevelBot(BuiltInBot):
    """Looks as far ahead and errs as much as the calibrated level: see `NoisySearch`.

    A move takes a fixed amount of work. It depends on the position and the seed only, not on time.

    Args:
        elo: the rating of the level. 1000 plays at random, and neighbours are 100 apart.
    """

    name = "level"
    variants: tuple[str, ...] = ("tictactoe", "connect4", "gomoku", "qubic")
    boards = "tictactoe, connect4, gomoku and qubic, each up to its highest level"
    advice = "choose a lower level, or one of these variants"
    changes = "random errors in its search"

    def __init__(self, *, elo: int) -> None:
        self.variants = tuple(variant for variant in self.variants if elo in levels()[variant])
        if not self.variants:
            highest = max(elo for rows in levels().values() for elo in rows)
            raise BotSpecError(
                "bot 'level', option elo",
                f"{elo}",
                f"1000, 1100, 1200 and so on up to {highest}",
                "the documentation of the bot lists the levels of each game",
            )
        self._elo = elo
        self._search = cache(NoisySearch)

    def choose(self, position: Position) -> int:
        self.require(position.variant)
        level = levels()[position.variant.name][self._elo]
        return self._search(position.variant).choose(position, level.strength)
