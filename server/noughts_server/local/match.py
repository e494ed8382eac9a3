"""A match of two: how its games count in the statistics."""

from noughts_referee.rules import FAULTS, Result
from noughts_server.statistics.match_games import MatchGame

# By result: what the first mover has of it, and what the other has.
_POINTS: dict[int, tuple[float | None, float | None]] = {
    Result.FIRST_WINS: (1.0, 0.0),
    Result.DRAW: (0.5, 0.5),
    Result.SECOND_WINS: (0.0, 1.0),
    Result.VOID: (None, None),
}


def match_game(result: int, termination: int, side: int, moves: bytes, opening: bytes) -> MatchGame:
    """A game, as it is stored, as it counts for the player on a side, 0 or 1; `opening` holds the first of the moves.

    A fault is no move that would be made again: what crashes or is late is chance, so such games are never repetitions.
    """
    return MatchGame(_POINTS[result][side], opening, None if termination in FAULTS else moves)
