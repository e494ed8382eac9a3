"""Elo ratings, updated game by game, for the leaderboards.

This is arithmetic on floats in a fixed order, so the same games in the same order give the same bits. The formulas are
those of A. Elo, "The Rating of Chessplayers" (1978), with the K factors of FIDE: 40, 20 and 10. K changes after fixed
numbers of games, while FIDE also considers the rating.
"""

from dataclasses import dataclass, field
from functools import cache
from math import log, pi, sqrt

from noughts_referee.rules import Result

START = 1500.0
"""The rating of a bot before its first rated game."""

PROVISIONAL_GAMES = 30
"""A rating from fewer games is provisional and has the largest K factor."""
_SETTLED_GAMES = 300
"""From this number of games on, the K factor is the smallest."""
_K_PROVISIONAL = 40.0
_K = 20.0
_K_SETTLED = 10.0

MOST_MOVED = 400.0
"""Limit of the points by which all games with the bots of one other owner can move a rating, up or down.

The caller decides whether it applies: see `Rating.limit_change`.
"""

_SCALE = 400.0
"""The rating difference at which the odds of the expected score are 10 to 1."""

_FIRST_DEVIATION = 350.0
"""The standard deviation of an unknown player's rating."""
_Z95 = 1.959964
"""The quantile of the normal distribution for 95 % confidence intervals."""

# Enumeration members are slow to look up and compare, and every game is rated.
_FIRST_WINS, _DRAW, _SECOND_WINS = int(Result.FIRST_WINS), int(Result.DRAW), int(Result.SECOND_WINS)

_POINTS_BITS = 5
"""A rating's history has 2 to the power of this points for each doubling of the number of games."""


def first_rating(anchor: float | None) -> "Rating":
    """Return the rating of a bot before its first rated game; `anchor` is its known rating, if it has one."""
    return Rating() if anchor is None else Rating(rating=anchor, anchored=True)


@dataclass(slots=True)
class Rating:
    """A bot's rating and results in one rating list."""

    rating: float = START
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    due: int = field(init=False, repr=False, compare=False)
    """The number of games at which the rating's history gets its next point. The caller keeps it up to date."""

    anchored: bool = field(default=False, compare=False)
    """Whether no game moves the rating, because it is known."""

    moved: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By other owner: the points by which games with this owner's bots have moved the rating. See `limit_change`."""

    def __post_init__(self) -> None:
        self.due = next_point(self.games)

    def limit_change(self, owner: int, before: float) -> None:
        """Limit the change of the rating by a game with a bot of this owner; `before` is the rating before the game.

        All games with the bots of this owner together change the rating by at most `MOST_MOVED` points up or down.
        """
        moved = self.moved.get(owner, 0.0)
        total = moved + self.rating - before
        if not -MOST_MOVED <= total <= MOST_MOVED:
            total = MOST_MOVED if total > 0 else -MOST_MOVED
            self.rating = before + (total - moved)
        self.moved[owner] = total

    @property
    def provisional(self) -> bool:
        """Return whether the bot has too few games for a reliable rating."""
        return self.games < PROVISIONAL_GAMES


def rating_error(games: int) -> float:
    """Return half the width of the 95 % confidence interval of a rating after `games` games with equal opponents.

    A game moves a rating by K times its surprise, whose variance is 1/4 and whose expectation is -s times the rating's
    error. So the variance V of the error becomes (1 - K s)^2 V + K^2 / 4. It starts with the 350 of Glicko (M.
    Glickman) for an unknown player.
    """
    variances = _first_variances()
    if games < len(variances):
        return _Z95 * sqrt(variances[games])
    # From here on, K is constant and the slope is nearly constant. So the recurrence V' = factor V + K^2 / 4 has this
    # solution.
    factor = (1 - _K_SETTLED * _slope(variances[-1])) ** 2
    limit = _K_SETTLED**2 / 4 / (1 - factor)
    return _Z95 * sqrt(limit + (variances[-1] - limit) * factor ** (games - len(variances) + 1))


@cache
def _first_variances() -> list[float]:
    """Return the variance of the error after 0, 1, 2 and so on games, up to `_SETTLED_GAMES`."""
    variances = [_FIRST_DEVIATION**2]
    for games in range(_SETTLED_GAMES):
        variance = variances[-1]
        factor = _k_factor(games)
        variances.append((1 - factor * _slope(variance)) ** 2 * variance + factor**2 / 4)
    return variances


def _slope(variance: float) -> float:
    """Return the slope of the expected score, averaged over normal errors of this variance (D. MacKay, 1992)."""
    steepness = log(10) / _SCALE
    return steepness / 4 / sqrt(1 + pi / 8 * steepness**2 * variance)


def next_point(games: int) -> int:
    """Return the next number of games after this one at which a rating's history has a point.

    Up to 64 games each game has a point, up to 128 every second one, up to 256 every fourth one, and so on. So each
    doubling has 32 points, which depend only on the number of games.
    """
    # The largest power of two that is at most 1/32 of the number.
    step = max(1, 1 << games.bit_length() >> (_POINTS_BITS + 1))
    return (games // step + 1) * step


def rate_game(first: Rating, second: Rating, result: int) -> None:
    """Update the ratings of both sides after a game. A void game changes nothing."""
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
    if not first.anchored:
        first.rating += _k_factor(first.games) * surprise
    if not second.anchored:
        second.rating -= _k_factor(second.games) * surprise
    first.games += 1
    second.games += 1


def _k_factor(games: int) -> float:
    if games >= _SETTLED_GAMES:
        return _K_SETTLED
    return _K if games >= PROVISIONAL_GAMES else _K_PROVISIONAL
