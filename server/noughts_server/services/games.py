"""GameService: the record of games."""

from functools import partial
from typing import Any

import grpc

from noughts_proto.v1 import games_pb2 as pb
from noughts_proto.v1 import games_pb2_grpc
from noughts_server.services.messages import timestamp
from noughts_server.services.names import game_id, tournament_id
from noughts_server.store.database import Store
from noughts_server.store.games import Game, get_game, list_games

Context = grpc.aio.ServicerContext[Any, Any]


class GameServicer(games_pb2_grpc.GameServiceServicer):
    """Reads games."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def GetGame(self, request: pb.GetGameRequest, context: Context) -> pb.GetGameResponse:
        slug, number = game_id("name", request.name)
        game = await self._store.read(lambda connection: get_game(connection, slug, number))
        return pb.GetGameResponse(game=_message(game))

    async def ListGames(self, request: pb.ListGamesRequest, context: Context) -> pb.ListGamesResponse:
        slug = tournament_id("parent", request.parent)
        page = await self._store.read(
            partial(list_games, slug=slug, size=request.page_size, page_token=request.page_token)
        )
        return pb.ListGamesResponse(games=map(_message, page.items), next_page_token=page.next_page_token)


def _message(game: Game) -> pb.Game:
    return pb.Game(
        name=game.name,
        variant=game.variant,
        first=game.first,
        second=game.second,
        seed=game.seed,
        moves=game.moves,
        times_us=game.times_us,
        result=game.result,  # type: ignore[arg-type]  # equal values
        termination=game.termination,  # type: ignore[arg-type]  # equal values
        end_time=timestamp(game.ended_at),
        rating_seq=game.rating_seq,
    )
