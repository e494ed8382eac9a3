"""Admission of calls: identify the caller and apply the caller's limits before the server reads the request."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial

from noughts_proto.callers import caller_network
from noughts_proto.transport import GUEST_KEY, SITE_KEY, VERSION_KEY
from noughts_server.core.errors import LimitReached, Unauthenticated
from noughts_server.runtime.sessions import Sessions
from noughts_server.services.access import (
    NO_TOKEN,
    VISITOR,
    Access,
    Context,
    Visitor,
    bearer_token,
    require_scope_of,
    when_done,
)
from noughts_server.services.connections import Peer, peer_of
from noughts_server.services.limiter import Limiter
from noughts_server.services.websites import Websites
from noughts_server.store.engine.database import Store
from noughts_server.store.people.scopes import SITE
from noughts_server.store.people.tokens import Caller, authenticate, touch_token

MESSAGE_BYTES = 1_000
"""Bytes that each message costs in addition to its length, because even an empty one takes time."""
PROXY_KEY = "x-real-ip"
"""Metadata in which a reverse proxy reports the address of its client."""
_STRANGERS = "concurrent calls without a token"
"""Subject of the limit in error messages."""
_LONGEST_ADDRESS = 64
"""Characters of the visitor's address that a website reports."""
_MOST_SITES = 64
"""Limit of the tokens of websites that are remembered."""
_SITE_SECONDS = 60.0
"""Seconds for which a website's token is remembered."""


