"""Common code of the formats of files of games."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from noughts_referee.clock import TimeControl, late_moves
from noughts_referee.rules import InvalidInput, Termination, Thought, Variant, VariantError, parse_variant
from noughts_server.core.plain_text import without_controls
from noughts_server.tables.recorded_game import RESULTS, RecordedGame

_DRAWS = ("½-½", "½", "1/2", "0.5", "0,5", "0.5-0.5", "=", "draw")
_RESULT_SPELLINGS: Mapping[str, str] = {
    "1": "1-0",
    "1.0": "1-0",
    "1,0": "1-0",
    "0": "0-1",
    "0.0": "0-1",
    "0,0": "0-1",
} | dict.fromkeys(_DRAWS, "1/2-1/2")
"""Other spellings in lists of results."""
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-") | {ord(" "): None}

BYTE_ORDER_MARK = "\ufeff"
"""Files that were put together can have one in the middle."""
LONGEST_MS = 1e12
"""Longer times are errors, as are NaN and infinity."""
_LONGEST_SHOWN = 200
"""Characters of an invalid value that an error shows."""


class RecordError(InvalidInput):
    """A game that cannot be read, or that a format cannot have."""

    def __init__(self, got: str, expected: str, fix: str = "") -> None:
        """`fix` says what the user can do, unless it is to correct the file."""
        super().__init__(got if len(got) <= _LONGEST_SHOWN else f"{got[:_LONGEST_SHOWN]}...", expected)
        self.fix = fix


def score_column(scores: Mapping[int, float], plies: int) -> dict[str, Any]:
    """Return the scores by ply as a line of JSON has them; empty without any."""
    return {"scores": [scores.get(ply) for ply in range(plies)]} if scores else {}


def comments_by_ply(comments: Mapping[int, str]) -> dict[str, Any]:
    """Return the bots' comments as a line of JSON has them; empty without any."""
    return {"comments": {str(ply): comments[ply] for ply in sorted(comments)}} if comments else {}


def thoughts_by_ply(thoughts: Mapping[int, Thought], *, times: bool = True) -> dict[str, Any]:
    """Return the reports of the bots' searches in the form of JSON Lines, with their times if `times`.

    The result is empty if there are none.
    """
    known = {str(ply): _thought_document(thoughts[ply], times=times) for ply in sorted(thoughts)}
    documents = {ply: document for ply, document in known.items() if document}
    return {"thoughts": documents} if documents else {}


def _thought_document(thought: Thought, *, times: bool) -> dict[str, Any]:
    """Return the known values of a thought."""
    time_ms = thought.time_us / 1000 if times else 0
    values = {"depth": thought.depth, "nodes": thought.nodes, "time_ms": time_ms, "pv": list(thought.pv)}
    return {name: value for name, value in values.items() if value}


def result_of(text: str) -> str:
    """Return a result in a list of results in its usual spelling; other texts unchanged."""
    plain = text.strip().translate(_DASHES).lower()
    return plain if plain in RESULTS else _RESULT_SPELLINGS.get(plain, text)


def listed_game(first: str, second: str, result: str, *, variant: str, termination: str, more: Any) -> RecordedGame:
    """Return a game of a list of results, which has no moves. Raises RecordError."""
    if result not in RESULTS:
        raise RecordError(f"the result {result!r}", f"one of {', '.join(RESULTS)}")
    if "\n" in first + second:
        raise RecordError(f"a name with a line break, {first!r} - {second!r}", "names on one line")
    return RecordedGame(variant=variant, first=first, second=second, result=result, termination=termination, more=more)


def check_listed(record: RecordedGame) -> None:
    """Raise RecordError for a game that a list of results cannot have."""
    check_names(record, "a list of results")
    for name in (record.first, record.second):
        if "\t" in name:
            raise RecordError(f"the name {name!r}", "no tabs, for a list of results")
    if not (record.first.strip() and record.second.strip()):
        raise RecordError("a game between players without names", "two names: a list of results holds nothing else")


