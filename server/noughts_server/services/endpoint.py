"""Where a server takes calls: its gRPC services on one port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
from grpc_health.v1 import health, health_pb2_grpc

from noughts_proto.security import Identity, SecurityProblem
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
from noughts_referee.referee import Referee
from noughts_server.errors import AddressUnusable, TlsUnusable
from noughts_server.feed.feed import Feed
from noughts_server.limits import Limits
from noughts_server.monitoring.counters import Counters
from noughts_server.runtime.director import Director
from noughts_server.runtime.hosting import Hosting
from noughts_server.runtime.sessions import Sessions, server_stopping
from noughts_server.runtime.token_expiry import TokenExpiry
from noughts_server.services.bots import BotServicer
from noughts_server.services.challenges import ChallengeServicer
from noughts_server.services.feed import FeedServicer, add_feed_service
from noughts_server.services.games import GameServicer
from noughts_server.services.interceptor import CallInterceptor
from noughts_server.services.leaderboards import LeaderboardServicer
from noughts_server.services.limiter import Limiter
from noughts_server.services.play import PlayServicer
from noughts_server.services.status import StatusServicer
from noughts_server.services.tokens import TokenServicer
from noughts_server.services.tournaments import TournamentServicer
from noughts_server.store.engine.database import Store

_FILES = (
    play_pb2, bots_pb2, tournaments_pb2, games_pb2, leaderboards_pb2, tokens_pb2, challenges_pb2, status_pb2, feed_pb2
)  # fmt: skip
SERVICES = tuple(service.full_name for file in _FILES for service in file.DESCRIPTOR.services_by_name.values())
"""Full names of the services of noughts.v1."""


def bound_server(
    listen: str,
    identity: Identity | None,
    client_authorities: Path | None,
    interceptor: CallInterceptor,
    limits: Limits,
) -> tuple[grpc.aio.Server, str]:
    """A gRPC server that holds its port and answers nothing yet, and HOST:PORT where that is.

    Every call will pass through the interceptor. Raises TlsUnusable, AddressUnusable.
    """
    options = (
        *SERVER_OPTIONS,
        ("grpc.max_concurrent_streams", limits.connection_calls),
        ("grpc.max_allowed_incoming_connections", limits.server_connections),
    )
    grpc_server = grpc.aio.server(options=options, interceptors=(interceptor,))
    try:
        if identity is None:
            port = grpc_server.add_insecure_port(listen)
        else:
            port = grpc_server.add_secure_port(listen, identity.server_credentials(client_authorities))
    except SecurityProblem as problem:
        raise TlsUnusable(problem.subject, got=problem.got, expected=problem.expected, hint=problem.advice) from problem
    except RuntimeError as error:
        raise AddressUnusable(listen) from error
    return grpc_server, f"{listen.rpartition(':')[0]}:{port}"


def add_services(
    grpc_server: grpc.aio.Server,
    *,
    address: str,
    store: Store,
    sessions: Sessions,
    director: Director,
    referee: Referee,
    counters: Counters,
    feed: Feed,
    hosting: Hosting,
    token_expiry: TokenExpiry,
    limiter: Limiter,
    health_servicer: health.aio.HealthServicer,
    with_reflection: bool,
    rate_own_games: bool,
    absence: float,
) -> None:
    """Gives a server that does not answer yet everything that can be called."""
    play_pb2_grpc.add_PlayServiceServicer_to_server(PlayServicer(store, sessions, limiter), grpc_server)
    bots_pb2_grpc.add_BotServiceServicer_to_server(BotServicer(store, sessions, hosting, limiter), grpc_server)
    tournaments_pb2_grpc.add_TournamentServiceServicer_to_server(
        TournamentServicer(store, sessions, director, limiter.limits, rate_own_games=rate_own_games, absence=absence),
        grpc_server,
    )
    games_pb2_grpc.add_GameServiceServicer_to_server(GameServicer(store), grpc_server)
    leaderboards_pb2_grpc.add_LeaderboardServiceServicer_to_server(LeaderboardServicer(store, sessions), grpc_server)
    tokens_pb2_grpc.add_TokenServiceServicer_to_server(TokenServicer(store, token_expiry, limiter.limits), grpc_server)
    challenges_pb2_grpc.add_ChallengeServiceServicer_to_server(
        ChallengeServicer(store, sessions, director, limiter.limits), grpc_server
    )
    status_pb2_grpc.add_StatusServiceServicer_to_server(
        StatusServicer(address, store, sessions, referee, counters, feed.counts, director.problems, hosting),
        grpc_server,
    )
    add_feed_service(FeedServicer(feed, limiter), grpc_server)
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, grpc_server)
    if with_reflection:
        from grpc_reflection.v1alpha import reflection

        reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), grpc_server)


@asynccontextmanager
async def answering(grpc_server: grpc.aio.Server, sessions: Sessions, feed: Feed) -> AsyncIterator[None]:
    """Answers calls inside the block. At its end bots and watchers are told that the server stops."""
    await grpc_server.start()
    try:
        yield
    finally:
        sessions.close_all(server_stopping)
        feed.close()
        await grpc_server.stop(grace=1.0)
