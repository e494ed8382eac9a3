"""Options that several commands share."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from noughts_server.cli.output import is_json
from noughts_server.cli.printing import note

_Row = TypeVar("_Row")
_ROWS_OF_TEXT = 50


def limited(rows: Callable[[int | None], Iterable[_Row]], limit: int | None) -> Iterator[_Row]:
    """Yield the rows that --limit asks for; text ends with a note on stderr if there are more.

    `rows` returns at most the number of rows that it gets, None: all.
    """
    if is_json():
        yield from rows(limit)
        return
    most = limit or _ROWS_OF_TEXT
    for number, row in enumerate(rows(most + 1)):
        if number == most:
            note(f"There are more than {most}; --limit N prints N.")
            return
        yield row
