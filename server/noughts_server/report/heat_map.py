"""The crosstable coloured by score: a table with numbers for some dozen bots, a picture for hundreds."""

from typing import NamedTuple

from markupsafe import Markup

from noughts_server.competition.score import Score
from noughts_server.tables.crosstable import LEVELS, level
from noughts_server.tables.table import Unit, cell_text
from noughts_server.tables.tally import Tally

MOST_WITH_NUMBERS = 40
"""Bots of the heat map with numbers. With more bots, the numbers would not be readable."""
MOST_DRAWN = 300
"""Bots of the picture: 300 already make 90,000 squares."""


class Cell(NamedTuple):
    """The score of a bot against another one."""

    points: str
    level: int | None
    """The number of the colour, 0 to LEVELS - 1; None if the two have not met."""
    score: str
    """The score in words."""


class HeatRow(NamedTuple):
    """The scores of a bot against the others, in the order of the standings."""

    rank: int
    name: str
    cells: list[Cell]


def heat_rows(tally: Tally) -> list[HeatRow]:
    """Return the first bots of the standings, each against each of them."""
    standings = tally.standings()[:MOST_WITH_NUMBERS]
    crosstable = tally.crosstable(row.label for row in standings)
    cells = {
        label: [_cell(label, other, crosstable.total(label, other)) for other in crosstable.labels]
        for label in crosstable.labels
    }
    return [HeatRow(row.rank, row.label, cells[row.label]) for row in standings]


def _cell(label: str, other: str, score: Score) -> Cell:
    if not score.games:
        return Cell("", None, "")
    points = cell_text(score.points, Unit.POINTS)
    sentence = f"{label} against {other}: {points} of {score.games:,} (+{score.wins} ={score.draws} −{score.losses})"
    return Cell(points, level(score), sentence)


def heat_picture(tally: Tally) -> Markup:
    """Draw the first `MOST_DRAWN` bots as squares without numbers: SVG with a path for each colour."""
    labels = [row.label for row in tally.standings()[:MOST_DRAWN]]
    crosstable = tally.crosstable(labels)
    paths: list[list[str]] = [[] for _ in range(LEVELS)]
    for row, label in enumerate(labels):
        for column, other in enumerate(labels):
            if (score := crosstable.total(label, other)).games:
                paths[level(score)].append(f"M{column} {row}h1v1h-1z")
    path_elements = Markup("").join(
        Markup('<path class="heat-{}" d="{}"/>').format(number, "".join(squares))
        for number, squares in enumerate(paths)
    )
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="heat-picture" viewBox="0 0 {0} {0}" aria-hidden="true"'
        ' shape-rendering="crispEdges">{1}</svg>'
    ).format(len(labels), path_elements)
