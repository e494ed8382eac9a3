"""Tables that are too wide for the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from noughts_server.cli.drawing.tables import show_table
from noughts_server.tables.table import Column, Table, Unit

NAME = (Column("rank", "#", Unit.COUNT), Column("name", "bot"))


@pytest.mark.parametrize("width", [40, 60, 79])
def test_each_column_of_a_wide_table_is_in_one_block(width: int) -> None:
    console = Console(width=width, file=io.StringIO())
    columns = [*NAME, *(Column(f"c{place}", f"c{place}", Unit.COUNT) for place in range(30))]
    show_table(console, Table("wide", "Wide", columns, [(1, "first", *range(30)), (2, "second", *range(30))]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    headings = [line.split() for line in lines if line.startswith("#")]
    assert [word for line in headings for word in line[2:]] == [f"c{place}" for place in range(30)]
