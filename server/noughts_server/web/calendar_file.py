"""The starts of tournaments as an iCalendar file (RFC 5545), which calendars can subscribe to."""

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

from noughts_server.competition.formats import format_named
from noughts_server.version import software_version
from noughts_server.web import words
from noughts_server.web.documents import Document

_MOST_OCTETS = 75
_ESCAPES = {"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"}
_ESCAPED = str.maketrans({**{chr(code): " " for code in (*range(32), 127)}, **_ESCAPES})
# A calendar must have a component, also if no tournament has a scheduled start.
_EMPTY = ["BEGIN:VTIMEZONE", "TZID:UTC", "BEGIN:STANDARD", "DTSTART:19700101T000000", "TZOFFSETFROM:+0000"]
_EMPTY += ["TZOFFSETTO:+0000", "END:STANDARD", "END:VTIMEZONE"]


def calendar_file(title: str, tournaments: Iterable[Document], base: str) -> bytes:
    """Return a calendar with the scheduled starts of the tournaments; `base` is the address of the website."""
    events = [line for each in tournaments if each["start_at"] for line in _event(each, base)]
    head = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//Noughts//Noughts {software_version()}//EN",
        _text("X-WR-CALNAME", title),
    ]
    return "".join(map(_folded, [*head, *(events or _EMPTY), "END:VCALENDAR"])).encode()


def _event(tournament: Document, base: str) -> list[str]:
    name = tournament["name"]
    # Without an end the event is a moment: nobody knows how long a tournament will take.
    changed = max(filter(None, (tournament[f"{each}_time"] for each in ("create", "start", "end"))))
    game = f"{words.game(tournament['variant'])}, {format_named(tournament['schedule']).title.lower()}"
    return [
        "BEGIN:VEVENT",
        # Not from the address of the website, which can have several.
        f"UID:{uuid5(NAMESPACE_URL, name + tournament['create_time'])}",
        f"DTSTAMP:{_moment(changed)}",
        f"DTSTART:{_moment(tournament['start_at'])}",
        _text("SUMMARY", tournament["title"] or words.short(name)),
        _text("DESCRIPTION", f"{game}, {words.time_control(tournament['time'])}"),
        f"URL:{base}/{name}",
        f"STATUS:{'CANCELLED' if tournament['state'] == 'cancelled' else 'CONFIRMED'}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _moment(stamp: str) -> str:
    """Return `20261125T210000Z` for `2026-11-25T21:00:00.5Z`."""
    return f"{stamp[:19].replace('-', '').replace(':', '')}Z"


def _text(name: str, value: str) -> str:
    return f"{name}:{value.translate(_ESCAPED)}"


def _folded(line: str) -> str:
    """Return the line with its end, folded between characters so that no line has more than 75 octets."""
    lines, octets = [""], 0
    for character in line:
        octets += len(character.encode())
        if octets > _MOST_OCTETS:
            lines.append(" ")
            octets = 1 + len(character.encode())
        lines[-1] += character
    return "\r\n".join(lines) + "\r\n"
