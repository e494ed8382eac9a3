"""Rarely used settings, as the JSON document in a tournament's row. Defaults are omitted; most rows have none."""

import json
from collections.abc import Mapping
from typing import Any

from noughts_server.competition.tournament_settings import OPTIONS, TournamentSettings
from noughts_server.openings.settings import Openings


def options_document(settings: TournamentSettings) -> dict[str, Any] | None:
    """Return the document for the row; None if all values are defaults."""
    document = {name: value for name in OPTIONS if (value := getattr(settings, name))}
    if settings.across_owners:
        document["across_owners"] = True
    if settings.openings:
        document["openings"] = settings.openings.document()
    return document or None


def own_times_document(settings: TournamentSettings) -> dict[str, str] | None:
    """Return the time controls of single entries for the row; None if there are none."""
    return {label: str(time) for label, time in settings.own_times.items()} or None


def stored_bytes(settings: TournamentSettings) -> int:
    """Return the bytes of both documents. The rest of the row is short."""
    return len(json.dumps((options_document(settings), own_times_document(settings))))


def read_options(document: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of `TournamentSettings` that a row's document has."""
    document = document or {}
    plain = {name: value for name, value in document.items() if name in OPTIONS}
    openings = Openings.from_document(document.get("openings"))
    return {**plain, "across_owners": document.get("across_owners", False), "openings": openings}
