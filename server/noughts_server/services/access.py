"""Who is calling, and whether their token permits it: the one place where scopes are checked."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import grpc

from noughts_proto.transport import TOKEN_KEY
from noughts_server.errors import ScopeMissing, Unauthenticated
from noughts_server.store.database import Store
from noughts_server.store.tokens import Caller, authenticate, touch_token

_SCHEME = "Bearer "

Context = grpc.aio.ServicerContext[Any, Any]


def bearer_token(context: Context) -> str:
    """The secret of `authorization: Bearer SECRET`. Raises Unauthenticated."""
    for key, value in context.invocation_metadata() or ():
        if key == TOKEN_KEY and isinstance(value, str) and value.startswith(_SCHEME):
            return value[len(_SCHEME) :].strip()
    raise Unauthenticated("metadata `authorization`: got none, expected `Bearer TOKEN`")


async def caller(context: Context, store: Store, *, scope: str | None = None) -> Caller:
    """The owner whose token came with the call; the token must permit `scope`.

    Raises Unauthenticated, TokenRevoked, TokenExpired, ScopeMissing. Where the scope depends on what the request is
    about, it is None here and `require` follows.
    """
    who = await authenticated(bearer_token(context), store)
    if scope is not None:
        require(who, scope)
    if who.stale and store.trouble is None:
        await store.write(partial(touch_token, token_id=who.token_id, now_ms=store.now_ms()))
    return who


async def authenticated(secret: str, store: Store) -> Caller:
    """Who holds this secret. Raises Unauthenticated, TokenRevoked, TokenExpired."""
    now = store.now_ms()
    return await store.read(lambda connection: authenticate(connection, secret, now_ms=now))


def require(who: Caller, *scopes: str) -> None:
    """Raises ScopeMissing unless the caller's token permits one of the scopes."""
    if not any(map(who.permits, scopes)):
        raise ScopeMissing(
            got=_quoted(who.scopes, "and"),
            expected=_quoted(scopes, "or"),
            hint=f"Make a token that has it: noughts token create --owner {who.owner} --scope {scopes[0]}",
        )


def _quoted(scopes: Iterable[str], word: str) -> str:
    return f" {word} ".join(f"`{scope}`" for scope in scopes)
