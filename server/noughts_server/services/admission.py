"""Admission of calls: identifies the caller and applies its limits before anything of the request is read."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial

from noughts_proto.callers import caller_network
from noughts_server.errors import Unauthenticated
from noughts_server.runtime.sessions import Sessions
from noughts_server.services.access import NO_TOKEN, VISITOR, Access, Context, Visitor, bearer_token, require_declared
from noughts_server.services.limiter import Limiter, host_of_peer
from noughts_server.store.engine.database import Store
from noughts_server.store.people.tokens import Caller, authenticate, touch_token

MESSAGE_BYTES = 1_000
"""Added to the length of each message, because even an empty one costs time."""
PROXY_KEY = "x-real-ip"
"""Metadata in which a reverse proxy reports the address of its client."""


class Admission:
    """Checks tokens, and applies the limits of addresses and tokens."""

    def __init__(self, store: Store, sessions: Sessions, limiter: Limiter, proxies: Collection[str] = ()) -> None:
        """`proxies` are the addresses of trusted reverse proxies: the client address that they report is believed."""
        self.limiter = limiter
        self._store = store
        self._sessions = sessions
        self._proxies = frozenset(proxies)
        self._calls: dict[str, Counter[str]] = {}
        """Running calls by address and connection."""

    @asynccontextmanager
    async def visit(self, access: Access, context: Context) -> AsyncIterator[Visitor]:
        """Admit a call for the length of the block.

        Raises LimitReached, Unauthenticated, TokenRevoked, TokenExpired, ScopeMissing. If the scope depends on the
        request, the method calls `access.require` later.
        """
        secret = bearer_token(context)
        peer, address = context.peer(), self._address(context)
        if access is Access.PLAY and secret and self._sessions.has_ticket(secret):
            # The server issued this ticket to a bot that it called itself.
            VISITOR.set(visitor := Visitor(address, None, ticket=True))
            yield visitor
            return
        limiter = self.limiter
        limiter.take("address_rate", address, f"calls a second from {address}")
        with ExitStack() as held:
            held.enter_context(limiter.holding("address_calls", address, f"concurrent calls from {address}"))
            held.enter_context(self._connected(address, peer))
            who = await self._caller(access, secret)
            if who is not None:
                token = who.token_id
                limiter.take("token_rate", token, "calls a second with your token")
                held.enter_context(limiter.holding("token_calls", token, "concurrent calls with your token"))
                require_declared(who, access)
                if who.stale and self._store.trouble is None:
                    await self._store.write(partial(touch_token, token_id=token, now_ms=self._store.now_ms()))
            VISITOR.set(visitor := Visitor(address, who))
            yield visitor

    @contextmanager
    def reading(self, visitor: Visitor) -> Iterator[None]:
        """Limit the unauthenticated requests that are in memory at once inside the block. Raises LimitReached."""
        if visitor.caller is not None or visitor.ticket:
            yield
            return
        holding = self.limiter.holding
        with (
            holding("address_strangers", visitor.address, f"concurrent calls without a token from {visitor.address}"),
            holding("strangers", "", "concurrent calls without a token"),
        ):
            yield

    def charge(self, size: int) -> None:
        """Charge the visitor for a message of `size` bytes. Raises LimitReached."""
        visitor, size = VISITOR.get(None), size + MESSAGE_BYTES
        if visitor is None:
            return  # the stream is read by the task of a bot with a ticket
        if visitor.caller is not None:
            self.limiter.take("token_bytes", visitor.caller.token_id, "bytes a second with your token", size)
        elif not visitor.ticket:
            subject = f"bytes a second without a token from {visitor.address}"
            self.limiter.take("address_bytes", visitor.address, subject, size)

    async def _caller(self, access: Access, secret: str | None) -> Caller | None:
        try:
            if secret is None:
                raise Unauthenticated(NO_TOKEN)
            now = self._store.now_ms()
            return await self._store.read(partial(authenticate, secret=secret, now_ms=now))
        except Unauthenticated:
            if access is Access.ANYONE:
                return None
            raise

    def _address(self, context: Context) -> str:
        host = host_of_peer(context.peer())
        if host in self._proxies:
            told = (value for key, value in context.invocation_metadata() or () if key == PROXY_KEY)
            host = str(next(told, host))
        return caller_network(host)

    @contextmanager
    def _connected(self, address: str, peer: str) -> Iterator[None]:
        """Count a call inside the block, and the connection if this is its first call. Raises LimitReached."""
        calls = self._calls.get(address, Counter())
        if peer not in calls:
            self.limiter.check("address_connections", f"connections from {address}", len(calls))
        self._calls[address] = calls
        calls[peer] += 1
        try:
            yield
        finally:
            calls[peer] -= 1
            if not calls[peer]:
                del calls[peer]
            if not calls:
                del self._calls[address]