class Admission:
    """Checks tokens, and applies the limits of addresses and tokens."""

    def __init__(self, store: Store, sessions: Sessions, limiter: Limiter, proxies: Collection[str] = ()) -> None:
        """`proxies` are the addresses of reverse proxies whose reports of client addresses the server trusts."""
        self.limiter = limiter
        self.websites = Websites()
        """The websites that call this server."""
        self._store = store
        self._sessions = sessions
        self._proxies = frozenset(proxies)
        self._calls: dict[str, Counter[Peer]] = {}
        """Running calls by address and connection."""
        self._ticket_calls: Counter[Peer] = Counter()
        """Running calls of bots with tickets by connection. No limit applies to them."""
        self._places: dict[Place, None] = {}
        """The places of unauthenticated clients, the oldest first."""
        self._sites: dict[str, tuple[float, str]] = {}
        """The time until which a website's token is remembered, and its owner, by token."""

    def busy(self) -> set[Peer]:
        """Return the connections that have a running call."""
        return set(self._ticket_calls).union(*self._calls.values())

    async def admit(self, access: Access, context: Context, method: str) -> Visitor:
        """Admit a call of this method. It counts towards the limits until the caller has received its status.

        Raises LimitReached, Unauthenticated, TokenRevoked, TokenExpired, ScopeMissing. If the scope depends on the
        request, the method calls `access.require_scope` later.
        """
        secret = bearer_token(context)
        peer = peer_of(context.peer())
        address = self._address(context)
        counts_of_call = ExitStack()
        when_done(context, counts_of_call.close)
        if access is Access.PLAY and secret and self._sessions.has_ticket(secret):
            # The server issued this ticket to a bot that it called itself.
            counts_of_call.enter_context(_counting(self._ticket_calls, peer))
            VISITOR.set(visitor := Visitor(address, None, ticket=True, method=method))
            return visitor
        limiter = self.limiter
        site_secret = _site_secret(context)
        site = self._known_site(site_secret)
        account = Visitor(address, None, site=site).account
        limiter.take("address_rate", account, f"calls a second from {account}")
        counts_of_call.enter_context(limiter.holding("address_calls", account, f"concurrent calls from {account}"))
        counts_of_call.enter_context(self._counting_connection(account, peer))
        caller = await self._identify(access, secret)
        if caller is not None:
            # By owner: an owner can have many tokens.
            limiter.take("token_rate", caller.owner, "calls a second with your tokens")
            counts_of_call.enter_context(
                limiter.holding("token_calls", caller.owner, "concurrent calls with your tokens")
            )
            require_scope_of(access, caller)
            if caller.stale and self._store.outage is None:
                await self._store.write(partial(touch_token, token_id=caller.token_id, now_ms=self._store.now_ms()))
        if site_secret and not site:
            site = await self._new_site(site_secret)
        if site:
            self.websites.note_call(site, address, _metadata_value(context, VERSION_KEY))
        guest = _metadata_value(context, GUEST_KEY)[:_LONGEST_ADDRESS] if site else ""
        VISITOR.set(visitor := Visitor(address, caller, site=site, guest=guest, method=method))
        return visitor

    @contextmanager
    def holding_place(self, visitor: Visitor) -> Iterator["Place"]:
        """Hold a place for the visitor's request inside the block.

        The number of places limits the unauthenticated requests that are in memory at once. Raises LimitReached.
        """
        place = Place(visitor.account, self.limiter.limits.strangers)
        if visitor.caller is not None or visitor.ticket:
            yield place
            return
        holding = self.limiter.holding
        account = visitor.account
        with holding("address_strangers", account, f"concurrent calls without a token from {account}"):
            if visitor.site:
                yield place
                return
            self._free_a_place(account)
            self.limiter.check("strangers", _STRANGERS, len(self._places))
            self._places[place] = None
            try:
                yield place
            finally:
                self._places.pop(place, None)

    def _free_a_place(self, newcomer: str) -> None:
        """If all places are taken, end the oldest waiting call of the account with the most waiting calls.

        Do nothing if the newcomer has at least as many waiting calls.
        """
        if len(self._places) < self.limiter.limits.strangers:
            return
        waiting = [place for place in self._places if place.is_waiting]
        if waiting:
            counts = Counter(place.account for place in waiting)
            [(greediest, most)] = counts.most_common(1)
            if most > counts[newcomer]:
                oldest = next(place for place in waiting if place.account == greediest)
                del self._places[oldest]
                oldest.give_up()

    def charge(self, size: int) -> None:
        """Charge the visitor for a message of `size` bytes. Raises LimitReached."""
        visitor = VISITOR.get(None)
        size += MESSAGE_BYTES
        if visitor is None:
            return  # The caller is a bot with a ticket: the task that reads its stream has no visitor.
        if visitor.caller is not None:
            self.limiter.take("token_bytes", visitor.caller.owner, "bytes a second with your tokens", size)
        elif not visitor.ticket:
            subject = f"bytes a second without a token from {visitor.account}"
            self.limiter.take("address_bytes", visitor.account, subject, size)

    def charge_change(self, visitor: Visitor) -> None:
        """Charge the visitor for a call that can write to the database, which has one writer. Raises LimitReached.

        Admins are exempt.
        """
        caller = visitor.caller
        if caller is not None and caller.only_owner is not None:
            self.limiter.take("changes", caller.owner, "calls a second of yours that can change something")
            self.limiter.take("daily_changes", caller.owner, "calls of yours in a day that can change something")

    async def _identify(self, access: Access, secret: str | None) -> Caller | None:
        try:
            if secret is None:
                raise Unauthenticated(NO_TOKEN)
            now = self._store.now_ms()
            return await self._store.identify(partial(authenticate, secret=secret, now_ms=now))
        except Unauthenticated:
            if access in (Access.ANYONE, Access.NEWCOMER):
                return None
            raise

    def _known_site(self, secret: str) -> str:
        """Return the owner of the website with this token; empty if the token is not remembered."""
        until, owner = self._sites.get(secret, (0.0, ""))
        return owner if time.monotonic() < until else ""

    async def _new_site(self, secret: str) -> str:
        """Look up the token of a website, remember it and return its owner; empty if it is wrong or lacks `site`.

        Only tokens with the scope `site` count, because a website can name any visitor, and each visitor has limits and
        turns of its own.
        """
        try:
            caller = await self._store.identify(partial(authenticate, secret=secret, now_ms=self._store.now_ms()))
        except Unauthenticated:
            return ""
        if not caller.permits(SITE):
            return ""
        if len(self._sites) >= _MOST_SITES:
            del self._sites[next(iter(self._sites))]
        self._sites[secret] = time.monotonic() + _SITE_SECONDS, caller.owner
        return caller.owner

    def _address(self, context: Context) -> str:
        host = peer_of(context.peer()).host
        if host in self._proxies:
            addresses = (value for key, value in context.invocation_metadata() or () if key == PROXY_KEY)
            host = str(next(addresses, host))
        return caller_network(host)

    @contextmanager
    def _counting_connection(self, address: str, peer: Peer) -> Iterator[None]:
        """Count a call of this connection inside the block.

        A connection counts for its address while it has calls. Raises LimitReached.
        """
        calls = self._calls.get(address, Counter())
        if peer not in calls:
            self.limiter.check("address_connections", f"connections from {address}", len(calls))
        self._calls[address] = calls
        with _counting(calls, peer):
            yield
        if not calls:
            del self._calls[address]


class Place:
    """The place in memory of a request of an unauthenticated client, until it is answered."""

    def __init__(self, account: str, limit: int) -> None:
        """`limit` is the number of places."""
        self.account = account
        self._limit = limit
        self._wait: asyncio.Timeout | None = None

    @property
    def is_waiting(self) -> bool:
        """Return whether the call waits for its request or for its turn."""
        return self._wait is not None

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Mark the call as waiting inside the block. Raises LimitReached if `give_up` ends the wait."""
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._wait = wait
                yield
        except TimeoutError:
            raise LimitReached(
                "strangers", _STRANGERS, got=self._limit + 1, limit=self._limit, retry_seconds=1.0
            ) from None
        finally:
            self._wait = None

    def give_up(self) -> None:
        """End the wait, because another client needs the place."""
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())


def _site_secret(context: Context) -> str:
    return _metadata_value(context, SITE_KEY)


def _metadata_value(context: Context, name: str) -> str:
    return next((str(value) for key, value in context.invocation_metadata() or () if key == name), "")


@contextmanager
def _counting(calls: Counter[Peer], peer: Peer) -> Iterator[None]:
    calls[peer] += 1
    try:
        yield
    finally:
        calls[peer] -= 1
        if not calls[peer]:
            del calls[peer]
