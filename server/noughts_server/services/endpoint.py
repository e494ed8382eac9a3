"""The gRPC server: all services on one port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio

from noughts_proto.security import Identity, SecurityProblem
from noughts_proto.transport import SERVER_OPTIONS
from noughts_proto.v1 import (
    bots_pb2,
    challenges_pb2,
    feed_pb2,
    games_pb2,
    leaderboards_pb2,
    play_pb2,
    registration_pb2,
    status_pb2,
    tests_pb2,
    tokens_pb2,
    tournaments_pb2,
    tunings_pb2,
    webhooks_pb2,
)
from noughts_server.core.errors import AddressUnusable, TlsUnusable
from noughts_server.core.limits import Limits
from noughts_server.feed.feed import Feed
from noughts_server.runtime.sessions import Sessions, server_stopping
from noughts_server.services.interceptor import CallInterceptor

_FILES = (
    play_pb2, bots_pb2, tournaments_pb2, games_pb2, leaderboards_pb2, tokens_pb2, challenges_pb2, status_pb2, feed_pb2,
    webhooks_pb2, tests_pb2, registration_pb2, tunings_pb2,
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
    """Return a gRPC server that is not started, and its bound HOST:PORT. Raises TlsUnusable, AddressUnusable."""
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


@asynccontextmanager
async def serving_calls(grpc_server: grpc.aio.Server, sessions: Sessions, feed: Feed) -> AsyncIterator[None]:
    """Serve calls inside the block. At its end, tell bots and watchers that the server stops."""
    await grpc_server.start()
    try:
        yield
    finally:
        sessions.close_all(server_stopping)
        feed.close()
        await grpc_server.stop(grace=1.0)
