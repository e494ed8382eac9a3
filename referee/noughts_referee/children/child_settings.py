"""Times of a child player. To import them loads no grpc: who plans a match on this machine reads them first."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noughts_referee.monotonic import Now, microseconds

if TYPE_CHECKING:
    from noughts_referee.frame_connection import WireSettings


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """Times of a child, in seconds."""

    start: float = 10.0
    """From the start to its Hello; of an engine, to the answer to START."""
    silence: float = 300.0
    """How long it may owe an answer in games without clocks and not be heard of."""
    stop: float = 1.0
    """From closing its standard input to SIGTERM, and from there to SIGKILL; of an engine from END to SIGKILL."""
    restart: float = 5.0
    """How long an engine may take for RESTART, and go on thinking about a game that is over."""
    heartbeat: float = 1.0
    """Pipes are cheap: an idle child is asked more often than a remote bot whether it lives."""
    now: Now = microseconds
    """What time it is."""

    @property
    def wire(self) -> "WireSettings":
        """What its wire goes by. There is no grace: who dies loses, and who only hung is started again."""
        from noughts_referee.frame_connection import WireSettings

        return WireSettings(self.heartbeat, _FOR_EVER, self.now)


_FOR_EVER = 86_400.0
