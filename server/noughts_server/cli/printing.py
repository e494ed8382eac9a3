"""Print to stdout and stderr: consoles, tables, JSON, and numbers as text."""

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noughts_server.core import plain_text

_LEAST_COLUMNS = 20
_LONGEST_NAME = 63
_SHORTEST_TEXT = 8
"""The least width of a column of texts, in characters."""
_SHORT_TEXT = 24
"""Texts of up to this number of characters stay on one line if the other texts keep `_USUAL_LEAST_TEXT`."""
_USUAL_LEAST_TEXT = 12
"""The usual least width of a column of texts, in characters."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
"""A time as `times.clock` returns it."""


class Format(StrEnum):
    """The format of printed results."""

    TEXT = "text"
    JSON = "json"


def print_rows(
    columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str, *, first_whole: bool = False
) -> None:
    """Print the rows as a table; if there are none, the text `empty`."""
    all_rows = list(rows)
    stdout().print(table(columns, all_rows, first_whole=first_whole) if all_rows else empty)


class _Uncropped(Console):
    """A console that does not cut long lines."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print the objects, strings without control characters; the terminal wraps lines that are too long."""
        safe_objects = (printable(part) if isinstance(part, str) else part for part in objects)
        super().print(*safe_objects, **{"crop": False, **options})


def stdout() -> Console:
    """Return the console for results, with colours on a terminal only."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return the console for errors, warnings and progress."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # A dumb terminal cannot redraw: print to it as to a file. None means that Rich finds out.
    is_terminal = False if os.environ.get("TERM", "").lower() in ("dumb", "unknown") else None
    console = _Uncropped(stderr=stderr, highlight=False, markup=False, emoji=False, force_terminal=is_terminal)
    console.width = max(console.width, _LEAST_COLUMNS)
    return console


def print_json(document: Any) -> None:
    """Print one line of JSON and flush it. NaN and infinity become null."""
    sys.stdout.write(compact_json(document) + "\n")
    sys.stdout.flush()


def seed_document(seed: int | None) -> dict[str, Any]:
    """Return a seed as a number and as text, because many programs read whole numbers exactly only up to 2^53."""
    return {"seed": seed, "seed_text": None if seed is None else str(seed)}


def compact_json(document: Any) -> str:
    """Return the document without spaces, in ASCII."""
    return json.dumps(_finite(document), separators=(",", ":"), allow_nan=False)


def show_error(message: str, hint: str) -> None:
    """Print the error that ends the program on stderr, and how to fix it."""
    message, hint = printable(message), printable(hint)
    text = Text("Error: ", style="bold red").append(message, style="not bold default")
    if hint:
        fix = "" if hint.endswith("?") else "Fix: "
        text.append(f"\n{fix}{hint}", style="not bold default")
    stderr().print(text, soft_wrap=True)


def warn(message: str) -> None:
    """Print a warning on stderr."""
    stderr().print(f"Warning: {printable(message)}", style="yellow", soft_wrap=True)


def note(message: str) -> None:
    """Print a line for the user on stderr."""
    stderr().print(printable(message), soft_wrap=True)


def printable(text: str) -> str:
    """Return the text without control characters, with which a name could control the terminal."""
    return plain_text.printable(text, keep="\n")


def heading(console: Console, text: str) -> None:
    """Print a heading."""
    console.print(printable(text), style="bold", soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, first_whole: bool = False) -> Table:
    """Return a table of text. Columns whose name begins with `>` have numbers and are aligned to the right.

    Columns of names, IDs and times are not broken into lines; with `first_whole` neither is the first column. If there
    is enough space, short texts such as states are not broken either, but longer texts next to them are.
    """
    texts = [tuple(printable(str(cell)) for cell in row) for row in rows]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    least_width = usual_width = 0
    short_columns = []
    for number, name in enumerate(columns):
        is_number = name.startswith(">")
        cells = [row[number] for row in texts]
        longest = max(len(cell) for cell in (name.lstrip(">"), *cells))
        # A name or an ID that is broken cannot be copied.
        is_name = longest <= _LONGEST_NAME and not any(" " in cell and not _TIME.fullmatch(cell) for cell in cells)
        is_whole = is_number or is_name or (first_whole and number == 0)
        least_width += 2 + (longest if is_whole else min(longest, _SHORTEST_TEXT))
        usual_width += 2 + (longest if is_whole else min(longest, _USUAL_LEAST_TEXT))
        if not is_whole and longest <= _SHORT_TEXT:
            short_columns.append((number, longest))
        grid.add_column(name.lstrip(">"), justify="right" if is_number else "left", overflow="fold", no_wrap=is_whole)
    for number, longest in short_columns:
        additional_width = max(0, longest - _USUAL_LEAST_TEXT)
        if usual_width + additional_width <= stdout().width:
            usual_width += additional_width
            grid.columns[number].no_wrap = True
    for row in texts:
        grid.add_row(*map(Text, row))
    if least_width > stdout().width:
        grid.width = least_width  # A narrower table would cut numbers.
    return grid


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1 game` or `12,000 games`; `plural` is for nouns that do not add an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def points(value: float, encoding: str = "") -> str:
    """Return `2½` for 2.5, or `2.5` if a terminal with this encoding cannot show it; see `unicode`."""
    whole, half = divmod(round(value * 2), 2)
    if not half:
        return str(whole)
    return f"{whole or ''}½" if unicode(encoding) else f"{whole}.5"


def unicode(encoding: str = "") -> bool:
    """Return whether a terminal with this encoding can show more than ASCII; without one, whether stdout can.

    While an application is open, stdout is a stream without an encoding.
    """
    return (encoding or sys.stdout.encoding or "").lower().startswith("utf")


def rating(value: float | None) -> str:
    """Return a rating without decimals; `-` without one."""
    return "-" if value is None else f"{value:.0f}"


def _finite(value: Any) -> Any:
    """Return the value with null in place of NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
