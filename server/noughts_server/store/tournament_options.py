"""What few tournaments have of settings, as the document in their row.

What is as usual is left out, so that most tournaments have none, and a database stays readable to people.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from noughts_server.competition.tournament_settings import TournamentSettings

_PLAIN = ("rounds", "draw_after", "forfeit_after", "stop_when_decided")
_USUAL = {field.name: field.default for field in fields(TournamentSettings)}


def options_document(settings: TournamentSettings) -> dict[str, Any] | None:
    """For the row; None where all is as usual."""
    return {name: value for name in _PLAIN if (value := getattr(settings, name)) != _USUAL[name]} or None


def read_options(document: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of `TournamentSettings` that a row's document has."""
    return {name: value for name, value in (document or {}).items() if name in _PLAIN}
