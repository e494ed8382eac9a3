"""The crosstable of a page: who scored what against whom."""

from collections.abc import Sequence
from typing import NamedTuple

from noughts_server.web.documents import Document

MOST_SHOWN = 40
"""Entries in a page's crosstable; the API has all."""
_LEVELS = 9


class Cell(NamedTuple):
    """One bot's score against another, from its point of view."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def level(self) -> int:
        """From 0, no points, to 8, all of them: the colour."""
        return min(_LEVELS - 1, int(self.points / self.games * _LEVELS))


class Crosstable:
    """Rows and columns in the order of the standings, the first forty of them."""

    def __init__(self, standings: Sequence[Document], cells: Sequence[Document]) -> None:
        self.shown = standings[:MOST_SHOWN]
        self.entries = len(standings)
        self._cells: dict[tuple[str, str], Cell] = {}
        for cell in cells:
            wins, draws, losses = cell["wins"], cell["draws"], cell["losses"]
            self._add(cell["first"], cell["second"], Cell(wins, draws, losses))
            self._add(cell["second"], cell["first"], Cell(losses, draws, wins))

    def _add(self, of: str, against: str, score: Cell) -> None:
        before = self._cells.get((of, against), Cell(0, 0, 0))
        self._cells[of, against] = Cell(*(a + b for a, b in zip(before, score, strict=True)))

    def __bool__(self) -> bool:
        return any(cell.games for cell in self._cells.values())

    def cell(self, of: str, against: str) -> Cell | None:
        """The score; None where they have not met."""
        cell = self._cells.get((of, against))
        return cell if cell is not None and cell.games else None
