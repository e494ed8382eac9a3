"""Reads files of games as `-o` writes them: JSON lines, a game a line, one line in memory at a time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from noughts_server.tables.game_record import GameRecord

_RESULTS = frozenset(("1-0", "1/2-1/2", "0-1", "*"))
_EXAMPLE = '{"variant":"tictactoe","first":"A","second":"B","moves":[4,0],"result":"*","termination":"void"}'
_SHOWN = 80


class GamesFileError(Exception):
    """A line that is no game; `got` is what is wrong with it, `expected` what belongs there."""

    def __init__(self, path: str, line: int, got: str, expected: str) -> None:
        super().__init__(f"{path}, line {line:,}: got {got}, expected {expected}")
        self.line = line


def read_games(path: Path) -> Iterator[GameRecord]:
    """The games of a file in its order; empty lines are passed over. Raises OSError, GamesFileError.

    Moves are taken as they stand: the rules are not asked.
    """
    with open(path, encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                yield _record(json.loads(line))
            except _UnexpectedError as error:
                raise GamesFileError(str(path), number, error.got, error.expected) from None
            except (ValueError, RecursionError):
                got = repr(line.rstrip("\n")[:_SHOWN])
                raise GamesFileError(str(path), number, got, f"a game, e.g. {_EXAMPLE}") from None


class _UnexpectedError(Exception):
    def __init__(self, got: str, expected: str) -> None:
        super().__init__(got, expected)
        self.got, self.expected = got, expected


def _record(line: Any) -> GameRecord:
    if not isinstance(line, dict):
        raise ValueError
    opening, fault = line.get("opening"), line.get("fault")
    agreed = opening.get("stones") if isinstance(opening, dict) else 0
    moves, times = _cells(line.get("moves"), "moves"), line.get("times_ms") or []
    result = _text(line, "result")
    if result not in _RESULTS:
        raise _UnexpectedError(f"result {result[:_SHOWN]!r}", "1-0, 1/2-1/2, 0-1 or *")
    if (
        type(times) is not list
        or not set(map(type, times)) <= {int, float}
        or not all(0 <= time < 1e12 for time in times)
    ):
        raise _UnexpectedError("times_ms that are no list of milliseconds", "a number of 0 or more for each move")
    # Who was late has a time without a move.
    if times and len(times) not in (len(moves), len(moves) + 1):
        raise _UnexpectedError(f"{len(times)} times_ms of {len(moves)} moves", "one for each move")
    seed = line.get("seed", 0)
    return GameRecord(
        variant=_text(line, "variant"),
        first=_text(line, "first"),
        second=_text(line, "second"),
        seed=seed if type(seed) is int else 0,
        moves=moves,
        result=result,
        termination=_text(line, "termination"),
        times_us=[round(time * 1000) for time in times],
        opening=_cells(opening, "opening") if isinstance(opening, list) else (),
        agreed=agreed if type(agreed) is int else 0,
        fault=str(fault.get("reason", "")) if isinstance(fault, dict) else "",
    )


def _text(line: dict[str, Any], key: str) -> str:
    value = line.get(key)
    if type(value) is not str or not value:
        raise _UnexpectedError(f"{key} {_brief(value)}", "a text that is not empty")
    return value


def _cells(value: Any, key: str) -> list[int]:
    if type(value) is not list or not set(map(type, value)) <= {int} or any(cell < 0 for cell in value):
        raise _UnexpectedError(f"{key} {_brief(value)}", "a list of cells, numbers from 0")
    return value


def _brief(value: Any) -> str:
    return "none" if value is None else repr(value)[:_SHOWN]
