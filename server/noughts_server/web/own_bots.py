"""What the bots of a signed-in user play now, and which tournaments they have entered."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noughts_proto.v1 import bots_pb2, tournaments_pb2
from noughts_server.web.documents import Document
from noughts_server.web.upstream import Failure, Upstream

_MOST_BOTS = 10
"""Bots that are looked up; those that are online come first."""
_MOST_UNKNOWN = 4
"""Tournaments that are looked up."""
_ORDER = ("running", "paused", "open")
_NEVER = "9999"
"""Sorts after all times of starts."""


@dataclass(frozen=True, slots=True)
class OwnBots:
    """The bots of a user in play."""

    names: frozenset[str]
    """The names of all active bots."""
    games: Mapping[str, str]
    """The games that bots play now, by the names of the bots."""
    tournaments: Sequence[Document]
    """The entered tournaments that are not over: those that run, then those that are paused, then the next starts."""


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
    return OwnBots(
        names=frozenset(names),
        games={state["bot"]["name"]: state["running_game"] for state in states if state["running_game"]},
        tournaments=sorted(
            (known[name] for name in entered if known.get(name, {}).get("state") in _ORDER),
            key=lambda each: (_ORDER.index(each["state"]), each["start_at"] or _NEVER),
        ),
    )


async def _tournament(upstream: Upstream, name: str) -> Document:
    """Return a tournament; nothing if the server does not answer."""
    try:
        request = tournaments_pb2.GetTournamentRequest(name=name)
        tournament: Document = (await upstream.ask(upstream.tournaments.GetTournament, request))["tournament"]
    except Failure:
        return {}
    return tournament
