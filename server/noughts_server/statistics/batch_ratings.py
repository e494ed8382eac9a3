"""A batch fit as a table: ranks, errors, likelihoods of superiority, and counts of games."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from noughts_server.core.natural_order import natural_key
from noughts_server.statistics.batch_fit import BatchFit, fit
from noughts_server.statistics.elo_scale import NORMAL_95, normal_cdf
from noughts_server.statistics.rated_games import Floats, Integers, RatedGames
from noughts_server.statistics.rating_table import AdvantageBound, RatedPlayer, RatingTable

MEAN_RATING = 1500.0
"""The mean of a group without an anchor, equal to the start of live ratings."""

# In Elo. A smaller error is a rounded zero; with a larger one the games contain no information.
_NO_ERROR, _LARGEST_ERROR = 1e-6, 1e5


@dataclass(frozen=True, slots=True)
class BatchRatings(RatingTable):
    """A table of ratings that can compare any two of its players."""

    _fit: BatchFit
    _places: Mapping[str, int]
    """The index of each player in the fit, by name."""

    def los_matrix(self) -> Iterator[list[float | None]]:
        """Yield a row for each of `players`: the likelihoods, 0 to 1, that it is stronger than each player.

        A likelihood is None if the two cannot be compared.
        """
        places = [self._places[player.name] for player in self.players]
        for place in places:
            yield [_los(self._fit, place, other) for other in places]


def rate(games: RatedGames, *, anchors: Mapping[str, float] | None = None, prior: bool = False) -> BatchRatings:
    """Fit ratings to games and return their table. Raises FitError."""
    fitted = fit(games, anchors=anchors, prior=prior, mean=MEAN_RATING)
    number = len(games.players)
    wins = _by_player(games.first, games.wins, number) + _by_player(games.second, games.losses, number)
    draws = _by_player(games.first, games.draws, number) + _by_player(games.second, games.draws, number)
    losses = _by_player(games.first, games.losses, number) + _by_player(games.second, games.wins, number)
    opposition = _opposition(fitted)
    places_in_order = _ranked(fitted, wins + draws / 2, wins + draws + losses)
    # Players with the same number are on one scale and are ranked together.
    scale = np.zeros(number, dtype=np.int64) if prior else fitted.groups
    players: list[RatedPlayer] = []
    for index, place in enumerate(places_in_order):
        next_place = (
            places_in_order[index + 1]
            if index + 1 < number and scale[places_in_order[index + 1]] == scale[place]
            else None
        )
        first_of_scale = not players or scale[places_in_order[index - 1]] != scale[place]
        players.append(
            RatedPlayer(
                rank=1 if first_of_scale else players[-1].rank + 1,
                name=games.players[place],
                rating=_number(fitted.ratings[place]),
                error95=_error(fitted, place),
                games=int(wins[place] + draws[place] + losses[place]),
                wins=int(wins[place]),
                draws=int(draws[place]),
                losses=int(losses[place]),
                opposition=_number(opposition[place]),
                los_next=None if next_place is None else _los(fitted, place, next_place),
                group=int(fitted.groups[place]),
                anchored=bool(fitted.fixed[place]),
            )
        )
    total = float(games.games.sum())
    finite = fitted.bound is AdvantageBound.FINITE and total > 0
    return BatchRatings(
        players=tuple(players),
        games=int(total),
        draw_rate=float(games.draws.sum()) / total if total else None,
        advantage=_number(fitted.advantage) if finite else None,
        advantage_error95=_error95(fitted.advantage_variance) if finite else None,
        bound=fitted.bound,
        prior=prior,
        _fit=fitted,
        _places={name: place for place, name in enumerate(games.players)},
    )


def _by_player(places: Integers, counts: Floats, number: int) -> Floats:
    """Return the sum of the counts for each of `number` players; `places` are the players' indexes."""
    return np.bincount(places, counts, number).astype(np.float64)


def _ranked(fitted: BatchFit, points: Floats, games: Floats) -> list[int]:
    """Return the players' indexes in table order: by group, rating, share of points, and name.

    With a prior, all players are one group.
    """
    ratings = fitted.ratings
    names = fitted.games.players

    def key(place: int) -> tuple[int, float, float, object]:
        group = 0 if fitted.prior else int(fitted.groups[place])
        rating = 0.0 if np.isnan(ratings[place]) else -float(ratings[place])
        return group, round(rating, 6), -points[place] / max(games[place], 1.0), natural_key(names[place])

    return sorted(range(len(names)), key=key)


def _opposition(fitted: BatchFit) -> Floats:
    """Return the mean rating of each player's opponents on the same scale; NaN if there are none."""
    games = fitted.games
    number = len(fitted.games.players)
    first, second, played = games.first, games.second, games.games
    same_scale = np.ones(len(first), dtype=bool) if fitted.prior else fitted.groups[first] == fitted.groups[second]
    first, second, played = first[same_scale], second[same_scale], played[same_scale]
    ratings = np.nan_to_num(fitted.ratings)  # a player without a rating has no opponent on the same scale
    games_of_player = _by_player(first, played, number) + _by_player(second, played, number)
    total = _by_player(first, played * ratings[second], number) + _by_player(second, played * ratings[first], number)
    return np.asarray(np.divide(total, games_of_player, out=np.full(number, np.nan), where=games_of_player > 0))


def _error(fitted: BatchFit, place: int) -> float | None:
    if fitted.fixed[place]:
        return 0.0
    return None if np.isnan(fitted.ratings[place]) else _error95(float(fitted.covariance[place, place]))


def _error95(variance: float) -> float | None:
    """Return half the width of the 95 % confidence interval; None if results do not vary or say almost nothing."""
    error = NORMAL_95 * max(variance, 0.0) ** 0.5
    return error if _NO_ERROR < error < _LARGEST_ERROR else None


def _los(fitted: BatchFit, one: int, other: int) -> float | None:
    """Return the likelihood that the first of two players is stronger; None if they cannot be compared."""
    if not fitted.comparable(one, other):
        return None
    covariance = fitted.covariance
    variance = float(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other])
    error = _error95(variance)
    difference = float(fitted.ratings[one] - fitted.ratings[other])
    if error is None or np.isnan(difference):
        return None
    # The argument is the difference in standard deviations.
    return normal_cdf(difference / error * NORMAL_95)


def _number(value: float) -> float | None:
    """Return None for NaN. Adding 0.0 turns -0.0 into 0.0."""
    return None if np.isnan(value) else float(value) + 0.0
