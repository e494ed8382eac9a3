"""Facts about a tournament other than its games: settings, dates, byes, withdrawals, pairings."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from noughts_server.tables.pairings import MatchRow

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
    """Of a knockout: the matches that each entry won, byes included, by label."""
    matches: Sequence[MatchRow] = ()
    """The bracket of a knockout, or the rounds of a Swiss or Danish tournament."""

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


def _moment(text: str) -> str:
    """Return a date and time as `2026-11-24 22:10 UTC`; a date without time is unchanged."""
    return f"{text[:16].replace('T', ' ')} UTC" if "T" in text else text
