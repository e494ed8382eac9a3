"""Times of a child player. This module does not load grpc, because commands that plan a local match import it first."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noughts_referee.monotonic import Now, microseconds

if TYPE_CHECKING:
    from noughts_referee.frame_connection import WireSettings

_A_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """Times of a child, in seconds."""

    start: float = 10.0
    """The longest time from the start to the Hello; for an engine, to the answer to START."""
    silence: float = 300.0
    """The longest silence of a child during its turn in a game without a clock."""
    stop: float = 1.0
    """Seconds from closing stdin to SIGTERM, and from SIGTERM to SIGKILL; for an engine, from END to SIGKILL."""
    restart: float = 5.0
    """Seconds that an engine can take for RESTART, or to stop thinking about a finished game."""
    rest: float = 1.0
    """Seconds between two checks whether a child computes although it has nothing to do."""
    heartbeat: float = 1.0
    """Seconds between heartbeats. Shorter than for remote bots, because heartbeats on pipes cost little."""
    now: Now = microseconds

    @property
    def wire(self) -> "WireSettings":
        """Return the connection's settings. The reconnect timeout is a day: `ChildPlayer` ends lost games."""
        from noughts_referee.frame_connection import WireSettings

        return WireSettings(self.heartbeat, _A_DAY, self.now)
