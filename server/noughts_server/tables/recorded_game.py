"""A game in a file, a database or a server's answer; fields that are not known are empty."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date as calendar_date
from typing import Any

from noughts_bots.language_models.record import Question, read_question
from noughts_referee.rules import FAULTS, Termination, Thought, within_limits
from noughts_referee.rules.thoughts import LONGEST_US

RESULTS = ("1-0", "1/2-1/2", "0-1", "*")
"""Results of games: the first mover won, a draw, the second mover won, and no result."""
SCORES: Mapping[str, float] = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
"""The first mover's points."""
_FAULTS = frozenset(map(str, FAULTS))
_ADJUDICATED = str(Termination.ADJUDICATED)
_SCORE_TYPES = {int, float, type(None)}
_YEAR_FIRST = re.compile(r"~?([0-9]{4})(?:([-./])([0-9?]{1,2})(?:\2([0-9?]{1,2}))?)?(?![0-9])")
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?![0-9])")
_DAY_FIRST = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})(?![0-9])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_IN_WORDS = re.compile(
    rf"(?:[a-z]{{3,9}},? )?(?:{_MONTH} ([0-9]{{1,2}})|([0-9]{{1,2}})\.? {_MONTH}),?(?: [0-9]{{2}}:[0-9:]{{2,5}})? "
    r"([0-9]{4})(?![0-9])"
)
_LONGEST_ROUND = 9
"""Digits of a round. Longer texts stay text."""
_USUAL_THOUGHT: Mapping[str, Any] = {"depth": 0, "nodes": 0, "time_ms": 0, "pv": []}
_MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class RecordedGame:
    """A game as a record, whatever its source. Fields whose values are unknown are empty."""

    variant: str
    """The name; empty if neither the format nor the board determines it."""
    first: str
    """The player that moved first: X, or Black in five in a row."""
    second: str
    result: str
    moves: tuple[int, ...] = ()
    """Cells in playing order, including the opening."""
    termination: str = ""
    """`line`, `timeout` and so on; empty if unknown."""
    seed: int | None = None
    opening_plies: int = 0
    """The number of moves that belong to the opening."""
    times_ms: tuple[float, ...] = ()
    """The time of each answer, which is one more than the moves if the last answer was not a move; empty if unknown."""
    first_time: str = ""
    """The time control of the first player, as on the command line; empty if unknown."""
    second_time: str = ""
    """The time control of the second player, as on the command line; empty if unknown."""
    fault: str = ""
    """The loser's fault in words that follow "it", e.g. `crashed`."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """All other values of a line of JSON, unchanged."""

    @property
    def score(self) -> float | None:
        """Return the first mover's points; None without a result."""
        return SCORES.get(self.result)

    @property
    def loser(self) -> int | None:
        """Return the side that lost: 0 moved first, 1 second; None without a loser."""
        return {"1-0": 1, "0-1": 0}.get(self.result)

    @property
    def by_fault(self) -> bool:
        """Return whether the game ended by a player's own fault."""
        return self.termination in _FAULTS or (self.termination == str(Termination.RESIGNED) and bool(self.fault))

    @property
    def walkover(self) -> bool:
        """Return whether the game was lost by a withdrawal, see `statistics.match_games.match_game`.

        Files without moves and faults do not have this information.
        """
        return self.termination == _ADJUDICATED and bool(self.fault)

    @property
    def opening(self) -> tuple[int, ...]:
        return self.moves[: self.opening_plies]

    @property
    def occasion(self) -> dict[str, str]:
        """Return the event and the date, as in `occasion`."""
        event, date = self.more.get("event"), self.more.get("date")
        return occasion(event if isinstance(event, str) else "", date if isinstance(date, str) else "")

    @property
    def round(self) -> str:
        """Return the round of the tournament as text; empty if it is unknown."""
        value = self.more.get("round")
        return str(value) if type(value) in (int, str) else ""

    @property
    def adjudication(self) -> str:
        """Return why the game was adjudicated, as a clause; empty if it was not, or if that is unknown."""
        value = self.more.get("adjudication")
        return value if isinstance(value, str) else ""

    @property
    def late_moves(self) -> tuple[int, int]:
        """Return how many moves of each side needed the time margin; 0 if that is unknown."""
        match self.more.get("late_moves"):
            case [int(first), int(second)]:
                return max(0, first), max(0, second)
        return 0, 0

    @property
    def time_factor(self) -> float | None:
        """Return the number by which the times of both sides were multiplied; None if they were not."""
        value = self.more.get("time_factor")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if 0 < value < math.inf else None

    @property
    def agreed_plies(self) -> int:
        """Return how many of the first moves were placed by agreement (swap, swap2)."""
        agreement = self.more.get("opening")
        stones = agreement.get("stones") if isinstance(agreement, dict) else 0
        return min(max(0, stones), len(self.moves)) if type(stones) is int else 0

    @property
    def scores(self) -> list[float | None]:
        """Return the mover's score of each move, None where it is unknown; empty without a valid list."""
        scores = self.more.get("scores")
        valid = isinstance(scores, list) and len(scores) == len(self.moves) and set(map(type, scores)) <= _SCORE_TYPES
        return scores if valid and isinstance(scores, list) else []

    @property
    def questions(self) -> dict[int, Question]:
        """Return the records of questions to language models by ply, from the comments that hold one."""
        read = {ply: read_question(text) for ply, text in self.comments.items()}
        return {ply: question for ply, question in read.items() if question is not None}

    @property
    def thoughts(self) -> dict[int, Thought]:
        """Return what the bots' searches reported by ply, as far as it is valid."""
        documents = self.more.get("thoughts")
        if not isinstance(documents, dict):
            return {}
        read = {ply: _read_thought(documents.get(str(ply))) for ply in range(len(self.moves) + 1)}
        return {ply: thought for ply, thought in read.items() if thought is not None}

    @property
    def comments(self) -> dict[int, str]:
        """Return the bots' comments by ply, as far as they are texts."""
        comments = self.more.get("comments")
        if not isinstance(comments, dict):
            return {}
        texts = {ply: comments.get(str(ply)) for ply in range(len(self.moves) + 1)}
        return {ply: text for ply, text in texts.items() if isinstance(text, str)}

    def lost_by(self, loser: int) -> dict[str, Any]:
        """Return the loser and the ply of a loss by a fault, as a line of JSON has them; without the reason."""
        return {
            "bot": self.second if loser else self.first,
            "side": "second" if loser else "first",
            "ply": len(self.moves),
        }

    @property
    def first_chosen(self) -> int:
        """Return the first ply, from 0, after the opening and its agreement: from here on, bots chose the moves."""
        return max(self.opening_plies, self.agreed_plies)


