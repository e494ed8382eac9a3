"""Counts of games for a batch fit: wins, draws and losses of each first mover against each opponent.

Their order does not depend on the order of the games, so that a fit gives the same bits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


_DENSE = 1_000_000
"""A table of this many pairs is never too large."""


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

    def chosen(self, rows: Booleans) -> "RatedGames":
        """Return only those rows, with the same players."""
        return RatedGames(
            players=self.players,
            first=self.first[rows],
            second=self.second[rows],
            wins=self.wins[rows],
            draws=self.draws[rows],
            losses=self.losses[rows],
        )


def count_games(games: Iterable[GameResult], players: Iterable[str] = ()) -> RatedGames:
    """Count games; include `players` even without games. Raises ValueError for a player against itself."""
    places: dict[str, int] = {}
    cells: dict[tuple[int, int, float], int] = {}
    for player in players:
        places.setdefault(player, len(places))
    for game in games:
        key = (places.setdefault(game.first, len(places)), places.setdefault(game.second, len(places)), game.score)
        cells[key] = cells.get(key, 0) + game.times
    table = np.array(list(cells), dtype=np.float64).reshape(-1, 3)
    times_of = np.array(list(cells.values()), dtype=np.float64)
    score = table[:, 2]
    return count_columns(tuple(places), table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), score, times_of)


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

    Raises ValueError for a player against itself, a different score, or a duplicate name.
    """
    if len(set(players)) != len(players):
        raise ValueError("got a player's name twice, expected each once")
    if np.any(first == second):
        raise ValueError("got a player against itself, expected two")
    if not np.all(np.isin(score, (0.0, 0.5, 1.0))):
        raise ValueError("got a different score, expected 1, 0.5 or 0")
    order = sorted(range(len(players)), key=players.__getitem__)
    place = np.empty(len(players), dtype=np.int64)
    place[order] = np.arange(len(players))
    number = max(len(players), 1)
    keys = place[first] * number + place[second]
    dense = number * number <= max(_DENSE, 4 * len(keys))
    # Sorting takes longer than a table of all pairs, unless that is mostly empty.
    rows, row = (np.arange(number * number), keys) if dense else np.unique(keys, return_inverse=True)

    def counted(value: float) -> Floats:
        has_score = score == value
        weights = None if times is None else times[has_score]
        return np.bincount(row[has_score], weights=weights, minlength=len(rows)).astype(np.float64)

    names = tuple(players[index] for index in order)
    wins, draws, losses = counted(1.0), counted(0.5), counted(0.0)
    if dense:
        rows = np.flatnonzero(wins + draws + losses)
        wins, draws, losses = wins[rows], draws[rows], losses[rows]
    return RatedGames(players=names, first=rows // number, second=rows % number, wins=wins, draws=draws, losses=losses)
