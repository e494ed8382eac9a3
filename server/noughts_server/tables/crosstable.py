"""Crosstables: the score of each entry against each other entry."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from noughts_server.competition.score import Score
from noughts_server.tables.standings import PairScores

LEVELS = 9
"""The number of colours for scores from 0 % to 100 %."""


class PairRow(Protocol):
    """The games in which `first` moved first against `second`, from the first mover's point of view."""

    @property
    def first(self) -> str: ...
    @property
    def second(self) -> str: ...
    @property
    def wins(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def losses(self) -> int: ...


def scores_of(pairs: Iterable[PairRow]) -> dict[tuple[str, str], Score]:
    """Return the scores of these rows, by (first mover, second mover)."""
    return {(pair.first, pair.second): Score(pair.wins, pair.draws, pair.losses) for pair in pairs}


def level(score: Score) -> int:
    """Return the colour of a score with games: the share of points, rounded to eighths."""
    return round(score.points / score.games * (LEVELS - 1))


class Crosstable:
    """The scores of all pairs of entries; pairs without games have an empty score."""

    def __init__(self, labels: Iterable[str], scores: PairScores) -> None:
        self.labels = tuple(labels)
        self.scores = scores

    def first(self, label: str, opponent: str) -> Score:
        """Return the score of the games in which `label` moved first."""
        return self.scores.get((label, opponent), Score())

    def second(self, label: str, opponent: str) -> Score:
        """Return the score of the games in which `label` moved second."""
        return self.first(opponent, label).mirrored

    def total(self, label: str, opponent: str) -> Score:
        """Return the score of all games of the two; empty for an entry against itself."""
        return Score() if label == opponent else self.first(label, opponent) + self.second(label, opponent)

    def document(self) -> dict[str, Any]:
        """Return `{"labels": [...], "cells": {A: {B: {"wins", "draws", "losses", "first": {...}, "second": {...}}}}}`.

        Counts are from A's point of view. `first` has the games that A began, `second` those that B began.
        """
        cells = {label: dict(self._row(label)) for label in self.labels}
        return {"labels": list(self.labels), "cells": cells}

    def _row(self, label: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for opponent in self.labels:
            total = self.total(label, opponent)
            if total.games:
                first = self.first(label, opponent)
                second = self.second(label, opponent)
                yield opponent, {**total.document(), "first": first.document(), "second": second.document()}
