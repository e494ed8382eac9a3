"""The formats of tournaments. A new format is a module of this package and an entry of `FORMATS`."""

from noughts_server.competition.formats.candidates import CANDIDATES
from noughts_server.competition.formats.danish import DANISH
from noughts_server.competition.formats.gauntlet import GAUNTLET
from noughts_server.competition.formats.knockout import KNOCKOUT
from noughts_server.competition.formats.ladder import LADDER
from noughts_server.competition.formats.match import MATCH
from noughts_server.competition.formats.round_robin import ROUND_ROBIN
from noughts_server.competition.formats.swiss import SWISS
from noughts_server.competition.formats.tournament_format import TournamentFormat

__all__ = [
    "CANDIDATES",
    "DANISH",
    "FORMATS",
    "GAUNTLET",
    "KNOCKOUT",
    "LADDER",
    "MATCH",
    "ROUND_ROBIN",
    "SWISS",
    "TournamentFormat",
    "format_named",
    "format_of",
]

FORMATS: tuple[TournamentFormat, ...] = (ROUND_ROBIN, GAUNTLET, SWISS, DANISH, KNOCKOUT, LADDER, MATCH, CANDIDATES)
"""All formats in the order in which users see them."""

_BY_NUMBER = {format.number: format for format in FORMATS}
_BY_NAME = {format.name: format for format in FORMATS}


def format_of(number: int) -> TournamentFormat:
    """Return the format with this number in the protocol and in the database. Raise ValueError if there is none."""
    if number not in _BY_NUMBER:
        raise ValueError(f"unknown format {number}; the formats are {', '.join(map(str, _BY_NUMBER))}")
    return _BY_NUMBER[number]


def format_named(name: str) -> TournamentFormat:
    """Return the format with this name, also with `_` for `-`. Raise ValueError if there is none."""
    format = _BY_NAME.get(name.replace("_", "-"))
    if format is None:
        raise ValueError(f"unknown format {name[:100]!r}; the formats are {', '.join(_BY_NAME)}")
    return format
