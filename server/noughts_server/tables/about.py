"""What is known of a tournament apart from its games: how and when it was played, byes, withdrawals, pairings."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from noughts_server.tables.pairings import MatchRow

_NONE: Mapping[str, Any] = MappingProxyType({})


class About(NamedTuple):
    """Empty where it is not known: files of games hold little of it."""

    schedule: str = ""
    """E.g. `swiss`."""
    time: str = ""
    """The time control, as on the command line."""
    began: str = ""
    """In ISO 8601, or a part of it."""
    ended: str = ""
    byes: Mapping[str, int] = _NONE
    """By label: rounds without an opponent."""
    bye_points: Mapping[str, float] = _NONE
    """Points got without a game, by label."""
    withdrawn: Mapping[str, str] = _NONE
    """By label: why it left after the start."""
    order: Sequence[str] | None = None
    """Of a knockout: the labels by who has come how far."""
    matches: Sequence[MatchRow] = ()
    """The bracket of a knockout, or the rounds of a Swiss or Danish tournament."""

    @property
    def rounds(self) -> int:
        """How many rounds have begun; 0 where there are none."""
        return max((match.round for match in self.matches), default=0)

    def document(self) -> dict[str, Any]:
        """Return it for JSON, without the pairings."""
        known = {"schedule": self.schedule, "time": self.time, "start_time": self.began, "end_time": self.ended}
        left = {"byes": dict(self.byes), "withdrawn": dict(self.withdrawn)}
        return {name: text or None for name, text in known.items()} | {"rounds": self.rounds or None} | left

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what there is for people: a name and a text."""
        known = (("schedule", self.schedule), ("rounds", str(self.rounds or "")), ("time", self.time))
        moments = (("began", _moment(self.began)), ("ended", _moment(self.ended)))
        yield from ((name, text) for name, text in known + moments if text)

    def notes(self) -> list[str]:
        """Return a sentence for each entry that left."""
        return [f"Withdrawn: {label}{why and f', {why}'}." for label, why in self.withdrawn.items()]


def _moment(text: str) -> str:
    """`2026-11-24 22:10 UTC`; a date alone stays as it is."""
    return f"{text[:16].replace('T', ' ')} UTC" if "T" in text else text
