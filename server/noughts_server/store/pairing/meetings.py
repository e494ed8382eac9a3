"""The points that a game counts in an encounter, whichever entry moved first."""

from noughts_referee.rules import Result

_POINTS = {Result.FIRST_WINS: 1.0, Result.DRAW: 0.5, Result.SECOND_WINS: 0.0, Result.VOID: 0.5}


def points_of_first(first: int, x: int, result: int) -> float:
    """Return the points of the entry `first`: 1 for a win, 1/2 for a draw. The entry `x` began the game.

    After an agreement on sides, `x` can be the second entry of the slot.
    """
    points = _POINTS[Result(result)]
    return points if x == first else 1 - points
