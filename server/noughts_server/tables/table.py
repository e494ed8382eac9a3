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

# GitHub makes links of these wherever they are, and notifies the user of a name with @. A backslash does not stop it.
_MARKDOWN_LINKS = re.compile(r"(?<!\w)@|:(?=//)|www(?=\.)", re.IGNORECASE)
_WORD_JOINER = "\u2060"


class Unit(StrEnum):
    TEXT = "text"
    COUNT = "count"
    POINTS = "points"
    SHARE = "share"
    """From 0 to 1, shown as a percentage."""
    NUMBER = "number"
    """Shown with one decimal."""
    MILLISECONDS = "ms"
    COST = "cost"
    """Shown with six decimals."""


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    """The stable name in JSON and CSV."""
    title: str
    """The displayed name."""
    unit: Unit = Unit.TEXT

    @property
    def is_number(self) -> bool:
        """Return whether it is aligned to the right."""
        return self.unit is not Unit.TEXT


@dataclass(frozen=True, slots=True)
class Table:
    kind: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = field(default=())
    """Sentences below it: how it was made, what was omitted."""

    def document(self) -> list[dict[str, Any]]:
        """Return the rows for JSON, by the columns' keys."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]


def cell_text(value: Value, unit: Unit) -> str:
    """Return a displayed cell, in Unicode; empty for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if unit is Unit.POINTS:
        # Sonneborn-Berger scores have quarters after draws.
        whole, quarters = divmod(round(value * 4), 4)
        return f"{whole or ''}{_QUARTERS[quarters]}" if quarters else str(whole)
    if unit is Unit.SHARE:
        # Only 100 % is shown as 100 %.
        return ">99.9%" if 0.9995 <= value < 1 else "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"
    if unit is Unit.NUMBER or unit is Unit.COST:
        return f"{value:.{1 if unit is Unit.NUMBER else 6}f}"
    if unit is Unit.MILLISECONDS:
        return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}"


def as_csv(table: Table) -> str:
    r"""Return RFC 4180 with lines that end in \\n: keys, then the values as numbers; empty cells for None.

    No text is a formula of a spreadsheet.
    """
    written = StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    writer.writerows([_plain(value) for value in row] for row in table.rows)
    return written.getvalue()


def _plain(value: Value) -> Value:
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


def _escaped(words: str) -> str:
    text = _MARKDOWN_MARKS.sub(r"\\\1", printable(" ".join(words.split())))
    return _MARKDOWN_LINKS.sub(r"\g<0>" + _WORD_JOINER, text)
