"""A game as pages show it, wherever it is found."""

from noughts_proto.v1 import games_pb2
from noughts_server.web.boards import geometry
from noughts_server.web.documents import Document, document
from noughts_server.web.event_streams import Hub
from noughts_server.web.upstream import Failure, Upstream


async def known_game(upstream: Upstream, hub: Hub, name: str, token: str = "") -> Document:
    """`game` and `notes`: from the record, or from the feed if it is not over. Raises Failure."""
    got: Document | None = None
    try:
        stored = await upstream.call(upstream.games.GetGame, games_pb2.GetGameRequest(name=name), token)
        got = document(stored)
    except Failure as failure:
        if failure.status != 404:
            raise
    # Of a long game that is being played the record knows the moves so far; the feed knows more.
    if got is None or got["game"]["end_time"] is None:
        (game,) = (await hub.known(name))["games"]
        return {"game": game, "notes": []}
    game = {**got["game"], "state": "ended", "board": geometry(got["game"]["variant"]), "scores": {}}
    return {"game": game, "notes": got["notes"]}
