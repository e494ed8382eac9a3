"""Tables as CSV and Markdown."""

import csv
import re
from io import StringIO

from noughts_server.tables.table import Table, Value, text

_MARKDOWN_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")


def as_csv(table: Table) -> str:
    r"""Return RFC 4180 with lines that end in \\n: keys, then the values as numbers; empty cells for None."""
    written = StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    writer.writerows([_plain(value) for value in row] for row in table.rows)
    return written.getvalue()


def _plain(value: Value) -> Value:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_markdown(table: Table) -> str:
    """Return a heading, a table in GitHub's Markdown and the notes; names are escaped."""
    lines = [f"## {table.caption}", ""]
    if table.rows:
        lines += [
            _line([_escaped(column.title) for column in table.columns]),
            _line(["---:" if column.is_number else "---" for column in table.columns]),
        ]
        lines += [
            _line([_escaped(text(value, column.unit)) for value, column in zip(row, table.columns, strict=True)])
            for row in table.rows
        ]
        lines.append("")
    lines += [_escaped(note) + "\n" for note in table.notes]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(words: str) -> str:
    return _MARKDOWN_MARKS.sub(r"\\\1", " ".join(words.split()))
