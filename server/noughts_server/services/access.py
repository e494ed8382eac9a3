"""Who is calling."""

from collections.abc import Sequence
from typing import Any

import grpc

from noughts_proto.transport import TOKEN_KEY
from noughts_server.errors import Unauthenticated

_SCHEME = "Bearer "


def bearer_token(context: "grpc.aio.ServicerContext[Any, Any]") -> str:
    """The secret of `authorization: Bearer SECRET`. Raises Unauthenticated."""
    metadata: Sequence[tuple[str, str | bytes]] = context.invocation_metadata() or ()
    for key, value in metadata:
        if key == TOKEN_KEY and isinstance(value, str) and value.startswith(_SCHEME):
            return value[len(_SCHEME) :].strip()
    raise Unauthenticated("metadata `authorization`: got none, expected `Bearer TOKEN`")
