"""Games in Piskvork's format, a `.psq` file each: size, moves with times, and the two names.

    Piskvorky 15x15, 11:11, 0
    8,8,1250
    ...
    first.exe
    second.exe
    -1

Columns and rows count from 1 at the top left, times are whole milliseconds. The file has no rule, result or winner: on
a board for five in a row it is read as free Gomoku, and the result follows from the board.
"""

import re
from collections.abc import Iterable

from noughts_referee.rules import MovesError, Termination, last_move
from noughts_server.records.recorded_game import (
    RecordError,
    five_in_a_row,
    flat_variant,
    milliseconds,
    point,
    variant_of,
)
from noughts_server.tables.recorded_game import RecordedGame

_HEAD = re.compile(r"piskvorky\s+(\d{1,3})\s*x\s*(\d{1,3})\s*(?:,[^,]*)?(?:,\s*(\d+)\s*)?\.?\s*", re.IGNORECASE)
_MOVE = re.compile(r"\s*\d{1,3}\s*,\s*\d{1,3}\s*(?:,\s*-?\d+\s*)?")
_NUMBER = re.compile(r"-?\d+")
_UNKNOWN = "-1"


def read_psq(lines: Iterable[str]) -> RecordedGame:
    """Return the game in a file. Raises RecordError."""
    rows = [line.strip() for line in lines]
    head = _HEAD.fullmatch(rows[0].lstrip("\ufeff")) if rows else None
    if head is None:
        got = repr(rows[0][:60]) if rows else "an empty file"
        raise RecordError(got, "a line such as `Piskvorky 15x15, 11:11, 0`")
    columns, rows_of_board = int(head.group(1)), int(head.group(2))
    variant = variant_of(five_in_a_row(columns, rows_of_board))
    move_rows, (first, second) = _parts(rows[1:])
    moves, times = [], []
    for row in move_rows:
        column, line, time = (*row.split(","), "0")[:3]
        moves.append(point(variant, int(column) - 1, int(line) - 1, row))
        times.append(max(0.0, milliseconds(time)))
    if head.group(3) == "1":
        # The second player began.
        first, second = second, first
    try:
        termination = last_move(variant, moves).termination
    except MovesError as error:
        raise RecordError(error.got, error.expected) from error
    result = "*"
    if termination is Termination.LINE:
        result = "1-0" if len(moves) % 2 else "0-1"
    elif termination is Termination.BOARD_FULL:
        result = "1/2-1/2"
    ending = str(termination) if result != "*" else ""
    known = tuple(times) if any(times) else ()
    return RecordedGame(variant.name, first, second, result, tuple(moves), termination=ending, times_ms=known)


def _parts(rows: list[str]) -> tuple[list[str], tuple[str, str]]:
    """Return the rows of moves and the two names. Raises RecordError."""
    while rows and not rows[-1]:
        del rows[-1]
    # Names can look like moves or numbers, so count from the end of the file, where the format has its number.
    if len(rows) > 2 and _NUMBER.fullmatch(rows[-1]) and all(map(_MOVE.fullmatch, rows[:-3])):
        first, second = rows[-3:-1]
        if not _as_moves((first, second)):
            return rows[:-3], (first, second)
    # Files without names or with another end.
    end = next((at for at, row in enumerate(rows) if not _MOVE.fullmatch(row)), len(rows))
    if any(map(_MOVE.fullmatch, rows[end:])):
        raise RecordError(repr(rows[end][:60]), "a move as in `8,8,1250`")
    first, second = [*(row for row in rows[end:] if row and not _NUMBER.fullmatch(row)), "", ""][:2]
    return rows[:end], (first, second)


def _as_moves(names: Iterable[str]) -> bool:
    """Return whether both names together look like the last two moves of a file without names."""
    return all(_MOVE.fullmatch(name) and name.count(",") == 2 for name in names)


def psq_text(record: RecordedGame) -> str:
    """Return the game as a file. Raises RecordError if the format cannot have it."""
    variant = flat_variant(record, "a .psq file")
    if _as_moves((record.first, record.second)):
        raise RecordError(f"the names {record.first!r} and {record.second!r}", "names that do not look like a move")
    times = [*record.times_ms, *[0.0] * len(record.moves)]
    rows = [f"Piskvorky {variant.columns}x{variant.rows}, 11:11, 0"]
    for cell, time in zip(record.moves, times, strict=False):
        if not 0 <= cell < variant.cells:
            raise RecordError(f"the move {cell}", f"cells of {variant.name}, 0 to {variant.cells - 1}")
        row, column = divmod(cell, variant.columns)
        rows.append(f"{column + 1},{row + 1},{round(time)}")
    return "\n".join([*rows, record.first, record.second, _UNKNOWN]) + "\n"
