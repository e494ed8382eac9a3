"""A table as data: rows, and columns with units. Other modules display it."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from io import StringIO
from typing import Any

from noughts_server.core.plain_text import printable, spreadsheet_cell

Value = str | int | float | None
"""A cell; None is an empty one."""

_QUARTERS = ("", "¼", "½", "¾")

_MARKDOWN_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")

# GitHub turns these into links, and notifies the user with a name after @. A backslash before them does not prevent it.
_MARKDOWN_LINKS = re.compile(r"(?<!\w)@|:(?=//)|www(?=\.)", re.IGNORECASE)
_WORD_JOINER = "\u2060"


class Unit(StrEnum):
    """The unit of a column's values, which determines how they are displayed."""

    TEXT = "text"
    COUNT = "count"
    POINTS = "points"
    SHARE = "share"
    """A number from 0 to 1 that is displayed as a percentage."""
    NUMBER = "number"
    """A number that is displayed with one decimal."""
    MILLISECONDS = "ms"
    COST = "cost"
    """A number that is displayed with six decimals."""


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    """The stable name in JSON and CSV."""
    title: str
    """The displayed name."""
    unit: Unit = Unit.TEXT

    @property
    def is_number(self) -> bool:
        """Return whether the values are numbers, which are aligned to the right."""
        return self.unit is not Unit.TEXT


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table, with its columns and notes."""

    kind: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = field(default=())
    """Sentences below the table: how it was made, and what was omitted."""

    def document(self) -> list[dict[str, Any]]:
        """Return the rows for JSON, by the columns' keys."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]


def cell_text(value: Value, unit: Unit) -> str:
    """Return the displayed text of a value; empty for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if unit is Unit.POINTS:
        # Sonneborn-Berger scores have quarters after draws.
        whole, quarters = divmod(round(value * 4), 4)
        return f"{whole or ''}{_QUARTERS[quarters]}" if quarters else str(whole)
    if unit is Unit.SHARE:
        # Only exact values are displayed as 100 % and 0 %.
        if 0.9995 <= value < 1:
            return ">99.9%"
        return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"
    if unit is Unit.NUMBER:
        return f"{value:.1f}"
    if unit is Unit.COST:
        return f"{value:.6f}"
    if unit is Unit.MILLISECONDS:
        if value < 10:
            return f"{value:.2f}"
        return f"{value:.1f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}"


def as_csv(table: Table) -> str:
    r"""Return CSV as in RFC 4180, but with lines that end in \n: a line of keys, then the rows; empty cells for None.

    Spreadsheets do not read any text as a formula.
    """
    output = StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    writer.writerows([_csv_value(value) for value in row] for row in table.rows)
    return output.getvalue()


def _csv_value(value: Value) -> Value:
    if isinstance(value, str):
        return spreadsheet_cell(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_markdown(table: Table) -> str:
    """Return a heading, a table in GitHub's Markdown and the notes; names are escaped."""
    lines = [f"## {_escaped(table.caption)}", ""]
    if table.rows:
        lines += [
            _line([_escaped(column.title) for column in table.columns]),
            _line(["---:" if column.is_number else "---" for column in table.columns]),
        ]
        lines += [
            _line([_escaped(cell_text(value, column.unit)) for value, column in zip(row, table.columns, strict=True)])
            for row in table.rows
        ]
        lines.append("")
    lines += [_escaped(note) + "\n" for note in table.notes]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Return the text on one line, so that Markdown displays it unchanged."""
    escaped = _MARKDOWN_MARKS.sub(r"\\\1", printable(" ".join(text.split())))
    return _MARKDOWN_LINKS.sub(r"\g<0>" + _WORD_JOINER, escaped)
