"""Candidates: several entries play pairs of games against the first one, the base, until one is proven stronger."""

from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.tournament_format import FormatError, FormatSettings, TournamentFormat
from noughts_server.core.messages import N_


class CandidatesFormat(TournamentFormat):
    """The candidate that is ahead plays next, and those that are behind are dropped (`statistics.candidates`)."""

    number = 8
    title = N_("Candidates")
    summary = N_("several bots against the first one, until one proves to be stronger")
    own_settings = frozenset({"sprt"})
    most_entries = 65
    most_tests = 64
    base = 0
    pairs_ahead = True

    def check(self, settings: FormatSettings) -> None:
        super().check(settings)
        if not settings.sprt:
            raise FormatError("sprt", "none", "a test, e.g. elo0=0,elo1=10", "it decides which candidates are dropped")

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        most = settings.games_per_pair * (entries - 1)
        return Forecast(entries=entries, rounds=None, least=2, most=most, waves=(Wave(most, 1),))


CANDIDATES = CandidatesFormat()
