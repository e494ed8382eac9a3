"""What the bots of a signed-in user play now, and which tournaments they have entered."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_server.competition.formats import format_of
from noughts_server.core.messages import _
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.joining import start_order
from noughts_server.web.known_game import tournaments_of
from noughts_server.web.running_stages import Round, running_stage
from noughts_server.web.upstream import Failure, Upstream

_MOST_BOTS = 10
"""Bots that are looked up; those that are online come first."""
_MOST_UNKNOWN = 4
"""Tournaments that are looked up."""
_MOST_RESULTS = 3
"""Tournaments whose standings are looked up, and which the home page names."""
_ORDER = ("running", "paused", "open")


@dataclass(frozen=True, slots=True)
class OwnResult:
    """How bots do in a tournament; as a text in the active language, e.g. `ann: place 3 of 6` or `ann 3–1 bob`."""

    rows: Sequence[tournaments_pb2.Standing]
    bots: Collection[str]
    round: Round | None = None
    """The round of a knockout, which has no places before its end."""

    def __str__(self) -> str:
        if self.round is not None:
            return str(self.round)
        if not any(row.points for row in self.rows):
            return _("No result yet")
        if len(self.rows) == 2:
            return words.score_or_leaders(self.rows)
        for row in self.rows:
            if row.rank and words.bot(row.bot_version) in self.bots:
                return _(
                    "%(label)s: place %(rank)s of %(places)s", label=row.label, rank=row.rank, places=len(self.rows)
                )
        return _("No result yet")


@dataclass(frozen=True, slots=True)
class OwnBots:
    """The bots of a user in play."""

    games: Mapping[str, str]
    """The games that bots play now, by the names of the bots."""
    tournaments: Sequence[Document]
    """The entered tournaments that are not over: those that run, then those that are paused, then the next starts."""
    results: Mapping[str, OwnResult]
    """How the bots do in the first of these tournaments, by the name of the tournament."""

    def game_in(self, tournament: str) -> str:
        """Return the name of a game that a bot plays in this tournament now; empty if there is none."""
        return next((game for game in self.games.values() if game.partition("/games/")[0] == tournament), "")

    @property
    def shown(self) -> list[Document]:
        """The tournaments that the home page names: first those in which a bot plays a game now."""
        first = self.tournaments[:_MOST_RESULTS]
        return sorted(first, key=lambda tournament: not self.game_in(tournament["name"]))

    @property
    def other_games(self) -> dict[str, str]:
        """The games that are in none of these tournaments, as those of challenges, by the names of the bots."""
        names = {tournament["name"] for tournament in self.tournaments}
        return {bot: game for bot, game in self.games.items() if game.partition("/games/")[0] not in names}


async def own_bots(upstream: Upstream, bots: Sequence[Document], tournaments: Sequence[Document]) -> OwnBots:
    """Return what these bots do; `tournaments` are those that are known already. Raises Failure."""
    active = sorted((bot for bot in bots if not bot["retire_time"]), key=lambda bot: not bot["online"])
    names = [bot["name"] for bot in active]
    states = await asyncio.gather(
        *(upstream.ask(upstream.bots.GetBot, bots_pb2.GetBotRequest(name=name)) for name in names[:_MOST_BOTS])
    )
    known = {tournament["name"]: tournament for tournament in tournaments}
    entered = dict.fromkeys(name for state in states for name in state["entered"])
    unknown = [name for name in entered if name not in known][:_MOST_UNKNOWN]
    known |= dict(zip(unknown, await asyncio.gather(*(_tournament(upstream, name) for name in unknown)), strict=True))
    in_play = sorted(
        (known[name] for name in entered if known.get(name, {}).get("state") in _ORDER),
        key=lambda each: (_ORDER.index(each["state"]), start_order(each)),
    )
    standings = await tournaments_of(upstream, [each["name"] for each in in_play[:_MOST_RESULTS]])
    results = await asyncio.gather(*(_result(upstream, each, names) for each in standings.values()))
    return OwnBots(
        games={state["bot"]["name"]: state["running_game"] for state in states if state["running_game"]},
        tournaments=in_play,
        results=dict(zip(standings, results, strict=True)),
    )


async def _result(upstream: Upstream, tournament: tournaments_pb2.Tournament, bots: Collection[str]) -> OwnResult:
    if format_of(tournament.schedule).places_by_bracket:
        stage = await running_stage(upstream, tournament)
        return OwnResult(tournament.standings, bots, stage.round)
    return OwnResult(tournament.standings, bots)


async def _tournament(upstream: Upstream, name: str) -> Document:
    """Return a tournament; nothing if the server does not answer."""
    try:
        request = tournaments_pb2.GetTournamentRequest(name=name)
        tournament: Document = (await upstream.ask(upstream.tournaments.GetTournament, request))["tournament"]
    except Failure:
        return {}
    return tournament
