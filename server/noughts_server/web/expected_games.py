"""How many games a tournament will have, also if the games of later rounds are not scheduled yet."""

from dataclasses import dataclass

from noughts_server.competition.forecast import Forecast
from noughts_server.competition.formats import format_named
from noughts_server.competition.formats.tournament_format import FormatSettings, InRounds, TournamentFormat
from noughts_server.web.documents import Document


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings that a forecast needs."""

    games_per_pair: int
    rounds: int
    stop_when_decided: bool
    sprt: str


def _settings(tournament: Document) -> _Settings:
    return _Settings(
        games_per_pair=tournament["games_per_pair"],
        rounds=tournament["rounds"],
        stop_when_decided=tournament["stop_when_decided"],
        sprt=tournament["sprt"],
    )


def expected_games(tournament: Document) -> int:
    """Return the number of games that a tournament is expected to have, as `expected_total`."""
    kind = format_named(str(tournament["schedule"]))
    if tournament["state"] in ("finished", "cancelled"):
        return 0 if kind.endless else int(tournament["games_total"])
    return expected_total(kind, _settings(tournament), tournament["games_total"], tournament["entries"])


def forecast_of(tournament: Document, entries: int = 0) -> Forecast:
    """Return the forecast for this number of entries; 0: for those so far, or for the fewest if there are fewer."""
    entries = entries or max(tournament["entries"], tournament["entries_min"], 2)
    return format_named(str(tournament["schedule"])).forecast(_settings(tournament), entries)


def games_of_each(tournament: Document) -> int | None:
    """Return how many games each entry of a tournament plays; None if that is not the same for all or unknown."""
    kind = format_named(str(tournament["schedule"]))
    return kind.games_of_each(_settings(tournament), len(tournament["standings"]))


def whole_number_of_games(tournament: Document) -> int:
    """Return the number of all games of a tournament in a list; 0 if it is unknown.

    A test can end a tournament at any time, and extra games after tied matches change the number of a knockout.
    """
    is_knockout = format_named(str(tournament["schedule"])).places_by_bracket
    if tournament["sprt"] or (is_knockout and tournament["state"] != "finished"):
        return 0
    return expected_games(tournament)


def expected_total(kind: TournamentFormat, settings: FormatSettings, scheduled: int, entries: int) -> int:
    """Return the expected number of games of a tournament with this number of scheduled ones.

    It is 0 if the tournament has no end or has not begun. A tournament in rounds schedules each round when the last one
    is over, so it is also 0 if the number of entries is unknown. Withdrawals and tied matches change the number.
    """
    if kind.endless or not scheduled:
        return 0
    if not isinstance(kind, InRounds):
        return scheduled
    if entries < 2:
        return 0
    return max(scheduled, kind.forecast(settings, entries).usual)
