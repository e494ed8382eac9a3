"""How commands that are not in `commands/` yet print their results: the format is a variable of the context."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rich.console import RenderableType

from noughts_server.cli.printing import Format, heading, note, print_json, print_rows, stdout

Chosen = TypeVar("Chosen")
FORMAT: ContextVar[Format] = ContextVar("FORMAT", default=Format.TEXT)
"""How results are printed."""


@contextmanager
def chosen(variable: ContextVar[Chosen], value: Chosen) -> Iterator[None]:
    """The variable has this value inside the `with` block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def is_json() -> bool:
    return FORMAT.get() is Format.JSON


def show(document: Any, text: RenderableType | Callable[[], object]) -> None:
    """Print a result: the document as JSON, or the text, which can be a function that prints it."""
    if is_json():
        print_json(document)
    elif callable(text):
        text()
    else:
        stdout().print(text, soft_wrap=isinstance(text, str))
    sys.stdout.flush()


def show_each(documents: Iterable[Any], text: Callable[[], object]) -> None:
    """Print a list that can be long: each document as a line of JSON as soon as it is there, or the text."""
    if not is_json():
        text()
        return
    for document in documents:
        print_json(document)


def announce(document: Any, title: str, text: str) -> None:
    """Print that something has started: the document as JSON, or a heading and a text."""

    def tell() -> None:
        heading(stdout(), title)
        stdout().print(text, soft_wrap=True)

    show(document, tell)


def show_rows(
    document: Any, columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str, *, first_whole: bool = False
) -> None:
    """Print a list: the document as JSON, or the rows as a table; if there are none, the text `empty`."""
    show(document, lambda: print_rows(columns, rows, empty, first_whole=first_whole))


def hint(message: str) -> None:
    """A line on stderr that says what to do next, for people only."""
    if not is_json():
        note(message)
