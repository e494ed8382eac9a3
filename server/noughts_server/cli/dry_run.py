"""`--dry-run`: what a tournament would be, without playing it."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from noughts_referee.rules import parse_variant
from noughts_server.cli import printing
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.formats import usage_problems
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import length
from noughts_server.competition.forecast import Forecast, longest_game, usual_plies
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.competition.tournament_settings import TournamentSettings

# Without a limit of time, where nothing can be tried.
_ASSUMED_MOVE_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Pace:
    """The expected duration of games, and its source."""

    seconds: float | None
    """Of one game, whatever the number of concurrent games; None: unknown."""
    rate: float | None
    """Games a second, of all that are played at once; None: not known."""
    basis: str
    """`trial`, `limits`, `assumption` or `none`, in JSON."""
    wording: str
    """A sentence."""


def pace_of(settings: TournamentSettings) -> Pace:
    """Estimate from the time limits, or from an assumed millisecond a move without limits."""
    plies = usual_plies(parse_variant(settings.variant), settings.draw_after)
    # The same for all, and the time of those who have their own: who has which is not known on a server yet.
    seconds = longest_game([settings.time, *settings.own_times.values()], plies)
    if seconds is not None:
        at_once = printing.count(settings.most_concurrent, "game")
        wording = f"this assumes that all moves are as slow as allowed, {at_once} at once, each of about {plies} plies"
        return Pace(seconds, None, "limits", wording)
    wording = f"without a time limit, this assumes 1 ms per move, one after the other, and about {plies} plies per game"
    return Pace(None, 1 / (plies * _ASSUMED_MOVE_SECONDS), "assumption", wording)


def entry_counts(settings: TournamentSettings, least: int, most: int) -> list[int]:
    """Some numbers of entries in these bounds: both, and powers of two between them. Raises UsageProblem."""
    if least > most:
        raise UsageProblem(f"--min-entries {least}: expected at most --max-entries, which is {most}")
    most = min(most, settings.schedule.most_entries)
    counts = sorted({least, most, *(2**power for power in range(2, 7) if least < 2**power < most)})
    with usage_problems():
        settings.schedule.check_entries(most, settings)
    playable = []
    for count in counts:
        with suppress(FormatError):
            settings.schedule.check_entries(count, settings)
            playable.append(count)
    return playable


def show_forecasts(
    output: OutputOptions, settings: TournamentSettings, entries: Iterable[int], pace: Pace, *, one: bool
) -> None:
    """Prints what is known of the tournament with each of these numbers of entries. JSON: `one` is not in a list."""
    forecasts = [settings.schedule.forecast(settings, count) for count in entries]
    documents = [_document(settings, each, pace) for each in forecasts]
    lines = []
    for each in forecasts:
        eta = _eta(settings, each, pace)
        duration = "duration not known" if eta is None else f"about {length(max(1, eta))}"
        rounds = f", {printing.count(each.rounds, 'round')}" if each.rounds else ""
        lines.append(f"{printing.count(each.entries, 'bot')}{rounds}, {_games(each)}: {duration}")
    output.announce(
        documents[0] if one else {"dry_run": True, "forecasts": documents},
        f"{settings.schedule.title}: {settings.variant}, time {settings.time}, nothing is played",
        "\n".join([*lines, f"{pace.wording[0].upper()}{pace.wording[1:]}."]),
    )


def _eta(settings: TournamentSettings, each: Forecast, pace: Pace) -> float | None:
    if pace.rate is not None:
        return each.usual / pace.rate
    return None if pace.seconds is None else each.seconds(pace.seconds, settings.most_concurrent)


def _games(each: Forecast) -> str:
    if each.most is None:
        return f"until stopped, {printing.count(each.waves[0], 'game')} until all have played"
    if each.least != each.most:
        return f"{each.least:,} to {printing.count(each.most, 'game')}"
    return printing.count(each.most, "game")


def _document(settings: TournamentSettings, each: Forecast, pace: Pace) -> dict[str, Any]:
    return {
        "dry_run": True,
        "schedule": str(settings.schedule),
        "variant": settings.variant,
        "time": str(settings.time),
        "entries": each.entries,
        "rounds": each.rounds,
        "games_least": each.least,
        "games_most": each.most,
        "concurrency": settings.concurrency,
        "eta_seconds": _eta(settings, each, pace),
        "eta_basis": pace.basis,
    }
