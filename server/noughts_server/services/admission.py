"""Admission of calls: identifies the caller and applies its limits before anything of the request is read."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial

from noughts_proto.callers import caller_network
from noughts_proto.transport import GUEST_KEY, SITE_KEY
from noughts_server.core.errors import LimitReached, Unauthenticated
from noughts_server.runtime.sessions import Sessions
from noughts_server.services.access import (
    NO_TOKEN,
    VISITOR,
    Access,
    Context,
    Visitor,
    bearer_token,
    require_declared,
    when_done,
)
from noughts_server.services.connections import Peer, peer_of
from noughts_server.services.limiter import Limiter
from noughts_server.store.engine.database import Store
from noughts_server.store.people.scopes import SITE
from noughts_server.store.people.tokens import Caller, authenticate, touch_token

MESSAGE_BYTES = 1_000
"""Added to the length of each message, because even an empty one costs time."""
PROXY_KEY = "x-real-ip"
"""Metadata in which a reverse proxy reports the address of its client."""
_STRANGERS = "concurrent calls without a token"
_LONGEST_ADDRESS = 64
_SITES, _SITE_SECONDS = 64, 60.0
"""The number of websites' tokens that are remembered, and the seconds for which they are."""


class Admission:
    """Checks tokens, and applies the limits of addresses and tokens."""

    def __init__(self, store: Store, sessions: Sessions, limiter: Limiter, proxies: Collection[str] = ()) -> None:
        """`proxies` are the addresses of trusted reverse proxies: the client address that they report is believed."""
        self.limiter = limiter
        self._store = store
        self._sessions = sessions
        self._proxies = frozenset(proxies)
        self._calls: dict[str, Counter[Peer]] = {}
        """Running calls by address and connection."""
        self._of_tickets: Counter[Peer] = Counter()
        """The same of bots with tickets, which have no limits."""
        self._places: dict[Place, None] = {}
        """Those of all unauthenticated clients, the oldest first."""
        self._sites: dict[str, tuple[float, str]] = {}
        """Owners of websites by token, and until when they are remembered."""

    def busy(self) -> set[Peer]:
        """Return the connections with a running call."""
        return set(self._of_tickets).union(*self._calls.values())

    async def visit(self, access: Access, context: Context, method: str) -> Visitor:
        """Admit a call of this method, which counts until its caller has its status.

        Raises LimitReached, Unauthenticated, TokenRevoked, TokenExpired, ScopeMissing. If the scope depends on the
        request, the method calls `access.require` later.
        """
        secret = bearer_token(context)
        peer = peer_of(context.peer())
        address = self._address(context)
        held = ExitStack()
        when_done(context, held.close)
        if access is Access.PLAY and secret and self._sessions.has_ticket(secret):
            # The server issued this ticket to a bot that it called itself.
            held.enter_context(_counted(self._of_tickets, peer))
            VISITOR.set(visitor := Visitor(address, None, ticket=True, method=method))
            return visitor
        limiter = self.limiter
        site_secret = _site_secret(context)
        site = self._known_site(site_secret)
        caller = Visitor(address, None, site=site).account
        limiter.take("address_rate", caller, f"calls a second from {caller}")
        held.enter_context(limiter.holding("address_calls", caller, f"concurrent calls from {caller}"))
        held.enter_context(self._connected(caller, peer))
        who = await self._caller(access, secret)
        if who is not None:
            # By owner: an owner can have many tokens.
            limiter.take("token_rate", who.owner, "calls a second with your tokens")
            held.enter_context(limiter.holding("token_calls", who.owner, "concurrent calls with your tokens"))
            require_declared(who, access)
            if who.stale and self._store.trouble is None:
                await self._store.write(partial(touch_token, token_id=who.token_id, now_ms=self._store.now_ms()))
        if site_secret and not site:
            site = await self._new_site(site_secret)
        guest = _told(context, GUEST_KEY)[:_LONGEST_ADDRESS] if site else ""
        VISITOR.set(visitor := Visitor(address, who, site=site, guest=guest, method=method))
        return visitor

    @contextmanager
    def reading(self, visitor: Visitor) -> Iterator["Place"]:
        """Limit the unauthenticated requests that are in memory at once inside the block. Raises LimitReached."""
        place = Place(visitor.account, self.limiter.limits.strangers)
        if visitor.caller is not None or visitor.ticket:
            yield place
            return
        holding = self.limiter.holding
        caller = visitor.account
        with holding("address_strangers", caller, f"concurrent calls without a token from {caller}"):
            if visitor.site:
                yield place
                return
            self._make_room(caller)
            self.limiter.check("strangers", _STRANGERS, len(self._places))
            self._places[place] = None
            try:
                yield place
            finally:
                self._places.pop(place, None)

    def _make_room(self, newcomer: str) -> None:
        """If all places are taken, end the oldest wait of the address with the most, if it has more than this one."""
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
        size = size + MESSAGE_BYTES
        if visitor is None:
            return  # the stream is read by the task of a bot with a ticket
        if visitor.caller is not None:
            self.limiter.take("token_bytes", visitor.caller.owner, "bytes a second with your tokens", size)
        elif not visitor.ticket:
            subject = f"bytes a second without a token from {visitor.account}"
            self.limiter.take("address_bytes", visitor.account, subject, size)

    def charge_change(self, visitor: Visitor) -> None:
        """Charge the visitor for a call that can write to the database, which has one writer. Raises LimitReached.

        Admins are exempt.
        """
        who = visitor.caller
        if who is not None and who.only_owner is not None:
            self.limiter.take("changes", who.owner, "calls a second of yours that can change something")
            self.limiter.take("daily_changes", who.owner, "calls of yours in a day that can change something")

    async def _caller(self, access: Access, secret: str | None) -> Caller | None:
        try:
            if secret is None:
                raise Unauthenticated(NO_TOKEN)
            now = self._store.now_ms()
            return await self._store.identify(partial(authenticate, secret=secret, now_ms=now))
        except Unauthenticated:
            if access is Access.ANYONE:
                return None
            raise

    def _known_site(self, secret: str) -> str:
        """Return the owner of the website with this token; empty if it is not known."""
        until, owner = self._sites.get(secret, (0.0, ""))
        return owner if time.monotonic() < until else ""

    async def _new_site(self, secret: str) -> str:
        """Look up the token of a website, and remember it; empty if it is wrong or lacks the scope `site`.

        A website names any visitor it likes, and each has limits and turns of its own: not all owners may do that.
        """
        try:
            who = await self._store.identify(partial(authenticate, secret=secret, now_ms=self._store.now_ms()))
        except Unauthenticated:
            return ""
        if not who.permits(SITE):
            return ""
        if len(self._sites) >= _SITES:
            del self._sites[next(iter(self._sites))]
        self._sites[secret] = time.monotonic() + _SITE_SECONDS, who.owner
        return who.owner

    def _address(self, context: Context) -> str:
        host = peer_of(context.peer()).host
        if host in self._proxies:
            addresses = (value for key, value in context.invocation_metadata() or () if key == PROXY_KEY)
            host = str(next(addresses, host))
        return caller_network(host)

    @contextmanager
    def _connected(self, address: str, peer: Peer) -> Iterator[None]:
        """Count a call inside the block, and the connection if this is its first call. Raises LimitReached."""
        calls = self._calls.get(address, Counter())
        if peer not in calls:
            self.limiter.check("address_connections", f"connections from {address}", len(calls))
        self._calls[address] = calls
        with _counted(calls, peer):
            yield
        if not calls:
            del self._calls[address]


class Place:
    """The place of a request of an unauthenticated client, which is in memory and being answered."""

    def __init__(self, account: str, limit: int) -> None:
        """`limit` is the number of places."""
        self.account = account
        self._limit = limit
        self._wait: asyncio.Timeout | None = None

    @property
    def is_waiting(self) -> bool:
        """Return whether the call waits for its caller or for its turn."""
        return self._wait is not None

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Wait inside the block, until the place is needed for others. Raises LimitReached."""
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
        """End the wait."""
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())


def _site_secret(context: Context) -> str:
    return _told(context, SITE_KEY)


def _told(context: Context, name: str) -> str:
    return next((str(value) for key, value in context.invocation_metadata() or () if key == name), "")


@contextmanager
def _counted(calls: Counter[Peer], peer: Peer) -> Iterator[None]:
    calls[peer] += 1
    try:
        yield
    finally:
        calls[peer] -= 1
        if not calls[peer]:
            del calls[peer]
