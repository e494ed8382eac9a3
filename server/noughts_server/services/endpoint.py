"""Where a server takes calls: its gRPC services on one port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc.aio
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from noughts_proto.security import SecurityProblem
from noughts_proto.transport import SERVER_OPTIONS
from noughts_proto.v1 import (
    bots_pb2,
    bots_pb2_grpc,
    challenges_pb2,
    challenges_pb2_grpc,
    feed_pb2,
    games_pb2,
    games_pb2_grpc,
    leaderboards_pb2,
    leaderboards_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
    status_pb2,
    status_pb2_grpc,
    tokens_pb2,
    tokens_pb2_grpc,
    tournaments_pb2,
    tournaments_pb2_grpc,
)
from noughts_server.errors import AddressUnusable, TlsUnusable
from noughts_server.runtime.sessions import server_stopping
from noughts_server.services.bots import BotServicer
from noughts_server.services.challenges import ChallengeServicer
from noughts_server.services.feed import FeedServicer, add_feed_service
from noughts_server.services.games import GameServicer
from noughts_server.services.interceptor import ErrorInterceptor
from noughts_server.services.leaderboards import LeaderboardServicer
from noughts_server.services.play import PlayServicer
from noughts_server.services.status import StatusServicer
from noughts_server.services.tokens import TokenServicer
from noughts_server.services.tournaments import TournamentServicer

if TYPE_CHECKING:
    from noughts_server.server import Server, ServerSettings

_FILES = (
    play_pb2, bots_pb2, tournaments_pb2, games_pb2, leaderboards_pb2, tokens_pb2, challenges_pb2, status_pb2, feed_pb2
)  # fmt: skip
SERVICES = tuple(service.full_name for file in _FILES for service in file.DESCRIPTOR.services_by_name.values())
"""Full names of the services of noughts.v1."""


@asynccontextmanager
async def listening(server: "Server") -> AsyncIterator[None]:
    """Takes calls inside the block; `server.address` says where. Raises TlsUnusable, AddressUnusable."""
    grpc_server = grpc.aio.server(options=SERVER_OPTIONS, interceptors=(ErrorInterceptor(server.counters.errors),))
    store, sessions, director = server.store, server.sessions, server.director
    play = PlayServicer(store, sessions)
    play_pb2_grpc.add_PlayServiceServicer_to_server(play, grpc_server)
    bots_pb2_grpc.add_BotServiceServicer_to_server(BotServicer(store, sessions), grpc_server)
    tournaments_pb2_grpc.add_TournamentServiceServicer_to_server(
        TournamentServicer(store, sessions, director), grpc_server
    )
    games_pb2_grpc.add_GameServiceServicer_to_server(GameServicer(store), grpc_server)
    leaderboards_pb2_grpc.add_LeaderboardServiceServicer_to_server(LeaderboardServicer(store, sessions), grpc_server)
    tokens_pb2_grpc.add_TokenServiceServicer_to_server(TokenServicer(store, server.token_watch), grpc_server)
    challenges_pb2_grpc.add_ChallengeServiceServicer_to_server(
        ChallengeServicer(store, sessions, director), grpc_server
    )
    status_pb2_grpc.add_StatusServiceServicer_to_server(StatusServicer(server), grpc_server)
    add_feed_service(FeedServicer(server.feed), grpc_server)
    health_pb2_grpc.add_HealthServicer_to_server(server.health, grpc_server)
    if server.settings.reflection:
        reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), grpc_server)
    host = server.settings.listen.rpartition(":")[0]
    server.address = f"{host}:{_bind(grpc_server, server.settings)}"
    await grpc_server.start()
    try:
        yield
    finally:
        sessions.close_all(server_stopping())
        server.feed.close()
        await grpc_server.stop(grace=1.0)


def _bind(grpc_server: grpc.aio.Server, settings: "ServerSettings") -> int:
    """Opens the server's port and returns its number. Raises TlsUnusable, AddressUnusable."""
    try:
        if settings.identity is None:
            return grpc_server.add_insecure_port(settings.listen)
        credentials = settings.identity.server_credentials(settings.client_authorities)
        return grpc_server.add_secure_port(settings.listen, credentials)
    except SecurityProblem as problem:
        raise TlsUnusable(problem.subject, got=problem.got, expected=problem.expected, hint=problem.advice) from problem
    except RuntimeError as error:
        raise AddressUnusable(settings.listen) from error
