"""What the bots of a signed-in user play now, and which tournaments they have entered."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_server.competition.formats import format_of
from noughts_server.core.messages import _
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.joining import start_order
from noughts_server.web.known_game import tournaments_of
from noughts_server.web.running_stages import Round, RunningStage, running_stage
from noughts_server.web.upstream import Failure, Upstream

_MOST_BOTS = 10
"""Bots that are looked up; those that are online come first."""
_MOST_UNKNOWN = 4
"""Tournaments that are looked up."""
_MOST_NAMED = 3
"""Bots that the home page names."""
_ORDER = ("running", "paused", "open")


@dataclass(frozen=True, slots=True)
class OwnResult:
    """How a bot does in a tournament; as a text in the active language, e.g. `place 3 of 6` or `ann 3–1 bob`."""

    rows: Sequence[tournaments_pb2.Standing]
    bot: str
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
            if row.rank and words.bot(row.bot_version) == self.bot:
                return _("place %(rank)s of %(places)s", rank=row.rank, places=len(self.rows))
        return _("No result yet")


@dataclass(frozen=True, slots=True)
class OwnBot:
    """A bot of a user that plays a game now, or has entered a tournament that is not over."""

    name: str
    game: str
    """The game that it plays now; empty if there is none."""
    tournament: Document | None
    """The tournament of this game, else the first that it has entered; None for the game of a challenge."""
    result: OwnResult | None = None
    """How it does in this tournament."""


@dataclass(frozen=True, slots=True)
class OwnBots:
    """The bots of a user in play."""

    named: Sequence[OwnBot]
    others: int
    """How many bots the home page does not name."""


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
    found = bots_in_play(states, in_play)
    named = await asyncio.gather(*(_with_result(upstream, bot) for bot in found[:_MOST_NAMED]))
    return OwnBots(named, others=len(found) - len(named))


def bots_in_play(states: Sequence[Document], tournaments: Sequence[Document]) -> list[OwnBot]:
    """Return the bots that play a game now, and then those in these tournaments, in the order of the tournaments.

    `states` are responses to `GetBot`.
    """
    found = []
    for state in states:
        game = state["running_game"]
        names = [game.partition("/games/")[0]] if game else state["entered"]
        own = [each for each in tournaments if each["name"] in names]
        if game or own:
            found.append(OwnBot(state["bot"]["name"], game, own[0] if own else None))

    def order(bot: OwnBot) -> tuple[bool, int]:
        return not bot.game, tournaments.index(bot.tournament) if bot.tournament else -1

    return sorted(found, key=order)


async def _with_result(upstream: Upstream, bot: OwnBot) -> OwnBot:
    """Return the bot with its result."""
    if bot.tournament is None:
        return bot
    (tournament,) = (await tournaments_of(upstream, [bot.tournament["name"]])).values()
    is_bracket = format_of(tournament.schedule).places_by_bracket
    stage = await running_stage(upstream, tournament) if is_bracket else RunningStage()
    return replace(bot, result=OwnResult(tournament.standings, bot.name, stage.round))


async def _tournament(upstream: Upstream, name: str) -> Document:
    """Return a tournament; nothing if the server does not answer."""
    try:
        request = tournaments_pb2.GetTournamentRequest(name=name)
        tournament: Document = (await upstream.ask(upstream.tournaments.GetTournament, request))["tournament"]
    except Failure:
        return {}
    return tournament
