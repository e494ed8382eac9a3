"""Tables and texts in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Columns that are empty in all rows are left out."""
    cells = [[_cell(text) for text in row] for row in rows]
    used = [number for number, _ in enumerate(header) if any(row[number] for row in cells)]
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join(f"| {' | '.join(line[number] for number in used)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return the text as code; empty text stays empty."""
    return f"`{text}`" if text else ""


def fenced(text: str, language: str = "") -> str:
    """Return the text as a block of code."""
    return f"```{language}\n{text}\n```"


def prose(text: str) -> str:
    """Return a text with options and variables as code, and with `<`, `>` and `*` escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    escaped = re.sub(r"([<>*])", r"\\\1", text)
    # An option such as --games or a variable such as NOUGHTS_SERVER, but not the hyphen inside a word.
    return re.sub(r"(?<![\w-])(--?[a-z][\w-]*|[A-Z]+_[A-Z_]+)", r"`\1`", escaped)


def sentence(text: str) -> str:
    """Return the text with a full stop."""
    text = " ".join(text.split())
    return f"{text}." if text and text[-1] not in ".:?" else text
