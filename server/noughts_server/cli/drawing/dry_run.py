"""`--dry-run`: the number of games and the expected duration of a tournament, which is not played."""

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

# For tournaments without a time limit and without a trial.
_ASSUMED_MOVE_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Pace:
    """The expected duration of games, and its source."""

    seconds: float | None
    """Seconds that one game takes, with any number of concurrent games; None: unknown."""
    rate: float | None
    """Games a second, of all concurrent games together; None: unknown."""
    basis: str
    """`trial`, `limits`, `assumption` or `none`, in JSON."""
    wording: str
    """The assumptions as a sentence, without a capital letter and a full stop."""
    one_by_one: bool = False
    """Whether each bot plays one game at a time."""


def pace_of(settings: TournamentSettings, *, one_by_one: bool = False) -> Pace:
    """Return the pace by the time limits; without limits, by an assumed millisecond for each move.

    With `one_by_one`, each bot plays one game with a clock at a time, as most bots on a server do.
    """
    plies = usual_plies(parse_variant(settings.variant), settings.draw_after)
    # Each game can have the longest of these times: a server does not know the entries yet.
    seconds = longest_game([settings.time, *settings.own_times.values()], plies)
    if seconds is not None:
        games = printing.count(settings.most_concurrent, "game")
        at_once = "each bot in one game at a time" if one_by_one else f"{games} at once"
        wording = f"this assumes that all moves are as slow as allowed, {at_once}, each of about {plies} plies"
        return Pace(seconds, None, "limits", wording, one_by_one=one_by_one)
    wording = f"without a time limit, this assumes 1 ms per move, one after the other, and about {plies} plies per game"
    return Pace(None, 1 / (plies * _ASSUMED_MOVE_SECONDS), "assumption", wording)


def entry_counts(settings: TournamentSettings, minimum: int, maximum: int) -> list[int]:
    """Return numbers of entries: both limits, and the powers of two from 4 to 64 between them.

    The format lowers the maximum, and leaves out numbers that it cannot pair. Raises UsageProblem.
    """
    if minimum > maximum:
        raise UsageProblem(f"--min-entries {minimum}: expected at most --max-entries, which is {maximum}")
    maximum = min(maximum, settings.schedule.most_entries)
    powers_of_two = [2**power for power in range(2, 7) if minimum < 2**power < maximum]
    counts = sorted({minimum, maximum, *powers_of_two})
    with usage_problems():
        settings.schedule.check_entries(maximum, settings)
    playable = []
    for count in counts:
        with suppress(FormatError):
            settings.schedule.check_entries(count, settings)
            playable.append(count)
    return playable


def show_forecasts(
    output: OutputOptions, settings: TournamentSettings, entries: Iterable[int], pace: Pace, *, one: bool
) -> None:
    """Print a forecast for each number of entries. With `one`, JSON has the only forecast itself instead of a list."""
    forecasts = [settings.schedule.forecast(settings, count) for count in entries]
    documents = [_document(settings, forecast, pace) for forecast in forecasts]
    lines = []
    for forecast in forecasts:
        eta = _eta(settings, forecast, pace)
        duration = "duration not known" if eta is None else f"about {length(max(1, eta))}"
        rounds = f", {printing.count(forecast.rounds, 'round')}" if forecast.rounds else ""
        lines.append(f"{printing.count(forecast.entries, 'bot')}{rounds}, {_games(forecast)}: {duration}")
    output.announce(
        documents[0] if one else {"dry_run": True, "forecasts": documents},
        f"{settings.schedule.title}: {settings.variant}, time {settings.time}, nothing is played",
        "\n".join([*lines, f"{pace.wording[0].upper()}{pace.wording[1:]}."]),
    )


def _eta(settings: TournamentSettings, forecast: Forecast, pace: Pace) -> float | None:
    if pace.rate is not None:
        return forecast.usual / pace.rate
    if pace.seconds is None:
        return None
    seconds = forecast.seconds_one_by_one if pace.one_by_one else forecast.seconds
    return seconds(pace.seconds, settings.most_concurrent)


def _games(forecast: Forecast) -> str:
    if forecast.most is None:
        return f"until stopped, {printing.count(forecast.usual, 'game')} until all have played"
    if forecast.least != forecast.most:
        return f"{forecast.least:,} to {printing.count(forecast.most, 'game')}"
    return printing.count(forecast.most, "game")


def _document(settings: TournamentSettings, forecast: Forecast, pace: Pace) -> dict[str, Any]:
    return {
        "dry_run": True,
        "schedule": str(settings.schedule),
        "variant": settings.variant,
        "time": str(settings.time),
        "entries": forecast.entries,
        "rounds": forecast.rounds,
        "games_least": forecast.least,
        "games_most": forecast.most,
        "concurrency": settings.concurrency,
        "eta_seconds": _eta(settings, forecast, pace),
        "eta_basis": pace.basis,
    }
