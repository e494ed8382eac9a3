"""The time in which bots can join a tournament, and its events in words. Times are milliseconds since 1970."""

from typing import NamedTuple

from noughts_server.core.messages import N_


class JoinWindow(NamedTuple):
    """When bots can join an open tournament."""

    begin_ms: int | None
    """None: from its creation."""
    end_ms: int | None
    """None: until the start."""

    def has_begun(self, now_ms: float) -> bool:
        """Return whether bots could join at this time or before."""
        return self.begin_ms is None or now_ms >= self.begin_ms

    def has_ended(self, now_ms: float) -> bool:
        """Return whether bots can no longer join."""
        return self.end_ms is not None and now_ms >= self.end_ms

    def is_open(self, now_ms: float) -> bool:
        """Return whether bots can join."""
        return self.has_begun(now_ms) and not self.has_ended(now_ms)

    def events(self, now_ms: float) -> list[tuple[str, int]]:
        """Return what a reader must know, e.g. `joining ends` and the time. Empty if bots can join until the start.

        Joined by commas, the events are a sentence: `joining begins ..., ends ...`.
        """
        if self.end_ms is not None and self.has_ended(now_ms):
            return [(N_("joining ended"), self.end_ms)]
        if self.begin_ms is not None and not self.has_begun(now_ms):
            return [
                (N_("joining begins"), self.begin_ms),
                *([(N_("ends"), self.end_ms)] if self.end_ms is not None else []),
            ]
        return [] if self.end_ms is None else [(N_("joining ends"), self.end_ms)]
