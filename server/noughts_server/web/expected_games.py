"""How many games a tournament will have, also if the games of later rounds are not scheduled yet."""

from dataclasses import dataclass

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


def expected_games(tournament: Document, entries: int) -> int:
    """Return the number of games that a tournament is expected to have, as `expected_total`."""
    settings = _Settings(
        games_per_pair=tournament["games_per_pair"],
        rounds=tournament["rounds"],
        stop_when_decided=tournament["stop_when_decided"],
        sprt=tournament["sprt"],
    )
    is_over = tournament["state"] in ("finished", "cancelled")
    kind = format_named(str(tournament["schedule"]))
    return expected_total(kind, settings, tournament["games_total"], 0 if is_over else entries)


def expected_total(kind: TournamentFormat, settings: FormatSettings, scheduled: int, entries: int) -> int:
    """Return the expected number of games of a tournament with this number of scheduled ones.

    It is 0 if the tournament has no end or has not begun. A tournament in rounds schedules each round when the last one
    is over. Withdrawals and tied matches change the number. `entries` is 0 if the tournament is over.
    """
    if kind.endless or not scheduled:
        return 0
    if not isinstance(kind, InRounds) or entries < 2:
        return scheduled
    return max(scheduled, kind.forecast(settings, entries).usual)
