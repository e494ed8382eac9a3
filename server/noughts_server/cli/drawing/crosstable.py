"""Crosstables that fit a terminal."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from noughts_server.cli.printing import points, printable
from noughts_server.tables.crosstable import Crosstable

_FEWEST_COLUMNS = 4
_SHORTEST_LABEL = 8


def crosstable_table(crosstable: Crosstable, console: Console) -> RenderableType:
    """Return the points of each row against each numbered column, in several blocks if the console is narrow."""
    labels = crosstable.labels
    cells = [[_cell(crosstable, label, opponent) for opponent in labels] for label in labels]

    number_width = len(str(len(labels)))
    cell_width = max([number_width, *(len(cell) for row in cells for cell in row)], default=1) + 1
    room = console.width - number_width - 2
    longest = max(map(len, ("bot", *labels)))
    label_width = min(longest, max(_SHORTEST_LABEL, room - _FEWEST_COLUMNS * cell_width))
    fitting = max(1, (room - label_width) // cell_width)

    def block(columns: range) -> RenderableType:
        drawn = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        drawn.add_column("#", justify="right", no_wrap=True)
        drawn.add_column("bot", max_width=label_width, overflow="ellipsis", no_wrap=True)
        for column in columns:
            drawn.add_column(str(column + 1), justify="right", no_wrap=True, min_width=cell_width - 1)
        for number, (label, row) in enumerate(zip(labels, cells, strict=True), start=1):
            drawn.add_row(str(number), Text(printable(label)), *(Text(row[column]) for column in columns))
        return drawn

    every = range(len(labels))
    return Group(*(block(every[start : start + fitting]) for start in every[::fitting]))


def _cell(crosstable: Crosstable, label: str, opponent: str) -> str:
    if label == opponent:
        return "·"
    score = crosstable.total(label, opponent)
    return points(score.points) if score.games else ""
