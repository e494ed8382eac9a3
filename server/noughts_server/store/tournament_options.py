"""Conversion of settings for a row of `tournaments`. Rarely used settings are a JSON document without defaults."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from noughts_referee.clock import TimeControl, parse_time_control
from noughts_server.competition.formats import format_of
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.openings.settings import Openings
from noughts_server.store.seeds import stored_seed


def options_document(settings: TournamentSettings) -> dict[str, Any] | None:
    """Return the rarely used settings as a document for the row, without defaults; None if all are defaults."""
    document = {
        **settings.options,
        "across_owners": settings.across_owners,
        "openings": settings.openings.document(),
    }
    return {name: value for name, value in document.items() if value} or None


def read_settings(row: Row[Any]) -> TournamentSettings:
    """Return the settings in a row of `tournaments`."""
    options: Mapping[str, Any] = row.options or {}
    return TournamentSettings(
        title=row.title,
        variant=row.variant,
        time=TimeControl(move_us=row.move_us, bank_us=row.bank_us, increment_us=row.increment_us),
        own_times={label: parse_time_control(time) for label, time in (row.own_times or {}).items()},
        schedule=format_of(row.schedule),
        games_per_pair=row.games_per_pair,
        concurrency=row.concurrency,
        seed=stored_seed(row),
        rated=row.rated,
        rounds=options.get("rounds", 0),
        draw_after=options.get("draw_after", 0),
        resign=options.get("resign", ""),
        draw=options.get("draw", ""),
        adjudicate=options.get("adjudicate", ""),
        fuel=options.get("fuel", 0),
        margin_ms=options.get("margin_ms", 0),
        scale_time=options.get("scale_time", False),
        live_scores=options.get("live_scores", False),
        keep_scores=options.get("keep_scores", False),
        live_analysis=options.get("live_analysis", False),
        forfeit_after=options.get("forfeit_after", 0),
        stop_when_decided=options.get("stop_when_decided", False),
        sprt=options.get("sprt", ""),
        priority=options.get("priority", 0),
        throughput=options.get("throughput", 0),
        across_owners=options.get("across_owners", False),
        openings=Openings.from_document(options.get("openings")),
    )


def own_times_document(settings: TournamentSettings) -> dict[str, str] | None:
    """Return the time controls of single entries for the row; None if there are none."""
    return {label: str(time) for label, time in settings.own_times.items()} or None


def stored_bytes(settings: TournamentSettings) -> int:
    """Return the bytes of both documents. The rest of the row is short."""
    return len(json.dumps((options_document(settings), own_times_document(settings))))