def _read_thought(document: object) -> Thought | None:
    """Return the thought that a line of JSON has; None if it is not valid."""
    fields = document if isinstance(document, dict) else {}
    depth, nodes, time, pv = (fields.get(name, usual) for name, usual in _USUAL_THOUGHT.items())
    is_valid = type(depth) is type(nodes) is int and type(time) in (int, float) and isinstance(pv, list)
    if not is_valid or not set(map(type, pv)) <= {int} or not 0 <= time <= LONGEST_US / 1000:
        return None
    thought = Thought(depth=depth, nodes=nodes, time_us=round(time * 1000), pv=tuple(pv))
    return within_limits(thought, _MOST_CELLS, ())


def occasion(event: str, date: str = "") -> dict[str, str]:
    """Return the known ones of "event" and "date", as a line of JSON has them; for dates see `date_of`."""
    values = {"event": one_line(event), "date": date_of(date)}
    return {name: value for name, value in values.items() if value not in ("", "?")}


def date_of(text: str) -> str:
    """Return the first date of a text as `2026-11-24`, `2026-11` or `2026`; empty if it is not a date.

    Programs write `2026.11.??`, `20261124`, `2026-11-24,25`, `24.11.2026`, `Nov 24 2026` and times after them. Dates
    such as `11/12/2026` are unknown: the day comes first in some countries.
    """
    plain = one_line(text).lower()
    year = month = day = ""
    if match := _COMPACT.match(plain):
        year, month, day = match.groups()
    elif match := _YEAR_FIRST.match(plain):
        year, month, day = (part or "" for part in match.group(1, 3, 4))
    elif match := _DAY_FIRST.match(plain):
        day, month, year = match.groups()
    elif match := _IN_WORDS.match(plain):
        name = match.group(1) or match.group(4)
        month = str(_MONTHS.index(name) + 1)
        day = match.group(2) or match.group(3)
        year = match.group(5)
    return _valid_date(year, month, day)


def _valid_date(year: str, month: str, day: str) -> str:
    """Return the known parts of a date; 0 and ? stand for unknown parts. Empty if the calendar has no such date."""
    numbers = [int(part) if part.isdigit() else 0 for part in (year, month, day)]
    known_parts = numbers[: numbers.index(0)] if 0 in numbers else numbers
    if not known_parts:
        return ""
    try:
        calendar_date(*[*known_parts, 1, 1][:3])  # unknown parts as 1
    except ValueError:
        return ""
    return "-".join(f"{part:02}" if place else f"{part:04}" for place, part in enumerate(known_parts))


def round_of(text: str) -> dict[str, int | str]:
    """Return "round", if it is known, as a line of JSON has it: a number, or a text such as `1.2`."""
    plain = one_line(text)
    if plain in ("", "?", "-"):
        return {}
    return {"round": int(plain) if plain.isascii() and plain.isdigit() and len(plain) <= _LONGEST_ROUND else plain}


def one_line(text: str) -> str:
    """Return the text with every run of spaces and line breaks as one space."""
    return " ".join(text.split())
