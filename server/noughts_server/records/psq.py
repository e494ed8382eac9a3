"""Games in Piskvork's format, `.psq`, with one game in a file: size, moves with times, names and the end of the game.

    Piskvorky 15x15, 11:11, 0
    8,8,1250
    ...
    first.exe
    second.exe
    -1
    2,Standard15_1

Columns and rows count from 1 at the top left, times are whole milliseconds. The third number of the heading is 1 if the
second player began. The number after the names is Piskvork's code for the end of the game. Gomocup's manager (here the
judge) adds the last line: 0 for a draw, 1 or 2 for the winner, and the tournament, whose name begins with the rule.
Without this line the rule is free five in a row, and the result follows from the board.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from noughts_referee.rules import MovesError, Termination, Variant, last_move
from noughts_server.core.plain_text import without_controls
from noughts_server.records.recorded_game import (
    RecordError,
    cell_at,
    five_in_a_row,
    flat_variant,
    parse_milliseconds,
    variant_of,
    without_forbidden_end,
)
from noughts_server.records.replay import record_errors
from noughts_server.records.rule_names import check_unnamed_rule, names_a_rule, tournament_of, variants_of_tournament
from noughts_server.tables.recorded_game import RecordedGame, occasion

_HEAD = re.compile(
    r"piskvorky\s+(\d{1,3})\s*x\s*(\d{1,3})\s*(?:,[^,]*)?(?:,\s*(\d+)\s*)?\.?\s*", re.IGNORECASE | re.ASCII
)
_MOVE = re.compile(r"\s*\d{1,3}\s*,\s*\d{1,3}\s*(?:,\s*-?\d+\s*)?", re.ASCII)
_NUMBER = re.compile(r"-?\d+", re.ASCII)
_JUDGE_LINE = re.compile(r"([012]|-1)\s*,\s*([^\W\d].*)")
_JUDGE_LINE_WITH_RULE_NUMBER = re.compile(r"([012]|-1)\s*,\s*(\d)", re.ASCII)
"""The same line with the number of a rule. It is not a move if a code of the end is on the line before it."""
_RESULTS_BY_WINNER = {"0": "1/2-1/2", "1": "1-0", "2": "0-1"}
_WINNERS_BY_RESULT = {result: winner for winner, result in _RESULTS_BY_WINNER.items()}
_STANDARD_END, _UNKNOWN, _ERROR, _TIMEOUT = "0", "-1", "-2", "15"
_FAULTS = {_TIMEOUT: Termination.TIMEOUT, _ERROR: Termination.CRASHED}
"""The terminations of codes with which the side to move has lost."""
_CODES = {"line": _STANDARD_END, "board_full": _STANDARD_END, "timeout": _TIMEOUT}
_RULE_AND_SIZE = re.compile(r"(?:Freestyle|Standard|Renju|Caro)\d+", re.ASCII)
_FREE_AT_A_DRAW = 25
"""Piskvork declares a draw if at most this many cells are free."""


class _File(NamedTuple):
    """The parts of a file after its heading."""

    moves: list[str]
    first: str
    second: str
    code: str
    winner: str
    """`0`, `1` or `2`; `-1` if the game has no result; empty without a line of the judge."""
    tournament: str


def read_psq(lines: Iterable[str], *, assumed: str = "") -> RecordedGame:
    """Return the game in a file. `assumed` is the variant of a file that names no rule. Raises RecordError."""
    rows = [line.strip() for line in lines]
    while rows and not rows[-1]:
        del rows[-1]
    head = _HEAD.fullmatch(rows[0].lstrip("\ufeff")) if rows else None
    if head is None:
        got = repr(rows[0][:60]) if rows else "an empty file"
        raise RecordError(got, "a line such as `Piskvorky 15x15, 11:11, 0`")
    file = _parts(rows[1:])
    columns = int(head.group(1))
    height = int(head.group(2))
    rule, event = _rule_and_event(file.tournament)
    file = file._replace(tournament=event)
    second_began = head.group(3) == "1"
    variants = variants_of_tournament(rule, columns, height, assumed)
    games = [_game(variant, file, second_began) for variant in variants]
    record = next((game for game in games if not record_errors(game)), games[0])
    if not (assumed or names_a_rule(rule)):
        check_unnamed_rule(record, lambda name: _game(variant_of(name), file, second_began))
    return record


def _rule_and_event(tournament: str) -> tuple[str, str]:
    """Return the text that names the rule, and the event.

    `psq_text` writes both with a space between them. Other programs write one name, which stands for both.
    """
    rule, _, event = tournament.partition(" ")
    if rule.isdigit():
        return rule, event
    if not _RULE_AND_SIZE.fullmatch(rule):
        try:
            variant_of(rule)
        except RecordError:
            return tournament, tournament
    return rule, event


def _game(variant: Variant, file: _File, second_began: bool) -> RecordedGame:
    """Return the game as one of this variant. Raises RecordError."""
    moves, times = [], []
    for row in file.moves:
        column, line, time = (*row.split(","), "0")[:3]
        moves.append(cell_at(variant, int(column) - 1, int(line) - 1, row))
        times.append(max(0.0, parse_milliseconds(time)))
    first = file.first
    second = file.second
    result = _RESULTS_BY_WINNER.get(file.winner, "")
    if second_began:
        first, second, result = second, first, {"1-0": "0-1", "0-1": "1-0"}.get(result, result)
    result, termination = _ending(variant, moves, result, file.code)
    known_times = tuple(times) if any(times) else ()
    more = occasion(file.tournament)
    record = RecordedGame(
        variant=variant.name,
        first=first,
        second=second,
        result=result,
        moves=tuple(moves),
        termination=termination,
        times_ms=known_times,
        more=more,
    )
    return without_forbidden_end(record)


def _ending(variant: Variant, moves: list[int], result: str, code: str) -> tuple[str, str]:
    """Return the result and the termination. `result` is the judge's result, or empty. Raises RecordError."""
    try:
        ended, kind = last_move(variant, moves)
    except MovesError as error:
        raise RecordError(error.got, error.expected) from error
    # The results in which the side to move has lost and won.
    lost, won = ("1-0", "0-1") if len(moves) % 2 else ("0-1", "1-0")
    if ended is Termination.LINE:
        return result or lost, str(ended)
    if ended is Termination.BOARD_FULL:
        return result or "1/2-1/2", str(ended)
    if kind is not None:
        return result or won, str(ended)
    if code in _FAULTS and result in ("", lost):
        return lost, str(_FAULTS[code])
    is_draw = code == _STANDARD_END and variant.cells - len(moves) <= _FREE_AT_A_DRAW
    if result == "1/2-1/2" or (is_draw and not result):
        return "1/2-1/2", str(Termination.ADJUDICATED)
    # The judge ends an open game only because of a fault. The file does not contain the fault; most are losses on time.
    return result or "*", str(Termination.TIMEOUT) if result == lost else ""


