"""Options for the format of a command's result."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from rich.console import RenderableType
from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.printing import Format

_Row = TypeVar("_Row")
_ROWS_OF_TEXT = 50

FormatOption = Annotated[
    Format,
    Option(
        "--format",
        help="Output format; `json` is for programs (docs/reference/json.md)",
        show_default=True,
        rich_help_panel="Output",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The option for the format of the output, and the methods that print in this format."""

    format: FormatOption = Format.TEXT

    @property
    def is_json(self) -> bool:
        return self.format is Format.JSON

    def show(self, document: Any, text: RenderableType | Callable[[], object]) -> None:
        """Print a result: the document as JSON, or the text, which can be a function that prints it."""
        if self.is_json:
            printing.print_json(document)
        elif callable(text):
            text()
        else:
            printing.stdout().print(text, soft_wrap=isinstance(text, str))
        sys.stdout.flush()

    def show_each(self, documents: Iterable[Any], text: Callable[[], object]) -> None:
        """Print a long list: each document as a line of JSON as soon as the iterator yields it, or the text."""
        if not self.is_json:
            text()
            return
        for document in documents:
            printing.print_json(document)

    def show_rows(
        self,
        document: Any,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        empty: str,
        *,
        first_whole: bool = False,
    ) -> None:
        """Print a list: the document as JSON, or the rows as a table; if there are none, the text `empty`.

        `first_whole`: do not break the cells of the first column into lines.
        """
        self.show(document, lambda: printing.print_rows(columns, rows, empty, first_whole=first_whole))

    def announce(self, document: Any, title: str, text: str) -> None:
        """Print that something has started: the document as JSON, or a heading and a text."""

        def print_text() -> None:
            printing.heading(printing.stdout(), title)
            printing.stdout().print(text, soft_wrap=True)

        self.show(document, print_text)

    def hint(self, message: str) -> None:
        """Print a line on stderr that says what to do next, except with JSON."""
        if not self.is_json:
            printing.note(message)


LimitOption = Annotated[
    int | None,
    Option(
        "--limit",
        metavar="N",
        min=1,
        max=1_000_000_000,
        help="Maximum number of rows. Default: 50; all in JSON",
        rich_help_panel="Output",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(OutputOptions):
    """The options of a command that prints a list: its format, and the number of rows."""

    limit: LimitOption = None

    def limited(self, rows: Callable[[int | None], Iterable[_Row]]) -> Iterator[_Row]:
        """Yield at most --limit rows; text ends with a note on stderr if there are more.

        `rows` gets the maximum number of rows to return, None for all.
        """
        if self.is_json:
            yield from rows(self.limit)
            return
        limit = self.limit or _ROWS_OF_TEXT
        for number, row in enumerate(rows(limit + 1)):
            if number == limit:
                printing.note(f"There are more than {limit}; --limit N prints N.")
                return
            yield row
