"""A game in a file in any format; fields that a format lacks are empty."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from noughts_referee.rules import InvalidInput, Variant, VariantError, parse_variant

RESULTS = ("1-0", "1/2-1/2", "0-1", "*")
"""From the first mover's point of view; the last is a game without a result."""
SCORES: Mapping[str, float] = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
"""The first mover's points."""


RESULT_SPELLINGS: Mapping[str, str] = {"1": "1-0", "0": "0-1", **dict.fromkeys(("½-½", "1/2", "0.5", "="), "1/2-1/2")}
"""Other spellings in lists of results."""

LONGEST_MS = 1e12
"""Longer times are errors, as are NaN and infinity."""
_LONGEST_SHOWN = 200
_SCORE = {int, float, type(None)}
_DATE = re.compile(r"([0-9]{4})(?:[-.]([0-9]{2})(?:[-.]([0-9]{2}))?)?")


class RecordError(InvalidInput):
    """An invalid record."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(got if len(got) <= _LONGEST_SHOWN else f"{got[:_LONGEST_SHOWN]}...", expected)


@dataclass(frozen=True, slots=True)
class RecordedGame:
    variant: str
    """The name; empty if neither the format nor the board determines it."""
    first: str
    """The player that moved first: X, or Black in five in a row."""
    second: str
    result: str
    moves: tuple[int, ...] = ()
    """Cells in playing order."""
    termination: str = ""
    """`line`, `timeout` and so on; empty if unknown."""
    seed: int | None = None
    opening_plies: int = 0
    """How many of the moves belong to the opening."""
    times_ms: tuple[float, ...] = ()
    """The time of each answer; one more than moves if the last answer was not a move. Empty if unknown."""
    first_time: str = ""
    """Time controls as on the command line; empty if unknown."""
    second_time: str = ""
    fault: str = ""
    """Why the loser lost: a phrase that follows "it"."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """All other values of a line of JSON, unchanged."""

    @property
    def opening(self) -> tuple[int, ...]:
        return self.moves[: self.opening_plies]

    @property
    def occasion(self) -> dict[str, str]:
        """Return the event and the date, as in `occasion`."""
        event, date = self.more.get("event"), self.more.get("date")
        return occasion(event if isinstance(event, str) else "", date if isinstance(date, str) else "")

    @property
    def agreed(self) -> int:
        """Return how many of the first moves were placed by agreement (swap, swap2)."""
        agreement = self.more.get("opening")
        stones = agreement.get("stones") if isinstance(agreement, dict) else 0
        return min(max(0, stones), len(self.moves)) if type(stones) is int else 0

    @property
    def scores(self) -> list[float | None]:
        """Return the mover's score of each move, None where it is unknown; empty without a valid list."""
        scores = self.more.get("scores")
        valid = isinstance(scores, list) and len(scores) == len(self.moves) and set(map(type, scores)) <= _SCORE
        return scores if valid and isinstance(scores, list) else []

    def lost_by(self, loser: int) -> dict[str, Any]:
        """Return which bot lost by its own fault, and when, as a line of JSON has it, without the reason."""
        side = ("first", "second")[loser]
        return {"bot": getattr(self, side), "side": side, "ply": len(self.moves)}

    @property
    def first_chosen(self) -> int:
        """Return the first ply, from 0, that a side chose alone."""
        return max(self.opening_plies, self.agreed)


def score_column(scores: Mapping[int, float], plies: int) -> dict[str, Any]:
    """Return the scores by ply as a line of JSON has them; empty without any."""
    return {"scores": [scores.get(ply) for ply in range(plies)]} if scores else {}


def occasion(event: str, date: str) -> dict[str, str]:
    """Return "event" and "date", if known, as a line of JSON has them (`2026-11-24`, `2026-11`, `2026`)."""
    found = _DATE.match(date)
    known = {"event": one_line(event), "date": "-".join(filter(None, found.groups())) if found else ""}
    return {name: value for name, value in known.items() if value not in ("", "?")}


class Placed(NamedTuple):
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


def one_line(text: str) -> str:
    """Return the text with every run of spaces and line breaks as one space."""
    return " ".join(text.split())


def check_names(record: RecordedGame, form: str) -> None:
    """Raise RecordError for a name that text formats cannot have: several lines, or with space around it."""
    for name in (record.first, record.second):
        if name.splitlines() not in ([], [name]) or name != name.strip():
            raise RecordError(f"the name {name!r}", f"one line without leading or trailing spaces, for {form}")


def flat_variant(record: RecordedGame, form: str) -> Variant:
    """Return the variant of a record for a format that has only flat boards. Raises RecordError."""
    check_names(record, form)
    if not record.variant:
        raise RecordError("a game without a variant", f"one that has a board, for {form}")
    variant = variant_of(record.variant)
    if variant.layers > 1:
        raise RecordError(f"a game of {record.variant}", f"a flat board: {form} has no layers")
    return variant


def milliseconds(text: str) -> float:
    """Return the time of this number. Raises RecordError."""
    time = float(text)
    if not time < LONGEST_MS:
        raise RecordError(f"the time {text}ms", "milliseconds, as in 12.5ms")
    return time


def point(variant: Variant, column: int, row: int, text: str) -> int:
    """Return the cell in this column and row, from 0 at the top left. Raises RecordError."""
    if not (0 <= column < variant.columns and 0 <= row < variant.rows):
        raise RecordError(f"the move {text}", f"cells of {variant.columns}x{variant.rows}")
    return row * variant.columns + column


def five_in_a_row(columns: int, rows: int) -> str:
    """Return the name of free five in a row on this board; a smaller one uses its length. Raises RecordError."""
    return variant_of(f"mnk:{columns},{rows},{max(1, min(5, max(columns, rows)))}").name
