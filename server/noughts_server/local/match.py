"""A match of two: how its games count in the statistics."""

from noughts_referee.rules import FAULTS, Result
from noughts_server.local.plan import PlayedGame
from noughts_server.statistics.match_games import MatchGame


def match_game(game: PlayedGame, player: str) -> MatchGame:
    """The game as it counts for the bot with the label `player`.

    A fault is no move that would be made again: what crashes or is late is chance, so such games are never repetitions.
    """
    outcome = game.outcome
    points: float | None = None
    if outcome.result is not Result.VOID:
        points = 0.5 if outcome.winner is None else float((game.first, game.second)[outcome.winner] == player)
    return MatchGame(points, game.opening, None if outcome.termination in FAULTS else game.moves)
