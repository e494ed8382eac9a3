"""A game as pages show it, from the record or the feed."""

from noughts_proto.v1 import games_pb2
from noughts_server.web.boards import geometry
from noughts_server.web.documents import Document, document
from noughts_server.web.event_streams import Hub
from noughts_server.web.upstream import Failure, Upstream


async def known_game(upstream: Upstream, hub: Hub, name: str, token: str = "") -> Document:
    """Return `game` and `notes`, from the record, or from the feed if the game is not over. Raises Failure."""
    got: Document | None = None
    try:
        stored = await upstream.call(upstream.games.GetGame, games_pb2.GetGameRequest(name=name), token)
        got = document(stored)
    except Failure as failure:
        if failure.status != 404:
            raise
    # The record can have the first moves of a long live game, but the feed is ahead of it.
    if got is None or got["game"]["end_time"] is None:
        (game,) = (await hub.known(name))["games"]
        return {"game": game, "notes": []}
    game = {**got["game"], "state": "ended", "board": geometry(got["game"]["variant"]), "scores": {}}
    return {"game": game, "notes": got["notes"]}
