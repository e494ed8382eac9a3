"""The websites that call this server, for the list of nodes. They belong to no cluster, and send no heartbeats."""

import time
from collections.abc import Callable
from dataclasses import dataclass

_RECENT_SECONDS = 600.0
"""The time after its last call for which a website is listed."""
_MOST_WEBSITES = 100
_LONGEST_VERSION = 80
"""Characters of a version that are kept."""


@dataclass(slots=True)
class CallingWebsite:
    """A website that calls this server. Times are seconds of the monotonic clock."""

    owner: str
    """The owner of its token."""
    address: str
    """Where it calls from; see `noughts_proto.callers`."""
    version: str
    """The version of Noughts that it reports; empty: unknown."""
    first_call: float
    last_call: float


class Websites:
    """The websites with a token of the scope `site` that have called this server lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._websites: dict[tuple[str, str], CallingWebsite] = {}

    def note_call(self, owner: str, address: str, version: str) -> None:
        """Note a call of a website."""
        now = self._clock()
        website = self._websites.get((owner, address))
        if website is None:
            if len(self._websites) >= _MOST_WEBSITES:
                del self._websites[next(iter(self._websites))]
            self._websites[owner, address] = website = CallingWebsite(owner, address, "", now, now)
        website.last_call, website.version = now, version[:_LONGEST_VERSION]

    def recent(self) -> list[tuple[CallingWebsite, float, float]]:
        """Return the websites that have called lately, each with the seconds since its first and its last call."""
        now = self._clock()
        recent = [each for each in self._websites.values() if now - each.last_call <= _RECENT_SECONDS]
        return [(each, now - each.first_call, now - each.last_call) for each in recent]
