"""Count the concurrent calls and the rates of callers, and refuse calls that exceed `noughts_server.core.limits`."""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import BURST_SECONDS, DAILY, DAY_SECONDS, Limits
from noughts_server.services.access import Visitor

_RETRY_SECONDS = 1.0
"""Seconds after which a client should try again if too many calls or streams run; they usually end soon."""
_FORGET_FROM = 10_000
"""If more callers than this are remembered, those with no recent calls are forgotten."""


class Limiter:
    """The limiter of one server. An `account` is an address, an owner or another key that a limit applies to.

    `name` is a limit of `Limits`, and `subject` describes it in error messages.
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a monotonic clock in seconds."""
        self.limits = limits
        self._now = now
        self._uses: Counter[tuple[str, Hashable]] = Counter()
        self._free_at: dict[tuple[str, Hashable], float] = {}
        """The time at which each account will have its whole quota again (generic cell rate algorithm)."""

    @contextmanager
    def holding(self, name: str, account: Hashable, subject: str) -> Iterator[None]:
        """Count one more concurrent use inside the block. Raises LimitReached."""
        key = (name, account)
        self.check(name, subject, self._uses[key])
        self._uses[key] += 1
        try:
            yield
        finally:
            self._uses[key] -= 1
            if not self._uses[key]:
                del self._uses[key]

    @contextmanager
    def watching(self, visitor: Visitor) -> Iterator[None]:
        """Count one more stream without a time limit inside the block. Raises LimitReached."""
        account = visitor.account
        if visitor.caller is not None or visitor.site:
            with self.holding("owner_watchers", account, f"watchers of {account}"):
                yield
            return
        with (
            self.holding("watchers", "", "watchers without a token"),
            self.holding("address_watchers", account, f"watchers at {account}"),
        ):
            yield

    def take(self, name: str, account: Hashable, subject: str, amount: int = 1, *, instead: str = "") -> None:
        """Charge `amount` to a limit per second or day. Raises LimitReached without a charge."""
        if (wait := self.wait_seconds(name, account, amount)) > 0:
            limit = self.limits.of(name)
            burst = _burst_seconds(name)
            got = round((burst + wait) * limit / burst)
            raise LimitReached(name, subject, got=got, limit=limit, retry_seconds=wait, instead=instead)
        self.charge(name, account, amount)

    def wait_seconds(self, name: str, account: Hashable, amount: int = 0) -> float:
        """Return the seconds until `amount` more is within a limit per second or day; 0 or less if it already is."""
        now = self._now()
        used = max(self._free_at.get((name, account), now) - now, 0)
        return used + self._seconds(name, amount) - _burst_seconds(name)

    def charge(self, name: str, account: Hashable, amount: int) -> None:
        """Charge `amount` to a limit per second or day, even beyond the limit. A negative amount is a refund."""
        now = self._now()
        key = (name, account)
        if len(self._free_at) >= _FORGET_FROM and key not in self._free_at:
            self._free_at = {other: at for other, at in self._free_at.items() if at > now}
        self._free_at[key] = max(self._free_at.get(key, now), now) + self._seconds(name, amount)

    def check(self, name: str, subject: str, so_far: int) -> None:
        """Raise LimitReached if `so_far` has reached the limit."""
        self.limits.check(name, subject, so_far, retry_seconds=_RETRY_SECONDS)

    def _seconds(self, name: str, amount: int) -> float:
        """Return the seconds after which the limit has granted `amount`."""
        return amount / self.limits.of(name) * (DAY_SECONDS if name in DAILY else 1)


def _burst_seconds(name: str) -> int:
    """Return the seconds whose whole quota an account can use at once."""
    return DAY_SECONDS if name in DAILY else BURST_SECONDS
