"""Games as lines of JSON, one game a line: the only format that keeps all values of a game."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from noughts_referee.rules import Position, Variant
from noughts_server.records.endings import termination_of
from noughts_server.records.recorded_game import BYTE_ORDER_MARK, LONGEST_MS, PlacedGame, RecordError, variant_of
from noughts_server.tables.recorded_game import RESULTS, RecordedGame

LINE_KEYS = (
    "variant",
    "first",
    "second",
    "seed",
    "moves",
    "result",
    "termination",
    "winning_cells",
    "seed_text",
    "opening",
    "first_time",
    "second_time",
    "time_factor",
    "fault",
    "adjudication",
    "times_ms",
    "margins_ms",
    "late_moves",
    "scores",
    "comments",
    "thoughts",
    "round",
    "tournament",
)
"""The keys of a line, in order."""
_REQUIRED = ("variant", "first", "second", "moves", "result")
_TEXTS = ("result", "variant", "first", "second", "termination", "first_time", "second_time")
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_ENCODE_UNICODE = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
"""For a check: raises an error for NaN, and returns lone surrogates, which UTF-8 cannot encode."""


def read_json_lines(lines: Iterable[str]) -> Iterator[PlacedGame]:
    """Yield the games of these lines, or the error of an invalid line. Empty lines are skipped."""
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            yield PlacedGame(number, _read(line))
        except RecordError as error:
            yield PlacedGame(number, error)


def _read(line: str) -> RecordedGame:
    try:
        document: Any = json.loads(line.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise RecordError("broken JSON", "a game as JSON on one line") from error
    if not isinstance(document, dict):
        raise RecordError("JSON that is not an object", 'a game: {"variant", "first", "second", "moves", "result"}')
    return read_document(document)


def read_document(document: dict[str, Any]) -> RecordedGame:
    """Return the game of a JSON object. Raises RecordError."""
    missing = [name for name in _REQUIRED if name not in document]
    if missing:
        raise RecordError(f"no {missing[0]!r}", f"a game with {', '.join(repr(name) for name in _REQUIRED)}")
    rest = dict(document)
    moves = _cells(rest.pop("moves"), "moves")
    times = _times(rest.pop("times_ms", []))
    try:
        _ENCODE_UNICODE(rest).encode()
    except (ValueError, RecursionError) as error:
        raise RecordError(f"a value that JSON cannot hold ({error})", "numbers and Unicode text") from error
    if rest.get("termination", "") is None:
        del rest["termination"]
    texts = {name: _text(rest.pop(name, ""), name) for name in _TEXTS}
    result = texts["result"]
    if result not in RESULTS:
        raise RecordError(f"the result {result!r}", f"one of {', '.join(RESULTS)}")
    termination = termination_of(texts["termination"], result)
    opening = rest.get("opening")
    opening_plies = 0
    # Another opening is an agreement of the players: an object, which stays in `rest`.
    if isinstance(opening, list):
        del rest["opening"]
        cells = _cells(opening, "opening")
        if moves[: len(cells)] != cells:
            raise RecordError(f"an opening {list(cells)}", "the first of the moves")
        opening_plies = len(cells)
    seed = rest.pop("seed", None)
    if seed is not None and type(seed) is not int:
        raise RecordError(f"the seed {seed!r}", "a whole number")
    fault = rest.get("fault")
    reason = str(fault.get("reason", "")) if isinstance(fault, dict) else ""
    return RecordedGame(
        variant=texts["variant"],
        first=texts["first"],
        second=texts["second"],
        result=result,
        moves=moves,
        termination=termination,
        opening_plies=opening_plies,
        seed=seed,
        times_ms=times,
        first_time=texts["first_time"],
        second_time=texts["second_time"],
        fault=reason,
        more=rest,
    )


def json_document(record: RecordedGame) -> dict[str, Any]:
    """Return the JSON object of a game, the inverse of `read_document`."""
    document: dict[str, Any] = {
        "variant": record.variant,
        "first": record.first,
        "second": record.second,
        "result": record.result,
        "moves": list(record.moves),
    }
    if record.seed is not None:
        # Many programs read only 53 of the 64 bits.
        document |= {"seed": record.seed, "seed_text": str(record.seed)}
    if "winning_cells" not in record.more and (winning := winning_cells(record)) is not None:
        document["winning_cells"] = winning
    # A line has either both time controls or none.
    if record.first_time or record.second_time:
        document |= {"first_time": record.first_time, "second_time": record.second_time}
    if record.fault and record.loser is not None and "fault" not in record.more:
        document["fault"] = record.lost_by(record.loser) | {"reason": record.fault}
    document["termination"] = record.termination or _termination_on_board(record)
    lists = {"opening": list(record.opening), "times_ms": list(record.times_ms)}
    document |= {name: values for name, values in lists.items() if values}
    document |= record.more
    ordered = {name: document.pop(name) for name in LINE_KEYS if name in document}
    return ordered | document


def json_line(record: RecordedGame) -> str:
    """Return the game as a line with its line break."""
    return _ENCODE(json_document(record)) + "\n"


def winning_cells(record: RecordedGame) -> list[int] | None:
    """Return the cells of the lines that the last move completed; None if unknown."""
    variant = _variant_of_moves(record)
    return None if variant is None else list(variant.won_with(record.moves))


def _variant_of_moves(record: RecordedGame) -> Variant | None:
    """Return the variant of a game; None if it is unknown, or if the moves do not fit its board."""
    try:
        variant = variant_of(record.variant)
    except RecordError:
        return None
    is_on_board = all(0 <= cell < variant.cells for cell in record.moves)
    has_repeated_cells = len(set(record.moves)) < len(record.moves)
    return variant if is_on_board and not has_repeated_cells else None


def _termination_on_board(record: RecordedGame) -> str | None:
    """Return the termination by the last move; None if the last move does not end the game with the known result."""
    variant = _variant_of_moves(record)
    if variant is None or not record.moves:
        return None
    outcome = Position.after(variant, record.moves).outcome()
    return str(outcome.termination) if outcome is not None and str(outcome.result) == record.result else None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise RecordError(f"{value!r} as {name!r}", "text")
    return value


def _cells(value: object, name: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        raise RecordError(f"{name!r} that are not a list of cells", "whole numbers, as in [4, 0]")
    return tuple(value)


def _times(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float} or not all(map(_is_time, value)):
        raise RecordError("'times_ms' that are not a list of times", "milliseconds, as in [1.5, 0.25]")
    return tuple(map(float, value))


def _is_time(value: float) -> bool:
    return 0 <= value < LONGEST_MS
