"""Who is calling."""

from typing import Any

import grpc

from noughts_proto.transport import TOKEN_KEY
from noughts_server.errors import Unauthenticated
from noughts_server.store.database import Store
from noughts_server.store.tokens import Caller, authenticate

_SCHEME = "Bearer "

Context = grpc.aio.ServicerContext[Any, Any]


def bearer_token(context: Context) -> str:
    """The secret of `authorization: Bearer SECRET`. Raises Unauthenticated."""
    for key, value in context.invocation_metadata() or ():
        if key == TOKEN_KEY and isinstance(value, str) and value.startswith(_SCHEME):
            return value[len(_SCHEME) :].strip()
    raise Unauthenticated("metadata `authorization`: got none, expected `Bearer TOKEN`")


async def caller(context: Context, store: Store) -> Caller:
    """The owner whose token came with the call. Raises Unauthenticated."""
    secret = bearer_token(context)
    return await store.read(lambda connection: authenticate(connection, secret))
