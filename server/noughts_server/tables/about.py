"""Facts about a tournament other than its games: settings, dates, byes, withdrawals, pairings."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from noughts_server.competition.bracket import Decision
from noughts_server.core.natural_order import natural_key
from noughts_server.tables.pairings import MatchRow, matches_won, pairings_document

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class About(NamedTuple):
    """The facts about a tournament. Unknown fields are empty; for files of games, few are known."""

    schedule: str = ""
    """The name of the format, e.g. `swiss`."""
    time: str = ""
    """The time control, as on the command line."""
    began: str = ""
    """The start in ISO 8601, or only its date."""
    ended: str = ""
    """The end in the same form."""
    byes: Mapping[str, int] = _EMPTY
    """Rounds without an opponent, by label."""
    bye_points: Mapping[str, float] = _EMPTY
    """Points without a game of every entry, by label; most have 0. The labels are the list of entries."""
    withdrawn: Mapping[str, str] = _EMPTY
    """Reasons of withdrawals after the start, by label."""
    matches_won: Mapping[str, int] | None = None
    """The matches that each entry of a knockout won, byes included, by label; None for other formats."""
    matches: Sequence[MatchRow] = ()
    """The bracket of a knockout, or the rounds of a Swiss or Danish tournament."""

    def file_facts(self, games: int, *, finished: bool) -> dict[str, Any]:
        """Return the facts to store in the last line of a file of games, because no single game has them.

        `games` is the number of games in the file.
        """
        facts: dict[str, Any] = {"schedule": self.schedule, "time": self.time, "finished": finished, "games": games}
        facts["entries"] = list(self.bye_points)
        if self.byes:
            facts["byes"] = dict(self.byes)
            facts["bye_points"] = {label: points for label, points in self.bye_points.items() if points}
        if self.withdrawn:
            facts["withdrawn"] = dict(self.withdrawn)
        if self.matches:
            facts["pairings" if self.matches_won is None else "bracket"] = pairings_document(self.matches)
        return facts

    @property
    def rounds(self) -> int:
        """Return how many rounds have begun; 0 without rounds."""
        return max((match.round for match in self.matches), default=0)

    def document(self) -> dict[str, Any]:
        """Return the facts for JSON, without the pairings."""
        return {
            "schedule": self.schedule or None,
            "time": self.time or None,
            "start_time": self.began or None,
            "end_time": self.ended or None,
            "rounds": self.rounds or None,
            "byes": dict(self.byes),
            "withdrawn": dict(self.withdrawn),
        }

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the displayed text of the format, the rounds and the times, if known."""
        facts = {
            "schedule": self.schedule,
            "rounds": str(self.rounds or ""),
            "time": self.time,
            "began": _displayed_time(self.began),
            "ended": _displayed_time(self.ended),
        }
        yield from ((name, text) for name, text in facts.items() if text)

    def notes(self) -> list[str]:
        """Return a sentence for each withdrawn entry."""
        return [
            f"Withdrawn: {label}, {reason}." if reason else f"Withdrawn: {label}."
            for label, reason in self.withdrawn.items()
        ]


class FileFacts(NamedTuple):
    """The facts about the tournament in the last game of a file."""

    about: About
    games: int
    """The number of games of the tournament when the file was written."""
    finished: bool
    """Whether the tournament was finished then."""


def read_file_facts(facts: object) -> FileFacts | None:
    """Return the facts that `About.file_facts` wrote; None for anything else, because files can have any content."""
    try:
        return _read_file_facts(facts)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None


def _read_file_facts(facts: Any) -> FileFacts:
    entries: dict[str, None] = dict.fromkeys(map(_text, facts["entries"]))
    points = {_entry(label, entries): _number(value) for label, value in facts.get("bye_points", {}).items()}
    byes = {_entry(label, entries): int(_number(count)) for label, count in facts.get("byes", {}).items()}
    withdrawn = {_entry(label, entries): _text(reason) for label, reason in facts.get("withdrawn", {}).items()}
    bracket = facts.get("bracket")
    matches = [_match(row, entries) for row in (facts.get("pairings", []) if bracket is None else bracket)]
    about = About(
        schedule=_text(facts["schedule"]),
        time=_text(facts["time"]),
        byes=byes,
        bye_points={label: points.get(label, 0.0) for label in entries},
        withdrawn=withdrawn,
        matches_won=None if bracket is None else matches_won(matches),
        matches=matches,
    )
    return FileFacts(about, int(_number(facts["games"])), facts["finished"] is True)


def _match(row: Any, entries: Mapping[str, None]) -> MatchRow:
    first, second, winner = (
        None if row[name] is None else _entry(row[name], entries) for name in ("first", "second", "winner")
    )
    decision = None if row["decision"] is None else Decision[_text(row["decision"]).upper()]
    return MatchRow(
        round=int(_number(row["round"])),
        first=first,
        second=second,
        first_points=_number(row["first_points"]),
        second_points=_number(row["second_points"]),
        games=int(_number(row["games"])),
        winner=winner,
        decision=decision,
    )


def _entry(label: Any, entries: Mapping[str, None]) -> str:
    """Return the label if it is one of the entries. Raises TypeError, ValueError."""
    if label not in entries:
        raise ValueError(f"{label!r} is not an entry")
    return _text(label)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def time_text(time: str, own_times: Mapping[str, str]) -> str:
    """Return the tournament's time control, followed by those of the entries that have their own, in natural order."""
    own = [f"{label} {own_times[label]}" for label in sorted(own_times, key=natural_key)]
    return f"{time} ({', '.join(own)})" if own else time


def _displayed_time(text: str) -> str:
    """Return a date and time as `2026-11-24 22:10 UTC`; a date without time is unchanged."""
    return f"{text[:16].replace('T', ' ')} UTC" if "T" in text else text
