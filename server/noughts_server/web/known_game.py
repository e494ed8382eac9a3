"""A game as pages show it, from the record or the feed, with its players."""

import asyncio
from collections.abc import Iterable

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_server.drawing.board_svg import with_board
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.upstream import Failure, Upstream


async def known_game(upstream: Upstream, hub: Hub, name: str, token: str = "") -> Document:
    """Return `game` and `notes`, from the record, or from the feed if the game is not over. Raises Failure."""
    got: Document | None = None
    try:
        got = await upstream.ask(upstream.games.GetGame, games_pb2.GetGameRequest(name=name), token)
    except Failure as failure:
        if failure.status != 404:
            raise
    # The record can have the first moves of a long live game, but the feed is ahead of it.
    if got is None or got["game"]["end_time"] is None:
        (game,) = (await hub.known(name))["games"]
        return {"game": game, "notes": []}
    game = with_board({**got["game"], "state": "ended"})
    return {"game": game, "notes": got["notes"]}


async def tournaments_of(upstream: Upstream, names: Iterable[str]) -> dict[str, tournaments_pb2.Tournament]:
    """Return the tournaments with their standings by name. Raises Failure."""
    asked = (tournaments_pb2.GetTournamentRequest(name=name) for name in names)
    found = await asyncio.gather(*(upstream.call(upstream.tournaments.GetTournament, each) for each in asked))
    return {each.tournament.name: each.tournament for each in found}
