"""Ratings: Elo game by game, for the leaderboards.

Pure arithmetic on floats, each step in a fixed order: the same games in the same order give the same bits.
The formulas are those of A. Elo, "The Rating of Chessplayers" (1978), with the K factors of FIDE: 40, 20
and 10. When they change is our own choice: after so many games, while FIDE goes by the rating as well.
"""

from dataclasses import dataclass, field

from noughts_referee.rules import Result

START = 1500.0
"""The rating of a bot before its first rated game."""

PROVISIONAL_GAMES = 30
_SETTLED_GAMES = 300
_K_PROVISIONAL, _K, _K_SETTLED = 40.0, 20.0, 10.0

_SCALE = 400.0

# Members of an enumeration are looked up and compared slowly, and every game is rated.
_FIRST_WINS, _DRAW, _SECOND_WINS = int(Result.FIRST_WINS), int(Result.DRAW), int(Result.SECOND_WINS)

# Points of a rating's history to each doubling of the number of games, as a power of two.
_POINTS_BITS = 5


@dataclass(slots=True)
class Rating:
    """A bot's standing in one rating list, counted over its rated games there."""

    rating: float = START
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    due: int = field(init=False, repr=False, compare=False)
    """The number of games at which its history gets its next point. Whoever records that point sets the next one."""

    def __post_init__(self) -> None:
        self.due = next_point(self.games)

    @property
    def provisional(self) -> bool:
        """Too few games to be sure: the rating still moves fast."""
        return self.games < PROVISIONAL_GAMES

    def copy(self) -> "Rating":
        """The same numbers, independent of this object."""
        return Rating(self.rating, self.games, self.wins, self.draws, self.losses)


def next_point(games: int) -> int:
    """The next number of games after this one at which a rating's history has a point.

    Points are at the multiples of the largest power of two that is at most a thirty-second of the number: every game
    up to 64, every second up to 128, and so on. So there are 32 of them to a doubling, and which there are depends on
    the number of games alone.
    """
    step = max(1, 1 << games.bit_length() >> (_POINTS_BITS + 1))
    return (games // step + 1) * step


def rate_game(first: Rating, second: Rating, result: int) -> None:
    """Updates both sides of one game, each from the ratings before it. A void game changes nothing."""
    if result == _FIRST_WINS:
        score = 1.0
        first.wins += 1
        second.losses += 1
    elif result == _DRAW:
        score = 0.5
        first.draws += 1
        second.draws += 1
    elif result == _SECOND_WINS:
        score = 0.0
        first.losses += 1
        second.wins += 1
    else:
        return
    surprise = score - 1.0 / (1.0 + 10.0 ** ((second.rating - first.rating) / _SCALE))
    first.rating += _k_factor(first.games) * surprise
    second.rating -= _k_factor(second.games) * surprise
    first.games += 1
    second.games += 1


def _k_factor(games: int) -> float:
    if games >= _SETTLED_GAMES:
        return _K_SETTLED
    return _K if games >= PROVISIONAL_GAMES else _K_PROVISIONAL
