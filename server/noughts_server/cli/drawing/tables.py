"""Tables that fit a terminal, in several blocks if they are too wide."""

from collections.abc import Sequence

from rich.console import Console

from noughts_server.cli import printing
from noughts_server.tables.table import Column, Table, text

_LONGEST_NAME = 24


def show_table(console: Console, data: Table) -> None:
    """Print a table with its caption and its notes."""
    printing.heading(console, data.caption)
    if data.rows:
        cells = [
            [_cell(text(value, column.unit)) for value, column in zip(row, data.columns, strict=True)]
            for row in data.rows
        ]
        for block, places in enumerate(_blocks(console.width, data.columns, cells)):
            if block:
                console.print()
            columns = [f"{'>' * data.columns[at].is_number}{data.columns[at].title}" for at in places]
            rows = [[row[at][:_LONGEST_NAME] for at in places] for row in cells]
            console.print(printing.table(columns, rows))
    for note in data.notes:
        console.print(printing.printable(note), style="dim")


def _cell(words: str) -> str:
    for sign, digits in (("¼", ".25"), ("½", ".5"), ("¾", ".75")) if not printing.unicode() else ():
        words = words.replace(sign, digits)
    return words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1]}…"


def _blocks(width: int, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the columns of each block: as many as fit next to those that name the row."""
    widths = [max(len(column.title), *(len(row[place]) for row in cells)) + 2 for place, column in enumerate(columns)]
    names = 1 + (columns[1].key == "name")
    head = list(range(names))
    blocks: list[list[int]] = []
    room = 0
    for place in range(names, len(columns)):
        if not blocks or room < widths[place]:
            blocks.append(list(head))
            room = width - sum(widths[:names])
        blocks[-1].append(place)
        room -= widths[place]
    return blocks or [head]
