"""Results as rows of a CSV file, with the columns `first`, `second` and `result`, and others that can be empty."""

import csv
import io
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from noughts_server.core.plain_text import of_spreadsheet_cell, spreadsheet_cell
from noughts_server.records.endings import termination_of
from noughts_server.records.recorded_game import (
    BYTE_ORDER_MARK,
    Placed,
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
_NEEDED = ("first", "second", "result")
_SEPARATORS = ",;\t|"
_SEPARATOR_LINE = "sep="
"""The line in which spreadsheets announce the separator."""
_EXPECTED_ROW = "first,second,result as in `alpha,beta,1-0`"
_SHOWN = 80


class _Dialect(csv.excel):
    """An unfinished quotation is an error, because it would swallow the rows after it."""

    skipinitialspace = True
    strict = True


def csv_text(record: RecordedGame) -> str:
    """Return the game as a line. Raises RecordError."""
    check_listed(record)
    text = io.StringIO()
    known = record.occasion
    row = (record.first, record.second, record.result, record.round, known.get("date", ""), known.get("event", ""))
    cells = map(spreadsheet_cell, (*row, record.variant, record.termination))
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def read_csv(lines: Iterable[str]) -> Iterator[Placed]:
    """Yield the games in a file, whose first row can name the columns; White is the player that moved first.

    Without such a row, the columns are the first player, the second and the result. The separator is the one that
    makes the first row a heading or a game.
    """
    skipped, separator, begin = _begin(iter(lines))
    rows = csv.reader(begin, _Dialect, delimiter=separator)
    places: dict[str, int] | None = None
    heading: list[str] = []
    try:
        for row in rows:
            cells = [of_spreadsheet_cell(cell.strip()) for cell in row]
            line = skipped + rows.line_num
            if not any(cells) or [cells[0].removeprefix(BYTE_ORDER_MARK), *cells[1:]] == heading:
                continue
            if places is None:
                places = _heading(cells)
                if places:
                    heading = cells
                    continue
                places = {name: place for place, name in enumerate(_NEEDED)}
            yield Placed(line, _game({name: cells[at] for name, at in places.items() if at < len(cells)}, row))
    except csv.Error as error:
        yield Placed(skipped + rows.line_num, RecordError(f"invalid CSV ({error})", _EXPECTED_ROW))
    except RecordError as error:
        yield Placed(skipped + rows.line_num, error)


def _begin(lines: Iterator[str]) -> tuple[int, str, Iterable[str]]:
    """Return how many lines were skipped, the separator, and the other lines."""
    skipped = 0
    for line in lines:
        if line.strip().lower().startswith(_SEPARATOR_LINE) and len(line.strip("\r\n")) == len(_SEPARATOR_LINE) + 1:
            return skipped + 1, line.strip("\r\n")[-1], lines
        if line.strip():
            return skipped, next(filter(partial(_separates, line), _SEPARATORS), ","), chain([line], lines)
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
    return len(cells) >= len(_NEEDED) and result_of(cells[2]) in RESULTS


def _heading(cells: list[str]) -> dict[str, int]:
    """Return the place of each column that a heading names; empty if it is not a heading. Raises RecordError."""
    names = [cell.lower().replace(" ", "_") for cell in cells]
    places = {}
    for column in COLUMNS:
        if heading := next((name for name in _NAMES.get(column, (column,)) if name in names), ""):
            places[column] = names.index(heading)
    missing = [column for column in _NEEDED if column not in places]
    if missing and len(missing) < len(_NEEDED) and not _is_game(cells):  # players can be called White and Black
        wrong = f"a heading without {missing[0]!r}: {','.join(cells)[:_SHOWN]}"
        raise RecordError(wrong, "the columns first, second and result, or white, black and result")
    return {} if missing else places


def _game(cells: dict[str, str], row: list[str]) -> RecordedGame | RecordError:
    if not all(cells.get(name) for name in _NEEDED):
        return RecordError(repr(",".join(row)[:_SHOWN]), _EXPECTED_ROW)
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
