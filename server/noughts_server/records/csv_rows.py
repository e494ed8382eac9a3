"""Results as rows of a CSV file, with the columns `first`, `second` and `result`, and others that can be empty."""

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain

from noughts_server.core.plain_text import of_spreadsheet_cell, spreadsheet_cell
from noughts_server.records.endings import termination_of
from noughts_server.records.recorded_game import (
    BYTE_ORDER_MARK,
    PlacedGame,
    RecordError,
    check_listed,
    listed_game,
    result_of,
)
from noughts_server.tables.recorded_game import RESULTS, RecordedGame, occasion, round_of

COLUMNS = ("first", "second", "result", "round", "date", "event", "variant", "termination")
CSV_HEAD = ",".join(COLUMNS) + "\n"

_NAMES = {
    "first": ("first", "white", "player1", "first_player"),
    "second": ("second", "black", "player2", "second_player"),
    "result": ("result", "score"),
    "date": ("date", "end_time"),
}
"""The names of a column, the best one first; other columns have one name."""
_REQUIRED = ("first", "second", "result")
_SEPARATORS = ",;\t|"
_SEPARATOR_LINE = "sep="
"""The beginning of a line by which spreadsheets declare the separator."""
_EXPECTED_ROW = "first,second,result as in `alpha,beta,1-0`"
_LONGEST_QUOTE = 80
"""Characters of a line that an error quotes."""


class _Dialect(csv.excel):
    """An unfinished quotation is an error, because it would swallow the rows after it."""

    skipinitialspace = True
    strict = True


def csv_text(record: RecordedGame) -> str:
    """Return the game as a line. Raises RecordError."""
    check_listed(record)
    text = io.StringIO()
    occasion_of_game = record.occasion
    values = {
        "first": record.first,
        "second": record.second,
        "result": record.result,
        "round": record.round,
        "date": occasion_of_game.get("date", ""),
        "event": occasion_of_game.get("event", ""),
        "variant": record.variant,
        "termination": record.termination,
    }
    csv.writer(text, lineterminator="\n").writerow(spreadsheet_cell(values[column]) for column in COLUMNS)
    return text.getvalue()


def read_csv(lines: Iterable[str]) -> Iterator[PlacedGame]:
    """Yield the games in a file, whose first row can be a heading with the names of the columns.

    A heading can call the first player White. Without a heading, the columns are the first player, the second player
    and the result. The separator is the one with which the first row is a heading or a game.
    """
    skipped, separator, other_lines = _begin(iter(lines))
    rows = csv.reader(other_lines, _Dialect, delimiter=separator)
    places: dict[str, int] | None = None
    heading: list[str] = []
    try:
        for row in rows:
            cells = [of_spreadsheet_cell(cell.strip()) for cell in row]
            line = skipped + rows.line_num
            if not any(cells):
                continue
            # Files that were joined repeat the heading.
            if [cells[0].removeprefix(BYTE_ORDER_MARK), *cells[1:]] == heading:
                continue
            if places is None:
                places = _heading(cells)
                if places:
                    heading = cells
                    continue
                places = {name: place for place, name in enumerate(_REQUIRED)}
            values = {name: cells[place] for name, place in places.items() if place < len(cells)}
            yield PlacedGame(line, _game(values, row))
    except csv.Error as error:
        yield PlacedGame(skipped + rows.line_num, RecordError(f"invalid CSV ({error})", _EXPECTED_ROW))
    except RecordError as error:
        yield PlacedGame(skipped + rows.line_num, error)


def _begin(lines: Iterator[str]) -> tuple[int, str, Iterable[str]]:
    """Find the separator. Return the number of lines before the first row, the separator, and the lines of all rows."""
    skipped = 0
    for line in lines:
        if line.strip().lower().startswith(_SEPARATOR_LINE) and len(line.strip("\r\n")) == len(_SEPARATOR_LINE) + 1:
            return skipped + 1, line.strip("\r\n")[-1], lines
        if line.strip():
            separator = next((mark for mark in _SEPARATORS if _separates(line, mark)), ",")
            return skipped, separator, chain([line], lines)
        skipped += 1
    return skipped, ",", ()


def _separates(line: str, separator: str) -> bool:
    """Return whether a line is a heading or a game with this separator."""
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], _Dialect, delimiter=separator))]
        return bool(_heading(cells)) or _is_game(cells)
    except (csv.Error, RecordError):
        return False


def _is_game(cells: list[str]) -> bool:
    if len(cells) < len(_REQUIRED):
        return False
    _, _, result, *_ = cells
    return result_of(result) in RESULTS


def _heading(cells: list[str]) -> dict[str, int]:
    """Return the place of each column that a heading names; empty if it is not a heading. Raises RecordError."""
    names = [cell.lower().replace(" ", "_") for cell in cells]
    places = {}
    for column in COLUMNS:
        if name := next((name for name in _NAMES.get(column, (column,)) if name in names), ""):
            places[column] = names.index(name)
    missing = [column for column in _REQUIRED if column not in places]
    if missing and len(missing) < len(_REQUIRED) and not _is_game(cells):  # players can be called White and Black
        got = f"a heading without {missing[0]!r}: {','.join(cells)[:_LONGEST_QUOTE]}"
        raise RecordError(got, "the columns first, second and result, or white, black and result")
    return {} if missing else places


def _game(cells: dict[str, str], row: list[str]) -> RecordedGame | RecordError:
    if not all(cells.get(name) for name in _REQUIRED):
        return RecordError(repr(",".join(row)[:_LONGEST_QUOTE]), _EXPECTED_ROW)
    result = result_of(cells["result"])
    more = occasion(cells.get("event", ""), cells.get("date", "")) | round_of(cells.get("round", ""))
    try:
        return listed_game(
            cells["first"],
            cells["second"],
            result,
            variant=cells.get("variant", ""),
            termination=termination_of(cells.get("termination", ""), result) if result in RESULTS else "",
            more=more,
        )
    except RecordError as error:
        return error
