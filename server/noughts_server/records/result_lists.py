"""Results without moves: PGN tags for Ordo and BayesElo, and lines of `white,black,result`.

White is the first mover, so White's advantage in those programs is the first-move advantage. (c-gomoku-cli calls the
first mover Black, also in its PGN.)
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

from noughts_server.records.recorded_game import RESULT_SPELLINGS, Placed, RecordError, check_names
from noughts_server.tables.recorded_game import RESULTS, RecordedGame, occasion, one_line

_COLUMNS = ("white", "black", "result")
_EXPECTED_ROW = "white,black,result as in `alpha,beta,1-0`"
_SHOWN = 80
CSV_HEAD = ",".join(_COLUMNS) + "\n"

_NEEDED_TAGS = ("White", "Black", "Result")
_TAG = re.compile(r'\s*\[(\w+)\s+"((?:[^"\\]|\\.)*)"\]\s*')


def pgn_text(record: RecordedGame, number: int = 1) -> str:
    """Return the tags of a game, and its result. Raises RecordError."""
    _check_names(record)
    known = record.occasion
    date = ".".join([*known.get("date", "????").split("-"), "??", "??"][:3])
    tags = {"Event": known.get("event", "?"), "Site": "?", "Date": date, "Round": str(number)}
    tags |= {"White": record.first, "Black": record.second, "Result": record.result, "Variant": record.variant}
    tags |= {"Termination": record.termination, "PlyCount": str(len(record.moves))}
    lines = [f'[{name} "{_escaped(one_line(value))}"]' for name, value in tags.items() if value]
    return "\n".join([*lines, "", record.result, "", ""])


def read_pgn(lines: Iterable[str]) -> Iterator[Placed]:
    """Yield the games in a file, by their tags; moves are not read.

    A blank line, or a tag White, Black or Result that the game already has, ends its tags.
    """
    tags: dict[str, str] = {}
    begun, in_tags, anything = 1, False, False
    for number, line in enumerate(lines, start=1):
        anything = anything or not line.isspace()
        found = _TAG.fullmatch(line)
        if found is None:
            in_tags = False
            continue
        if not in_tags or (found.group(1) in _NEEDED_TAGS and found.group(1) in tags):
            if tags:
                yield _tagged(begun, tags)
            tags, begun, in_tags = {}, number, True
        tags[found.group(1)] = re.sub(r"\\(.)", r"\1", found.group(2))
    if tags:
        yield _tagged(begun, tags)
    elif anything:
        yield Placed(1, RecordError("no tags", 'tags as in [White "minimax"]'))


def _tagged(line: int, tags: dict[str, str]) -> Placed:
    missing = [name for name in _NEEDED_TAGS if name not in tags]
    if missing:
        return Placed(line, RecordError(f"no tag {missing[0]}", "White, Black and Result"))
    empty = [name for name in ("White", "Black") if not tags[name]]
    if empty:
        return Placed(line, RecordError(f"an empty tag {empty[0]}", "a name"))
    more = occasion(tags.get("Event", ""), tags.get("Date", ""))
    known: dict[str, Any] = {"termination": tags.get("Termination", ""), "more": more}
    return _result(line, tags["White"], tags["Black"], tags["Result"], tags.get("Variant", ""), **known)


def csv_text(record: RecordedGame) -> str:
    """Return the game as a line. Raises RecordError."""
    _check_names(record)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow((record.first, record.second, record.result))
    return text.getvalue()


def read_csv(lines: Iterable[str]) -> Iterator[Placed]:
    """Yield the games in a file, whose first row can name the columns: these three, and `termination`."""
    rows = csv.reader(lines)
    places: list[int] | None = None
    ending: int | None = None
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if places is None:
                names = [cell.lower() for cell in cells]
                if set(_COLUMNS) <= set(names):
                    places = [names.index(column) for column in _COLUMNS]
                    ending = names.index("termination") if "termination" in names else None
                    continue
                places = [0, 1, 2]
            white, black, result = (cells[place] if place < len(cells) else "" for place in places)
            if white and black and result:
                termination = cells[ending] if ending is not None and ending < len(cells) else ""
                yield _result(rows.line_num, white, black, result, termination=termination)
            else:
                yield Placed(rows.line_num, RecordError(repr(",".join(row)[:_SHOWN]), _EXPECTED_ROW))
    except csv.Error as error:
        yield Placed(rows.line_num, RecordError(f"invalid CSV ({error})", _EXPECTED_ROW))


def _result(line: int, first: str, second: str, result: str, variant: str = "", **known: Any) -> Placed:
    result = RESULT_SPELLINGS.get(result, result)
    if result not in RESULTS:
        return Placed(line, RecordError(f"the result {result[:_SHOWN]!r}", f"one of {', '.join(RESULTS)}"))
    return Placed(line, RecordedGame(variant, first, second, result, **known))


def _check_names(record: RecordedGame) -> None:
    check_names(record, "a list of results")
    if not (record.first.strip() and record.second.strip()):
        raise RecordError("a game between players without names", "two names: a list of results holds nothing else")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
