"""Facts about a tournament other than its games: settings, dates, byes, withdrawals, pairings."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from noughts_server.competition.bracket import Decision
from noughts_server.core.natural_order import natural_key
from noughts_server.tables.pairings import MatchRow, matches_won, pairings_document

_NONE: Mapping[str, Any] = MappingProxyType({})


class About(NamedTuple):
    """Fields are empty if unknown; files of games have few of them."""

    schedule: str = ""
    """E.g. `swiss`."""
    time: str = ""
    """The time control, as on the command line."""
    began: str = ""
    """In ISO 8601, or a part of it."""
    ended: str = ""
    byes: Mapping[str, int] = _NONE
    """Rounds without an opponent, by label."""
    bye_points: Mapping[str, float] = _NONE
    """Points without a game, by label."""
    withdrawn: Mapping[str, str] = _NONE
    """Reasons of withdrawals after the start, by label."""
    matches_won: Mapping[str, int] | None = None
    """The matches that each entry of a knockout won, byes included, by label."""
    matches: Sequence[MatchRow] = ()
    """The bracket of a knockout, or the rounds of a Swiss or Danish tournament."""

    def file_facts(self, games: int, *, finished: bool) -> dict[str, Any]:
        """Return the facts that no game of a file says, for the line of its last game. The file has so many games."""
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
        known = {"schedule": self.schedule, "time": self.time, "start_time": self.began, "end_time": self.ended}
        left = {"byes": dict(self.byes), "withdrawn": dict(self.withdrawn)}
        return {name: text or None for name, text in known.items()} | {"rounds": self.rounds or None} | left

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield the known facts as name and text, to be displayed."""
        known = (("schedule", self.schedule), ("rounds", str(self.rounds or "")), ("time", self.time))
        moments = (("began", _moment(self.began)), ("ended", _moment(self.ended)))
        yield from ((name, text) for name, text in known + moments if text)

    def notes(self) -> list[str]:
        """Return a sentence for each withdrawn entry."""
        return [f"Withdrawn: {label}{why and f', {why}'}." for label, why in self.withdrawn.items()]


class FileFacts(NamedTuple):
    """The facts about the tournament in the last game of a file."""

    about: About
    games: int
    """The number of games that the file must have."""
    finished: bool


def read_file_facts(facts: object) -> FileFacts | None:
    """Return the facts that `About.file_facts` returned; None if they are none, in a file from elsewhere."""
    try:
        return _read_file_facts(facts)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None


def _read_file_facts(facts: Any) -> FileFacts:
    entries: dict[str, None] = dict.fromkeys(map(_text, facts["entries"]))
    points = {_known(label, entries): _number(value) for label, value in facts.get("bye_points", {}).items()}
    byes = {_known(label, entries): int(_number(count)) for label, count in facts.get("byes", {}).items()}
    withdrawn = {_known(label, entries): _text(why) for label, why in facts.get("withdrawn", {}).items()}
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
        None if row[name] is None else _known(row[name], entries) for name in ("first", "second", "winner")
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


def _known(label: Any, entries: Mapping[str, None]) -> str:
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
    """Return the time control of a tournament, with those of entries that have their own, in natural order."""
    own = [f"{label} {own_times[label]}" for label in sorted(own_times, key=natural_key)]
    return f"{time} ({', '.join(own)})" if own else time


def _moment(text: str) -> str:
    """Return a date and time as `2026-11-24 22:10 UTC`; a date without time is unchanged."""
    return f"{text[:16].replace('T', ' ')} UTC" if "T" in text else text
