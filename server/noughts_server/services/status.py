"""StatusService: how the server is doing."""

from typing import TYPE_CHECKING, Any

import grpc

from noughts_proto.v1 import status_pb2 as pb
from noughts_proto.v1 import status_pb2_grpc
from noughts_server.store.tournaments import Tournament, running_tournaments
from noughts_server.version import software_version

if TYPE_CHECKING:
    from noughts_server.server import Server

Context = grpc.aio.ServicerContext[Any, Any]

_MOST_ROWS = 100


class StatusServicer(status_pb2_grpc.StatusServiceServicer):
    """Reads the counters of the server that it is a part of."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    async def GetStatus(self, request: pb.GetStatusRequest, context: Context) -> pb.GetStatusResponse:
        server, counters = self._server, self._server.counters
        running = await server.store.read(running_tournaments)
        online = sorted(server.sessions.present(), key=lambda bot: (-bot.games, bot.version))
        games_per_second, plies_per_second = counters.rates()
        response = pb.GetStatusResponse(
            version=software_version(),
            address=server.address,
            uptime_seconds=counters.uptime,
            draining=counters.draining,
            games=counters.games,
            plies=server.referee.plies,
            games_per_second=games_per_second,
            plies_per_second=plies_per_second,
            plies_history=counters.plies_history(),
            games_in_flight=server.referee.in_flight(),
            slots_queued=server.referee.queued(),
            bots_online=len(online),
            bots=[pb.OnlineBot(bot_version=bot.version, games_in_flight=bot.games) for bot in online[:_MOST_ROWS]],
            tournaments=[self._running(tournament) for tournament in running[:_MOST_ROWS]],
            watchers=server.feed.counts.watchers,
            commit_seconds=counters.commits.worst,
            loop_lag_seconds=counters.lag.worst,
            database_bytes=server.store.size_bytes(),
        )
        response.start_time.FromDatetime(counters.started)
        return response

    def _running(self, tournament: Tournament) -> pb.RunningTournament:
        return pb.RunningTournament(
            name=tournament.name,
            games_done=tournament.games_done,
            games_total=tournament.games_total,
            games_in_flight=self._server.referee.in_flight(tournament.id),
            games_per_second=self._server.counters.tournament_rate(tournament.id),
        )
