"""The time in which bots can join a tournament, the number of entries, and the start.

Times are milliseconds since 1970 in UTC.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from noughts_server.core.join_window import JoinWindow

FEWEST_ENTRIES = 2
MOST_ENTRIES = 4_096

LATEST = 253_402_300_799_000
"""The end of the year 9999, the limit of timestamps."""


@dataclass(frozen=True, slots=True)
class Joining:
    """The organiser's settings for joining and the start."""

    entries_min: int = FEWEST_ENTRIES
    entries_max: int = MOST_ENTRIES
    join_from: int | None = None
    """None: from its creation."""
    join_until: int | None = None
    """None: until the start."""
    start_at: int | None = None
    """None: its owner starts it."""

    def why_closed(self, now_ms: int) -> str:
        """Return why no bot can join, e.g. `closed for entries since 2026-03-01 12:00:00 UTC`; empty if bots can."""
        window = JoinWindow(self.join_from, self.join_until)
        if self.join_from is not None and not window.has_begun(now_ms):
            return f"closed for entries until {utc(self.join_from)}"
        if self.join_until is not None and window.has_ended(now_ms):
            return f"closed for entries since {utc(self.join_until)}"
        return ""

    def unmet_start_condition(self, now_ms: int) -> str:
        """Return what the owner must wait for before a start by hand, as `to wait for ...`; empty for nothing."""
        if self.start_at is not None and now_ms < self.start_at:
            return f"to wait for its start at {utc(self.start_at)}, which is automatic"
        if self.join_until is not None and now_ms < self.join_until:
            return f"to wait for the end of its join window at {utc(self.join_until)}"
        return ""

    def __str__(self) -> str:
        """Return the join window, e.g. `from 2026-03-01 12:00:00 UTC until the start`."""
        begin = "its creation" if self.join_from is None else utc(self.join_from)
        return f"from {begin} until {'the start' if self.join_until is None else utc(self.join_until)}"


def utc(milliseconds: int) -> str:
    """Return a readable time, e.g. `2026-03-01 12:00:00 UTC`."""
    if not 0 <= milliseconds <= LATEST:
        return f"{milliseconds} ms after 1970"
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