def _parts(rows: list[str]) -> _File:
    """Return the parts of the rows after the heading. Raises RecordError."""
    winner = tournament = ""
    judged = _JUDGE_LINE.fullmatch(rows[-1]) if rows else None
    if judged is None and len(rows) > 1 and _NUMBER.fullmatch(rows[-2]):
        judged = _JUDGE_LINE_WITH_RULE_NUMBER.fullmatch(rows[-1])
    if judged is not None:
        winner, tournament = judged.groups()
        rows = rows[:-1]
    # Names can look like moves or numbers. So first try the usual structure, from the end of the file: moves,
    # two names, and the number of the end.
    if len(rows) > 2 and _NUMBER.fullmatch(rows[-1]) and all(map(_MOVE.fullmatch, rows[:-3])):
        first, second = rows[-3:-1]
        if not _look_like_moves((first, second)):
            return _File(
                moves=rows[:-3], first=first, second=second, code=rows[-1], winner=winner, tournament=tournament
            )
    # Otherwise the file has no names, or another end.
    end = next((at for at, row in enumerate(rows) if not _MOVE.fullmatch(row)), len(rows))
    if any(map(_MOVE.fullmatch, rows[end:])):
        raise RecordError(repr(rows[end][:60]), "a move as in `8,8,1250`")
    numbers = [row for row in rows[end:] if _NUMBER.fullmatch(row)]
    first, second = [*(row for row in rows[end:] if row and not _NUMBER.fullmatch(row)), "", ""][:2]
    return _File(
        moves=rows[:end],
        first=first,
        second=second,
        code=numbers[-1] if numbers else "",
        winner=winner,
        tournament=tournament,
    )


def _look_like_moves(names: Iterable[str]) -> bool:
    """Return whether both names together look like the last two moves of a file without names."""
    return all(_MOVE.fullmatch(name) and name.count(",") == 2 for name in names)


def psq_text(record: RecordedGame) -> str:
    """Return the text of a file with this game. Raises RecordError if the format cannot have the game."""
    variant = flat_variant(record, "a .psq file")
    if _look_like_moves((record.first, record.second)):
        raise RecordError(f"the names {record.first!r} and {record.second!r}", "names that do not look like a move")
    times = [*record.times_ms, *[0.0] * len(record.moves)]
    rows = [f"Piskvorky {variant.columns}x{variant.rows}, 11:11, 0"]
    for cell, time in zip(record.moves, times, strict=False):
        if not 0 <= cell < variant.cells:
            raise RecordError(f"the move {cell}", f"cells of {variant.name}, 0 to {variant.cells - 1}")
        row, column = divmod(cell, variant.columns)
        rows.append(f"{column + 1},{row + 1},{round(time)}")
    code = {**_CODES, "": _UNKNOWN}.get(record.termination, _ERROR if record.by_fault else _UNKNOWN)
    rows += [record.first, record.second, code]
    event = without_controls(record.occasion.get("event", ""))
    if record.result in _WINNERS_BY_RESULT or event or variant.name != five_in_a_row(variant.columns, variant.rows):
        rows.append(f"{_WINNERS_BY_RESULT.get(record.result, _UNKNOWN)},{tournament_of(variant)} {event}".rstrip())
    return "\n".join(rows) + "\n"
