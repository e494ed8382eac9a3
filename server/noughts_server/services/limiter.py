"""Counts the concurrent calls and the rates of callers, and refuses what exceeds `noughts_server.core.limits`."""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager

from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import BURST_SECONDS, DAILY, DAY_SECONDS, Limits
from noughts_server.services.access import Visitor

_RETRY_SECONDS = 1.0
"""Retry delay for concurrent uses, which usually end soon."""
_FORGET_FROM = 10_000
"""If more callers than this are remembered, those with no recent calls are forgotten."""


class Limiter:
    """The limiter of one server. `who` is an address, a token or another key that a limit applies to."""

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a monotonic clock in seconds."""
        self.limits = limits
        self._now = now
        self._held: Counter[tuple[str, Hashable]] = Counter()
        self._rested: dict[tuple[str, Hashable], float] = {}
        """When each caller's quota is whole again: the generic cell rate algorithm, with one number for each caller."""

    @contextmanager
    def holding(self, name: str, who: Hashable, subject: str) -> Iterator[None]:
        """Count one more concurrent use inside the block. Raises LimitReached."""
        key = (name, who)
        self.check(name, subject, self._held[key])
        self._held[key] += 1
        try:
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]

    @contextmanager
    def watching(self, visitor: Visitor) -> Iterator[None]:
        """Count one more stream that lasts as long as its caller likes inside the block. Raises LimitReached."""
        who = visitor.account
        with ExitStack() as held:
            if visitor.caller is None and not visitor.site:
                held.enter_context(self.holding("watchers", "", "watchers without a token"))
                held.enter_context(self.holding("address_watchers", who, f"watchers at {who}"))
            else:
                held.enter_context(self.holding("owner_watchers", who, f"watchers of {who}"))
            yield

    def take(self, name: str, who: Hashable, subject: str, amount: int = 1, *, instead: str = "") -> None:
        """Charge `amount` to a limit per second or day. Raises LimitReached, and charges nothing then."""
        if (wait := self.wait(name, who, amount)) > 0:
            limit = self.limits.of(name)
            burst = _burst(name)
            got = round((burst + wait) * limit / burst)
            raise LimitReached(name, subject, got=got, limit=limit, retry_seconds=wait, instead=instead)
        self.charge(name, who, amount)

    def wait(self, name: str, who: Hashable, amount: int = 0) -> float:
        """Return after how many seconds `amount` more is within a limit with a rate; 0 or less if it is now."""
        now = self._now()
        return max(self._rested.get((name, who), now) - now, 0) + self._seconds(name, amount) - _burst(name)

    def charge(self, name: str, who: Hashable, amount: int) -> None:
        """Charge `amount` to a limit per second or day, also beyond the limit. A negative one is given back."""
        now = self._now()
        key = (name, who)
        if len(self._rested) >= _FORGET_FROM and key not in self._rested:
            self._rested = {key: at for key, at in self._rested.items() if at > now}
        self._rested[key] = max(self._rested.get(key, now), now) + self._seconds(name, amount)

    def check(self, name: str, subject: str, so_far: int) -> None:
        """Raise LimitReached if `so_far` has reached the limit."""
        self.limits.check(name, subject, so_far, retry_seconds=_RETRY_SECONDS)

    def _seconds(self, name: str, amount: int) -> float:
        """Return in how many seconds a used `amount` of a limit is whole again."""
        return amount / self.limits.of(name) * (DAY_SECONDS if name in DAILY else 1)


def _burst(name: str) -> int:
    return DAY_SECONDS if name in DAILY else BURST_SECONDS
