"""A batch fit as a table: ranks, errors, likelihoods of superiority, and counts of games."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from noughts_server.core.natural_order import natural_key
from noughts_server.statistics.batch_fit import BatchFit, fit
from noughts_server.statistics.elo_scale import NORMAL_95, normal_cdf
from noughts_server.statistics.rated_games import Floats, Integers, RatedGames
from noughts_server.statistics.rating_table import AdvantageBound, RatedPlayer, RatingTable

MEAN_RATING = 1500.0
"""The mean of a group without an anchor, equal to the start of live ratings."""

_LEAST_ERROR = 1e-6
"""A smaller error in Elo is 0 with the errors of rounding."""
_LARGEST_ERROR = 1e5
"""With a larger error in Elo, the games contain no information about the rating."""


@dataclass(frozen=True, slots=True)
class BatchRatings(RatingTable):
    """A table of ratings that can compare any two of its players."""

    _fit: BatchFit
    _indexes: Mapping[str, int]
    """The index of each player in the fit, by name."""

    def los_matrix(self) -> Iterator[list[float | None]]:
        """Yield a row for each of `players`: the likelihoods, 0 to 1, that it is stronger than each player.

        A likelihood is None if the two cannot be compared.
        """
        indexes = [self._indexes[player.name] for player in self.players]
        for index in indexes:
            yield [_los(self._fit, index, other) for other in indexes]


def rate(games: RatedGames, *, anchors: Mapping[str, float] | None = None, prior: bool = False) -> BatchRatings:
    """Fit ratings to games and return their table. Raises FitError."""
    fitted = fit(games, anchors=anchors, prior=prior, mean=MEAN_RATING)
    number = len(games.players)
    wins = _by_player(games.first, games.wins, number) + _by_player(games.second, games.losses, number)
    draws = _by_player(games.first, games.draws, number) + _by_player(games.second, games.draws, number)
    losses = _by_player(games.first, games.losses, number) + _by_player(games.second, games.wins, number)
    opposition = _opposition(fitted)
    # Players with the same number are on one scale and are ranked together.
    scale = np.zeros(number, dtype=np.int64) if prior else fitted.groups
    players: list[RatedPlayer] = []
    for _, same_scale in groupby(_ranked(fitted, wins + draws / 2, wins + draws + losses), key=scale.__getitem__):
        ranked = list(same_scale)
        for rank, (index, following) in enumerate(zip(ranked, [*ranked[1:], None], strict=True), start=1):
            players.append(
                RatedPlayer(
                    rank=rank,
                    name=games.players[index],
                    rating=_number(fitted.ratings[index]),
                    error95=_error(fitted, index),
                    games=int(wins[index] + draws[index] + losses[index]),
                    wins=int(wins[index]),
                    draws=int(draws[index]),
                    losses=int(losses[index]),
                    opposition=_number(opposition[index]),
                    los_next=None if following is None else _los(fitted, index, following),
                    group=int(fitted.groups[index]),
                    anchored=bool(fitted.fixed[index]),
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
        _indexes={name: index for index, name in enumerate(games.players)},
    )


def _by_player(indexes: Integers, counts: Floats, number: int) -> Floats:
    """Return the sum of the counts for each of `number` players; `indexes` has the player of each count."""
    return np.bincount(indexes, counts, number).astype(np.float64)


def _ranked(fitted: BatchFit, points: Floats, games: Floats) -> list[int]:
    """Return the players' indexes in table order: by group, rating, share of points, and name.

    With a prior, all players are one group.
    """
    ratings = fitted.ratings
    names = fitted.games.players

    def key(index: int) -> tuple[int, float, float, object]:
        group = 0 if fitted.prior else int(fitted.groups[index])
        rating = 0.0 if np.isnan(ratings[index]) else -float(ratings[index])
        # The rounding ignores errors of the fit, so that players with equal results are in the order of their names.
        return group, round(rating, 6), -points[index] / max(games[index], 1.0), natural_key(names[index])

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


def _error(fitted: BatchFit, index: int) -> float | None:
    """Return half the width of a rating's 95 % confidence interval: 0 for an anchor, None if it is unknown."""
    if fitted.fixed[index]:
        return 0.0
    return None if np.isnan(fitted.ratings[index]) else _error95(float(fitted.covariance[index, index]))


def _error95(variance: float) -> float | None:
    """Return half the width of the 95 % confidence interval; None if results do not vary or say almost nothing."""
    error = NORMAL_95 * max(variance, 0.0) ** 0.5
    return error if _LEAST_ERROR < error < _LARGEST_ERROR else None


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
    # The argument is the difference divided by its standard deviation, because `error` is NORMAL_95 of those.
    return normal_cdf(difference / error * NORMAL_95)


def _number(value: float) -> float | None:
    """Return the value as a Python number, without a minus for zero; None for NaN."""
    return None if np.isnan(value) else float(value) + 0.0
