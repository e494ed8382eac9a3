"""Tables that fit a terminal, in several blocks if they are too wide."""

from collections.abc import Sequence

from rich.console import Console

from noughts_server.cli import printing
from noughts_server.tables.table import Column, Table, cell_text

_LONGEST_NAME = 24


def show_table(console: Console, data: Table) -> None:
    """Print a table with its caption and its notes."""
    printing.heading(console, data.caption)
    if data.rows:
        cells = [
            [_cell(cell_text(value, column.unit)) for value, column in zip(row, data.columns, strict=True)]
            for row in data.rows
        ]
        for block, indices in enumerate(_blocks(console.width, data.columns, cells)):
            if block:
                console.print()
            columns = [_heading(data.columns[index]) for index in indices]
            rows = [[row[index] for index in indices] for row in cells]
            console.print(printing.table(columns, rows))
    for note in data.notes:
        console.print(printing.printable(note), style="dim")


def _heading(column: Column) -> str:
    return f">{column.title}" if column.is_number else column.title


def _cell(content: str) -> str:
    """Return the content, shortened to `_LONGEST_NAME` characters; without ¼, ½ and ¾ if the output needs it."""
    if not printing.unicode():
        content = content.replace("¼", ".25").replace("½", ".5").replace("¾", ".75")
    return content if len(content) <= _LONGEST_NAME else f"{content[: _LONGEST_NAME - 1]}…"


def _blocks(width: int, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the indices of each block's columns: those that name the row, and as many others as fit."""
    widths = [max(len(column.title), *(len(row[index]) for row in cells)) + 2 for index, column in enumerate(columns)]
    name_columns = 2 if columns[1].key == "name" else 1
    first_columns = list(range(name_columns))
    blocks: list[list[int]] = []
    width_left = 0
    for index in range(name_columns, len(columns)):
        if not blocks or width_left < widths[index]:
            blocks.append(list(first_columns))
            width_left = width - sum(widths[:name_columns])
        blocks[-1].append(index)
        width_left -= widths[index]
    return blocks or [first_columns]
