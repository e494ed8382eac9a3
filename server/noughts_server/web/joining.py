"""When bots can join a tournament and when it starts, and the sentence about it on pages."""

from datetime import UTC, datetime

from markupsafe import Markup

from noughts_server.competition.formats import format_named
from noughts_server.competition.formats.tournament_format import LateEntries
from noughts_server.core.join_window import JoinWindow
from noughts_server.core.messages import _
from noughts_server.web.documents import Document
from noughts_server.web.words import when

_NEVER = "9999"
"""Sorts after all times in the next thousands of years."""


def start_order(tournament: Document) -> str:
    """Return the time of the start, for sorting; those without one come last."""
    return str(tournament["start_at"] or _NEVER)


def takes_first_entries(tournament: Document) -> bool:
    """Return whether the tournament is open, and bots can join now."""
    return tournament["state"] == "open" and _window(tournament).is_open(_now_ms())


def takes_entries(tournament: Document) -> bool:
    """Return whether bots can join the tournament now, also if it has started."""
    state = tournament["state"]
    late = format_named(str(tournament["schedule"])).late_entries
    if state == "paused":
        return late is not LateEntries.NEVER
    return takes_first_entries(tournament) or (state == "running" and late is LateEntries.ALWAYS)


def join_window(tournament: Document) -> Markup:
    """Return e.g. `joining begins ...` for an open tournament; empty if bots can join at any time before its start."""
    if tournament["state"] != "open":
        return Markup("")
    events = _window(tournament).events(_now_ms())
    return Markup(", ").join(Markup("{} {}").format(_(event), when(_stamp(time_ms))) for event, time_ms in events)


def _window(tournament: Document) -> JoinWindow:
    return JoinWindow(_milliseconds(tournament["join_from"]), _milliseconds(tournament["join_until"]))


def _now_ms() -> float:
    return datetime.now(UTC).timestamp() * 1000


def _milliseconds(stamp: str | None) -> int | None:
    return round(datetime.fromisoformat(stamp).timestamp() * 1000) if stamp else None


def _stamp(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
