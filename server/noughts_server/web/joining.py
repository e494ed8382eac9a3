"""Whether bots can join a tournament at a time, and the sentence about it on pages."""

from datetime import UTC, datetime

from markupsafe import Markup

from noughts_server.web.documents import Document
from noughts_server.web.words import when


def is_before_joining(tournament: Document, now: datetime) -> bool:
    """Return whether joining has not begun."""
    begin = _time(tournament["join_from"])
    return begin is not None and now < begin


def is_after_joining(tournament: Document, now: datetime) -> bool:
    """Return whether joining has ended."""
    end = _time(tournament["join_until"])
    return end is not None and now >= end


def takes_first_entries(tournament: Document) -> bool:
    """Return whether the tournament is open, and bots can join now."""
    now = datetime.now(UTC)
    is_open = tournament["state"] == "open"
    return is_open and not is_before_joining(tournament, now) and not is_after_joining(tournament, now)


def join_window(tournament: Document) -> Markup:
    """Return e.g. `joining begins ...` for an open tournament; empty if bots can join at any time before its start."""
    now = datetime.now(UTC)
    if tournament["state"] != "open":
        return Markup("")
    if is_before_joining(tournament, now):
        return Markup("joining begins {}").format(when(tournament["join_from"]))
    if tournament["join_until"]:
        verb = "ended" if is_after_joining(tournament, now) else "ends"
        return Markup("joining {} {}").format(verb, when(tournament["join_until"]))
    return Markup("")


def _time(stamp: str | None) -> datetime | None:
    return datetime.fromisoformat(stamp) if stamp else None