def margin_columns(margins_us: Sequence[int], late_moves: Sequence[int]) -> dict[str, Any]:
    """Return the time margins of both sides and the number of moves that needed them, as a line of JSON has them."""
    return {"margins_ms": [margin / 1000 for margin in margins_us], "late_moves": list(late_moves)}


def margins_of_moves(
    margins_us: Sequence[int], limits: Sequence[TimeControl], times_us: Sequence[int], opening_plies: int
) -> dict[str, Any]:
    """Return the margins and late moves, as `margin_columns` does, of a game whose moves took these times."""
    return margin_columns(margins_us, late_moves(limits, times_us, opening_plies))


class PlacedGame(NamedTuple):
    """A game, or an error, with its place in a file."""

    line: int
    """Its first line, from 1."""
    game: RecordedGame | RecordError
    file: str = ""
    """The name of the file if it is in a folder."""


@lru_cache(maxsize=64)
def variant_of(name: str) -> Variant:
    """Return the variant with this name. Raises RecordError."""
    try:
        return parse_variant(name)
    except VariantError as error:
        raise RecordError(f"variant {error.got!r}", error.expected) from error


def check_names(record: RecordedGame, form: str) -> None:
    """Raise RecordError for a name that text formats cannot have: with control characters, or with space around it.

    Names are not changed, because different names must not become one.
    """
    for name in (record.first, record.second):
        if name.splitlines() not in ([], [name]) or name != name.strip():
            raise RecordError(f"the name {name!r}", f"one line without leading or trailing spaces, for {form}")
        if without_controls(name) != name:
            raise RecordError(f"the name {name!r}", f"no control characters, for {form}")


def flat_variant(record: RecordedGame, form: str) -> Variant:
    """Return the variant of a record for a format that has only flat boards. Raises RecordError."""
    check_names(record, form)
    if not record.variant:
        raise RecordError("a game without a variant", f"one that has a board, for {form}")
    variant = variant_of(record.variant)
    if variant.layers > 1:
        raise RecordError(f"a game of {record.variant}", f"a flat board: {form} has no layers")
    return variant


def parse_milliseconds(text: str) -> float:
    """Parse a number of milliseconds. Raises RecordError if it is too large or NaN, ValueError for other texts."""
    time = float(text)
    if not time < LONGEST_MS:
        raise RecordError(f"the time {text}ms", "milliseconds, as in 12.5ms")
    return time


def cell_at(variant: Variant, column: int, row: int, text: str) -> int:
    """Return the cell in this column and row, from 0 at the top left. Raises RecordError."""
    if not (0 <= column < variant.columns and 0 <= row < variant.rows):
        raise RecordError(f"the move {text}", f"cells of {variant.columns}x{variant.rows}")
    return row * variant.columns + column


def without_forbidden_end(record: RecordedGame) -> RecordedGame:
    """If the last move is forbidden and its player lost, remove the move and record a loss by an illegal move.

    Other games are returned unchanged. Other programs write such a move to their files: in renju a foul of the first
    player.
    """
    forbids = variant_of(record.variant).forbids
    moves = record.moves
    side = (len(record.moves) - 1) & 1
    # A repeated cell is another error, which the check of the game reports.
    if forbids is None or not moves or record.loser != side or len(set(moves)) < len(moves):
        return record
    own, opponent = (sum(1 << cell for cell in moves[first_ply:-1:2]) for first_ply in (side, 1 - side))
    if forbids(own, opponent, moves[-1], side) is None:
        return record
    # The scores have an element for the removed move.
    more = {name: value for name, value in record.more.items() if name != "scores"}
    ending = str(Termination.ILLEGAL_MOVE)
    opening = min(record.opening_plies, len(moves) - 1)
    return replace(record, moves=moves[:-1], termination=ending, opening_plies=opening, more=more)


def five_in_a_row(columns: int, rows: int) -> str:
    """Return the name of freestyle five in a row on this board. Raises RecordError.

    If both sides of the board are shorter than five, the longer one is the length of a row.
    """
    return variant_of(f"mnk:{columns},{rows},{max(1, min(5, max(columns, rows)))}").name
