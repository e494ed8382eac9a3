"""A course: the teacher's settings for the league of a class."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from noughts_proto.errors import ExplainedError
from noughts_proto.transport import DEFAULT_SERVER
from noughts_referee.clock import TimeControlError, parse_time_control
from noughts_referee.rules import VariantError, parse_variant
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.openings.settings import Openings

ORGANISER = "organiser"
"""The owner of the nights' tournaments."""
MOST_GAMES = 1_000
"""The largest number of games of a pair each night."""
EXPECTED_GAMES = f"an even number from 2 to {MOST_GAMES:,}, because both bots of a pair move first equally often"
"""The rule for the number of games of a pair."""
EXPECTED_SITE = "http:// or https:// with a host"
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_KINDS = {"py", "wasm"}


class LeagueProblem(ExplainedError):
    """An error that the teacher can fix; the text says what is wrong and what to do next."""


@dataclass(frozen=True, slots=True)
class Course:
    """The settings of a course, under the names of `course.json`."""

    name: str
    variant: str
    games_per_pair: int
    time: str
    nightly: str
    """HH:MM, by the clock of this machine."""
    closes: str
    """The time at which tokens expire, in ISO 8601; empty: never."""
    accept: str
    """The kinds of bots that students can submit: `py`, `wasm`, or both separated by a comma."""
    address: str
    """The address of the website."""
    server: str = DEFAULT_SERVER
    """The address of the server for the students' commands."""
    openings: str = "none"
    """The openings of each night, as `--openings` takes them."""
    python_packages: str = ""
    """Packages that Python bots can import, separated by commas."""

    @classmethod
    def of_document(cls, document: object) -> "Course":
        """Return the course of a JSON document. Raise LeagueProblem that names each key whose value is wrong."""
        if not isinstance(document, dict):
            raise LeagueProblem(f"got {type(document).__name__}, expected an object with the keys of a course")
        if problems := list(_problems(document)):
            raise LeagueProblem("\n".join(problems), "Correct these keys in the file, then run the command again.")
        return cls(**document)

    @property
    def end(self) -> datetime | None:
        """Return the time at which tokens expire; None: never."""
        return datetime.fromisoformat(self.closes) if self.closes else None

    def night(self, now: datetime, openings: Openings) -> TournamentSettings:
        """Return the settings of the night that begins now, with these openings."""
        return TournamentSettings(
            title=f"{self.name}, {now:%Y-%m-%d}",
            variant=self.variant,
            games_per_pair=self.games_per_pair,
            time=parse_time_control(self.time),
            openings=openings,
        )


def is_clock(text: str) -> bool:
    """Return whether this is a time of day, HH:MM."""
    return _CLOCK.fullmatch(text) is not None


def are_kinds(text: str) -> bool:
    """Return whether these are kinds of bots that a course accepts, separated by commas."""
    return set(text.split(",")) <= _KINDS


def _is_time_with_zone(text: str) -> bool:
    with suppress(ValueError):
        return datetime.fromisoformat(text).tzinfo is not None
    return not text


def _is_variant(text: str) -> bool:
    with suppress(VariantError):
        return bool(parse_variant(text))
    return False


def _is_time_control(text: str) -> bool:
    with suppress(TimeControlError):
        return parse_time_control(text) is not None
    return False


def is_site(text: str) -> bool:
    """Return whether this is the address of a website: http:// or https:// with a host."""
    with suppress(ValueError):  # a wrong port, or brackets that do not match
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable() and parts.port != 0
    return False


def _are_packages(text: str) -> bool:
    return all(name.strip().isidentifier() for name in text.split(",") if name.strip())


def _is_server(text: str) -> bool:
    host, _, port = text.rpartition(":")
    is_host = (host.startswith("[") and host.endswith("]")) or (bool(host) and not set(host) & set("[]/: @"))
    return is_host and port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65_536


class _ExpectedText(NamedTuple):
    is_valid: Callable[[str], bool]
    description: str


_EXPECTED_TEXTS: Mapping[str, _ExpectedText] = {
    "variant": _ExpectedText(_is_variant, "a variant, e.g. connect4"),
    "time": _ExpectedText(_is_time_control, "a time control, e.g. 1/move or 60+0.5"),
    "nightly": _ExpectedText(is_clock, "HH:MM, e.g. 02:00"),
    "closes": _ExpectedText(
        _is_time_with_zone, "a time with its zone, e.g. 2026-12-18T23:59:00+01:00, or an empty text"
    ),
    "address": _ExpectedText(is_site, f"{EXPECTED_SITE}, e.g. https://games.example"),
    "server": _ExpectedText(_is_server, f"HOST:PORT, e.g. {DEFAULT_SERVER}"),
    "python_packages": _ExpectedText(
        _are_packages,
        "import names of packages separated by commas, e.g. numpy,scipy, or an empty text",
    ),
    "accept": _ExpectedText(are_kinds, "py, wasm, or both separated by a comma"),
}
"""For each key, the check of its text and the description of a correct one."""


def _problems(document: Mapping[str, object]) -> Iterator[str]:
    """Yield a sentence for each key of the document that is unknown, missing or wrong."""
    known = {field.name: field for field in fields(Course)}
    for key in document.keys() - known.keys():
        yield f"{key}: got an unknown key, expected one of {', '.join(known)}"
    for key, field in known.items():
        if key not in document:
            if field.default is MISSING:
                yield f"{key}: got no value, expected the key"
            continue
        value = document[key]
        expected_text = _EXPECTED_TEXTS.get(key)
        if key == "games_per_pair":
            # `type`, because a bool is also an instance of int.
            if type(value) is not int or not 2 <= value <= MOST_GAMES or value % 2:
                yield f"{key}: got {value!r}, expected {EXPECTED_GAMES}"
        elif not isinstance(value, str):
            description = f": {expected_text.description}" if expected_text else ""
            yield f"{key}: got {value!r}, expected a text{description}"
        elif expected_text and not expected_text.is_valid(value):
            yield f"{key}: got {value!r}, expected {expected_text.description}"
