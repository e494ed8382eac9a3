"""How far running tournaments are: their rounds, matches that are over, and the climber of a ladder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from noughts_proto.v1 import leaderboards_pb2, tournaments_pb2
from noughts_server.competition.formats import format_of
from noughts_server.competition.formats.tournament_format import InRounds
from noughts_server.core.messages import _
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.expected_games import forecast_of
from noughts_server.web.upstream import Failure, Upstream

_LISTED = 100
"""The first bots of a rating list; the climber of a ladder is one of them."""


@dataclass(frozen=True, slots=True)
class Climber:
    """A bot of a ladder whose rating rises."""

    bot: str
    """`bots/NAME`."""
    trend: float
    """The change of its rating (`LeaderboardRow.trend`)."""


class _RoundWords(NamedTuple):
    """The texts of a round in the active language."""

    name: str
    inside: str
    lost: str


@dataclass(frozen=True, slots=True)
class Round:
    """A round of a tournament; as a text in the active language, e.g. `Semifinals` or `Round 2 of 5`."""

    number: int
    last: int = 0
    """The last round of the tournament; 0 if it is unknown, or the text should leave it out."""
    is_knockout: bool = False

    def __str__(self) -> str:
        return self._words().name

    def inside(self) -> str:
        """Return where something happens, e.g. `in the semifinals`."""
        return self._words().inside

    def lost(self) -> str:
        """Return how far the loser of a match of this round got, e.g. `lost in the semifinals`."""
        return self._words().lost

    def _words(self) -> _RoundWords:
        match self.last - self.number if self.is_knockout else None:
            case 0:
                return _RoundWords(_("Final"), _("in the final"), _("lost the final"))
            case 1:
                return _RoundWords(_("Semifinals"), _("in the semifinals"), _("lost in the semifinals"))
            case 2:
                return _RoundWords(_("Quarterfinals"), _("in the quarterfinals"), _("lost in the quarterfinals"))
        name = _("Round %(number)s", number=self.number)
        if self.last >= self.number:
            name = _("Round %(number)s of %(last)s", number=self.number, last=self.last)
        inside = _("in round %(number)s", number=self.number)
        return _RoundWords(name, inside, _("lost in round %(number)s", number=self.number))


@dataclass(frozen=True, slots=True)
class Matches:
    """How many matches are over; byes are no matches."""

    over: int
    whole: int


@dataclass(frozen=True, slots=True)
class RunningStage:
    """How far a tournament is. Everything is empty for a format without rounds and with an end."""

    round: Round | None = None
    matches: Matches | None = None
    """The matches of all rounds of a knockout, also those whose bots are not known yet."""
    climber: Climber | None = None


async def running_stage(upstream: Upstream, tournament: tournaments_pb2.Tournament) -> RunningStage:
    """Return how far a running tournament is; nothing if the server does not answer."""
    kind = format_of(tournament.schedule)
    try:
        if isinstance(kind, InRounds):
            request = tournaments_pb2.GetCrosstableRequest(name=tournament.name, top=1)
            table = await upstream.ask(upstream.tournaments.GetCrosstable, request)
            if kind.places_by_bracket:
                return knockout_stage(table["matches"])
            forecast = kind.forecast(tournament, len(tournament.standings)) if len(tournament.standings) > 1 else None
            return RunningStage(round=numbered_round(table["encounters"], (forecast and forecast.rounds) or 0))
        if kind.endless:
            variant, _, time_class = tournament.rating_list.rpartition("/")
            leaderboard = leaderboards_pb2.GetLeaderboardRequest(
                variant=variant, time_class=time_class, page_size=_LISTED
            )
            rows = (await upstream.ask(upstream.leaderboards.GetLeaderboard, leaderboard))["rows"]
            return RunningStage(climber=climber(rows, tournament.standings))
    except Failure:
        pass  # the page shows the rest of the tournament
    return RunningStage()


def current_round(tournament: Document, table: Document) -> Round | None:
    """Return the round of a tournament by its crosstable; None for a format without rounds and outside of a round."""
    if table["matches"]:
        return knockout_round(table["matches"])
    if table["encounters"]:
        return numbered_round(table["encounters"], forecast_of(tournament).rounds or 0)
    return None


def knockout_round(matches: Sequence[Document]) -> Round | None:
    """Return the first round of a bracket with a match that is not over; None before the start."""
    by_round: dict[int, list[Document]] = {}
    for match in matches:
        by_round.setdefault(match["round"], []).append(match)
    open_rounds = [number for number, pairs in by_round.items() if any(not pair["winner"] for pair in pairs)]
    return Round(min(open_rounds), max(by_round), is_knockout=True) if open_rounds else None


def knockout_stage(matches: Sequence[Document]) -> RunningStage:
    """Return how far a bracket is: its round, and its matches that are over."""
    current = knockout_round(matches)
    return RunningStage(current, matches_over(matches)) if current else RunningStage()


def matches_of_round(matches: Sequence[Document]) -> Matches | None:
    """Return how many matches of the present round of a bracket are over; None outside of a round."""
    current = knockout_round(matches)
    return matches_over([match for match in matches if match["round"] == current.number]) if current else None


def matches_over(matches: Sequence[Document]) -> Matches:
    """Return how many of the matches have a winner."""
    played = [match for match in matches if match["decision"] != "bye"]
    return Matches(over=sum(bool(match["winner"]) for match in played), whole=len(played))


def numbered_round(pairings: Sequence[Document], rounds: int) -> Round | None:
    """Return the newest round; None before the first. `rounds` is the number of the last, 0 if it is unknown."""
    newest = max((pairing["round"] for pairing in pairings), default=0)
    return Round(newest, rounds) if newest else None


def climber(rows: Sequence[Mapping[str, Any]], standings: Iterable[tournaments_pb2.Standing]) -> Climber | None:
    """Return that of the bots with games in a ladder whose rating rises most, by the rows of a leaderboard."""
    played = (standing for standing in standings if standing.wins + standing.draws + standing.losses)
    bots = {words.bot(standing.bot_version) for standing in played}
    rising = [
        Climber(row["bot"], row["trend"]) for row in rows if row["bot"] in bots and row["trend"] and row["trend"] >= 1
    ]
    return max(rising, key=lambda each: each.trend, default=None)
