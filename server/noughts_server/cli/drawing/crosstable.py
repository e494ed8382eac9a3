"""Who scored what against whom, as JSON and as a table that fits a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from noughts_server.cli.output import points, printable
from noughts_server.competition.score import Score

CROSSTABLE_HEADING = "Crosstable: points of each row against each column"

_FEWEST_COLUMNS = 4
_SHORTEST_LABEL = 8


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


class Crosstable:
    """The scores of all pairs, by labels."""

    def __init__(self, labels: Iterable[str], pairs: Iterable[PairRow]) -> None:
        self.labels = tuple(labels)
        self.pairs = tuple(pairs)
        self._first = {(pair.first, pair.second): Score(pair.wins, pair.draws, pair.losses) for pair in self.pairs}

    def first(self, label: str, opponent: str) -> Score:
        """Of the games in which `label` moved first."""
        return self._first.get((label, opponent), Score())

    def second(self, label: str, opponent: str) -> Score:
        """Of the games in which `label` moved second."""
        return self.first(opponent, label).mirrored

    def total(self, label: str, opponent: str) -> Score:
        """Of all games of the two."""
        return self.first(label, opponent) + self.second(label, opponent)

    def document(self) -> dict[str, Any]:
        """`{"labels": [...], "cells": {A: {B: {"wins", "draws", "losses", "first": {...}, "second": {...}}}}}`.

        Counts are from A's point of view: all its games against B, those it began, and those that B began.
        """
        cells = {label: dict(self._row(label)) for label in self.labels}
        return {"labels": list(self.labels), "cells": cells}

    def _row(self, label: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for opponent in self.labels:
            total = self.total(label, opponent)
            if opponent != label and total.games:
                sides = {
                    "first": self.first(label, opponent).document(),
                    "second": self.second(label, opponent).document(),
                }
                yield opponent, {**total.document(), **sides}

    def table(self, console: Console) -> RenderableType:
        """The points of each row against each numbered column; in several blocks where the console is narrow."""
        cells = [[self._cell(label, opponent) for opponent in self.labels] for label in self.labels]

        number_width = len(str(len(self.labels)))
        cell_width = max([number_width, *(len(cell) for row in cells for cell in row)], default=1) + 1
        room = console.width - number_width - 2
        longest = max(map(len, ("bot", *self.labels)))
        label_width = min(longest, max(_SHORTEST_LABEL, room - _FEWEST_COLUMNS * cell_width))
        fitting = max(1, (room - label_width) // cell_width)
        starts = range(0, len(self.labels), fitting)
        return Group(
            *(self._block(cells, range(start, start + fitting), (label_width, cell_width - 1)) for start in starts)
        )

    def _cell(self, label: str, opponent: str) -> str:
        if label == opponent:
            return "·"
        score = self.total(label, opponent)
        return points(score.points) if score.games else ""

    def _block(self, cells: Sequence[Sequence[str]], wanted: range, widths: tuple[int, int]) -> RenderableType:
        label_width, cell_width = widths
        columns = wanted[: max(0, len(self.labels) - wanted.start)]
        block = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        block.add_column("#", justify="right", no_wrap=True)
        block.add_column("bot", max_width=label_width, overflow="ellipsis", no_wrap=True)
        for column in columns:
            block.add_column(str(column + 1), justify="right", no_wrap=True, min_width=cell_width)
        for number, (label, row) in enumerate(zip(self.labels, cells, strict=True), start=1):
            block.add_row(str(number), Text(printable(label)), *(Text(row[column]) for column in columns))
        return block
