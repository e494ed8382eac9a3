"""Counts of games for a batch fit: wins, draws and losses of each first mover against each opponent.

The order of the counts does not depend on the order of the games, so that a fit gives the same bits each time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

_SMALL_TABLE = 1_000_000
"""Up to this many cells, results are counted in a table of all pairs of players, however empty it is."""


class GameResult(NamedTuple):
    """One game, or several with the same result."""

    first: str
    """The player that moved first."""
    second: str
    score: float
    """The first mover's score: 1, 0.5 or 0."""
    times: int = 1


@dataclass(frozen=True, slots=True)
class RatedGames:
    """Counts of games, with a row for each ordered pair of players that met. Rows are sorted."""

    players: tuple[str, ...]
    """In alphabetical order; the other fields have indexes into it."""
    first: Integers
    second: Integers
    wins: Floats
    """The wins of `first`; like `draws` and `losses`, a number for each row."""
    draws: Floats
    losses: Floats

    @property
    def games(self) -> Floats:
        return self.wins + self.draws + self.losses

    def select(self, mask: Booleans) -> "RatedGames":
        """Return the rows for which the mask is true, with the same players."""
        return RatedGames(
            players=self.players,
            first=self.first[mask],
            second=self.second[mask],
            wins=self.wins[mask],
            draws=self.draws[mask],
            losses=self.losses[mask],
        )


def count_games(games: Iterable[GameResult], players: Iterable[str] = ()) -> RatedGames:
    """Count games; include `players` even without games. Raises ValueError for a player against itself."""
    indexes: dict[str, int] = {}
    counts: dict[tuple[int, int, float], int] = {}
    """The number of games, by the indexes of the two players and the score."""
    for player in players:
        indexes.setdefault(player, len(indexes))
    for game in games:
        first = indexes.setdefault(game.first, len(indexes))
        second = indexes.setdefault(game.second, len(indexes))
        key = first, second, game.score
        counts[key] = counts.get(key, 0) + game.times
    table = np.array(list(counts), dtype=np.float64).reshape(-1, 3)
    return count_columns(
        players=tuple(indexes),
        first=table[:, 0].astype(np.int64),
        second=table[:, 1].astype(np.int64),
        score=table[:, 2],
        times=np.array(list(counts.values()), dtype=np.float64),
    )


def count_pairs(pairs: Iterable[tuple[str, str, Sequence[int]]], players: Iterable[str] = ()) -> RatedGames:
    """Count the games of pairs: first mover, second mover, and the first mover's wins, draws and losses."""
    results = (
        GameResult(first, second, score, times)
        for first, second, counts in pairs
        for score, times in zip((1.0, 0.5, 0.0), counts, strict=True)
        if times
    )
    return count_games(results, players)


def count_columns(
    players: Sequence[str], first: Integers, second: Integers, score: Floats, times: Floats | None = None
) -> RatedGames:
    """Count games from columns of equal length: indexes into `players`, and the first mover's score 1, 0.5 or 0.

    A row stands for one game, or for `times` of them. Raises ValueError for a player against itself, a different score,
    or a duplicate name.
    """
    if len(set(players)) != len(players):
        raise ValueError("got a player's name twice, expected each once")
    if np.any(first == second):
        raise ValueError("got a player against itself, expected two")
    if not np.all(np.isin(score, (0.0, 0.5, 1.0))):
        raise ValueError("got a different score, expected 1, 0.5 or 0")
    order = sorted(range(len(players)), key=players.__getitem__)
    places = np.empty(len(players), dtype=np.int64)
    places[order] = np.arange(len(players))
    number = max(len(players), 1)
    # A pair of players is one number, and pairs have the order of their names.
    pair_of_game = places[first] * number + places[second]
    # Sorting takes longer than a table of all pairs, unless that is mostly empty.
    counts_all_pairs = number * number <= max(_SMALL_TABLE, 4 * len(pair_of_game))
    if counts_all_pairs:
        pairs = np.arange(number * number)
        row_of_game = pair_of_game
    else:
        pairs, row_of_game = np.unique(pair_of_game, return_inverse=True)

    def count(value: float) -> Floats:
        """Return the number of games with this score, for each pair."""
        has_score = score == value
        weights = None if times is None else times[has_score]
        return np.bincount(row_of_game[has_score], weights=weights, minlength=len(pairs)).astype(np.float64)

    wins = count(1.0)
    draws = count(0.5)
    losses = count(0.0)
    if counts_all_pairs:
        pairs = np.flatnonzero(wins + draws + losses)
        wins = wins[pairs]
        draws = draws[pairs]
        losses = losses[pairs]
    return RatedGames(
        players=tuple(players[index] for index in order),
        first=pairs // number,
        second=pairs % number,
        wins=wins,
        draws=draws,
        losses=losses,
    )
