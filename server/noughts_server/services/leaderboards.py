"""LeaderboardService: ratings."""

from functools import partial
from typing import Any

import grpc

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_proto.v1 import leaderboards_pb2_grpc
from noughts_server.store.database import Store
from noughts_server.store.rating_lists import leaderboard, list_name

Context = grpc.aio.ServicerContext[Any, Any]


class LeaderboardServicer(leaderboards_pb2_grpc.LeaderboardServiceServicer):
    """Reads leaderboards."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:
        name = list_name(request.variant, request.time_class)
        page = await self._store.read(
            partial(
                leaderboard,
                variant=request.variant,
                time_class=request.time_class,
                size=request.page_size,
                page_token=request.page_token,
            )
        )
        rows = [
            pb.LeaderboardRow(
                rank=row.rank,
                bot=f"bots/{row.bot}",
                rating=row.rating,
                games=row.games,
                wins=row.wins,
                draws=row.draws,
                losses=row.losses,
                provisional=row.provisional,
            )
            for row in page.items
        ]
        return pb.GetLeaderboardResponse(rows=rows, next_page_token=page.next_page_token, rating_list=name)
