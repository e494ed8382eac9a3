"""How many games a new tournament will have, and about how long they take if the bots use all their time."""

from typing import NamedTuple

from noughts_referee.rules import VariantError, parse_variant
from noughts_server.competition.forecast import Forecast, longest_game, usual_plies
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.web.documents import Document
from noughts_server.web.forms import FormErrors, number_of
from noughts_server.web.new_tournament import EMPTY_FORM, settings_in
from noughts_server.web.upstream import Failure

_MOST_BOTS = 4_096
_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))


class Estimate(NamedTuple):
    """The estimate for a form."""

    forecast: Forecast | None
    """None if the fields are wrong."""
    duration: str
    """The duration in words if every bot uses all its time, in one game at a time; empty without clocks."""
    plies: int
    """The moves of both sides in a game of usual length."""
    problem: str
    """Why there is no forecast; else empty."""


def estimate_of(values: Document) -> Estimate:
    """Return the estimate for the values of the form. Openings change nothing."""
    errors = FormErrors()
    fields = {**EMPTY_FORM, **values, "openings": "", "openings_text": "", "symmetries": "", "opening_rule": ""}
    settings = settings_in(fields, errors)
    bots = errors.read(lambda: number_of(fields, "bots", _MOST_BOTS), 0) or 2
    try:
        errors.check()
        variant = parse_variant(settings.variant)
        bots = min(max(bots, 2), settings.schedule.most_entries)
        settings.schedule.check_entries(bots, settings)
        forecast = settings.schedule.forecast(settings, bots)
    except Failure:
        return Estimate(None, "", 0, "some fields are wrong.")
    except VariantError:
        return Estimate(None, "", 0, "the game is unknown.")
    except FormatError as error:
        return Estimate(None, "", 0, f"{error.why}.")
    plies = usual_plies(variant, settings.draw_after)
    seconds = longest_game([settings.time, *settings.own_times.values()], plies)
    words = "" if seconds is None else duration(forecast.seconds_one_by_one(seconds, settings.most_concurrent))
    return Estimate(forecast, words, plies, "")


def duration(seconds: float) -> str:
    """Return e.g. `3 hours`, in the largest unit of which there are at least two."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return "2 seconds"
