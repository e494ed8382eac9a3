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
    width = console.width - number_width - 2
    longest_label = max(map(len, ("bot", *labels)))
    label_width = min(longest_label, max(_SHORTEST_LABEL, width - _FEWEST_COLUMNS * cell_width))
    columns_per_block = max(1, (width - label_width) // cell_width)

    def block(columns: range) -> RenderableType:
        block_table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        block_table.add_column("#", justify="right", no_wrap=True)
        block_table.add_column("bot", max_width=label_width, overflow="ellipsis", no_wrap=True)
        for column in columns:
            block_table.add_column(str(column + 1), justify="right", no_wrap=True, min_width=cell_width - 1)
        for number, (label, row) in enumerate(zip(labels, cells, strict=True), start=1):
            block_table.add_row(str(number), Text(printable(label)), *(Text(row[column]) for column in columns))
        return block_table

    starts = range(0, len(labels), columns_per_block)
    return Group(*(block(range(len(labels))[start : start + columns_per_block]) for start in starts))


def _cell(crosstable: Crosstable, label: str, opponent: str) -> str:
    if label == opponent:
        return "·"
    score = crosstable.total(label, opponent)
    return points(score.points) if score.games else ""
