"""When and how many bots can join a tournament, and when it starts. Times are milliseconds since 1970 in UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime

from noughts_server.errors import InvalidArgument
from noughts_server.store.validation import check_number

FEWEST_ENTRIES, MOST_ENTRIES = 2, 4_096

_LATEST = 253_402_300_799_000  # the end of the year 9999, the limit of timestamps


@dataclass(frozen=True, slots=True)
class Joining:
    """The organiser's choices."""

    entries_min: int = FEWEST_ENTRIES
    entries_max: int = MOST_ENTRIES
    join_from: int | None = None
    """None: from its creation."""
    join_until: int | None = None
    """None: until the start."""
    start_at: int | None = None
    """None: its owner starts it."""

    def check(self, now_ms: int) -> None:
        """Check that a tournament can be created with these values. Raises InvalidArgument."""
        check_number("tournament.entries_min", self.entries_min, FEWEST_ENTRIES, MOST_ENTRIES)
        check_number("tournament.entries_max", self.entries_max, self.entries_min, MOST_ENTRIES)
        orders = (("join_from",), ("join_until", "join_from"), ("start_at", "join_from", "join_until"))
        for name, *others in orders:
            moment: int | None = getattr(self, name)
            if moment is None:
                continue
            if not 0 <= moment <= _LATEST:
                raise InvalidArgument.of(f"tournament.{name}", utc(moment), "a moment from 1970 to 9999")
            # Joining can begin before the creation; all other times must be in the future.
            if others and moment <= now_ms:
                raise InvalidArgument.of(f"tournament.{name}", utc(moment), f"a moment after now ({utc(now_ms)})")
            for other in others:
                bound: int | None = getattr(self, other)
                # The start can be the end of the join window, but a window cannot be empty.
                if bound is not None and moment < bound + (other == "join_from"):
                    raise InvalidArgument.of(f"tournament.{name}", utc(moment), f"one after {other} ({utc(bound)})")

    def closed(self, now_ms: int) -> str:
        """Return why no bot can join, e.g. `closed for entries since 2026-03-01 12:00:00 UTC`; empty if bots can."""
        if self.join_from is not None and now_ms < self.join_from:
            return f"closed for entries until {utc(self.join_from)}"
        if self.join_until is not None and now_ms >= self.join_until:
            return f"closed for entries since {utc(self.join_until)}"
        return ""

    def not_yet(self, now_ms: int) -> str:
        """Return what its owner must wait for before a start by hand, because the announced times count; else empty."""
        if self.start_at is not None and now_ms < self.start_at:
            return f"to wait for its start at {utc(self.start_at)}, which comes by itself"
        if self.join_until is not None and now_ms < self.join_until:
            return f"to wait for the end of its join window at {utc(self.join_until)}"
        return ""

    def __str__(self) -> str:
        """Return the join window, e.g. `from 2026-03-01 12:00:00 UTC until the start`."""
        begin = "its creation" if self.join_from is None else utc(self.join_from)
        return f"from {begin} until {'the start' if self.join_until is None else utc(self.join_until)}"


def utc(milliseconds: int) -> str:
    """Return a readable time, e.g. `2026-03-01 12:00:00 UTC`."""
    if not 0 <= milliseconds <= _LATEST:
        return f"{milliseconds} ms after 1970"
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
