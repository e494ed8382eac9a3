"""A game as pages show it, from the server's record or from the feed, and the tournaments of games."""

import asyncio
from collections.abc import Iterable

from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_server.drawing.board_svg import with_board
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.upstream import Failure, Upstream


async def known_game(upstream: Upstream, hub: Hub, name: str, token: str = "") -> Document:
    """Return `game` and `notes`, from the record, or from the feed if the game is not over. Raises Failure."""
    record: Document | None = None
    try:
        record = await upstream.ask(upstream.games.GetGame, games_pb2.GetGameRequest(name=name), token)
    except Failure as failure:
        if failure.status != 404:
            raise
    # The record of a long live game has only the moves up to some time ago; the feed has all moves.
    if record is None or record["game"]["end_time"] is None:
        (game,) = (await hub.snapshot_of(name))["games"]
        return {"game": game, "notes": []}
    game = with_board({**record["game"], "state": "ended"})
    return {"game": game, "notes": record["notes"]}


async def tournaments_of(upstream: Upstream, names: Iterable[str]) -> dict[str, tournaments_pb2.Tournament]:
    """Return the tournaments with their standings by name. Raises Failure."""
    requests = (tournaments_pb2.GetTournamentRequest(name=name) for name in names)
    responses = await asyncio.gather(
        *(upstream.call(upstream.tournaments.GetTournament, request) for request in requests)
    )
    return {response.tournament.name: response.tournament for response in responses}
