"""Matches: two entries play pairs of games with the sides swapped, until a test is decided or the games are over."""

from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.round_robin import RoundRobinFormat
from noughts_server.competition.formats.tournament_format import FormatError, FormatSettings, LateEntries
from noughts_server.core.messages import N_


class MatchFormat(RoundRobinFormat):
    """A round robin of two entries.

    The transaction that stores a pair of games also counts the pair. A decided test ends the match.
    """

    number = 7
    title = N_("Match")
    summary = N_("two bots, pairs of games with the sides swapped")
    own_settings = frozenset({"sprt"})
    late_entries = LateEntries.NEVER
    extended_setting = ""
    most_entries = 2
    base = 1

    def check_entries(self, entries: int, settings: FormatSettings) -> None:
        if entries != self.most_entries:
            raise FormatError("entries", entries, "2", "a match is played by two bots")

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        most = settings.games_per_pair
        return Forecast(
            entries=entries,
            rounds=None,
            least=2 if settings.sprt else most,
            most=most,
            waves=(Wave(most, 1),),
        )


MATCH = MatchFormat()
