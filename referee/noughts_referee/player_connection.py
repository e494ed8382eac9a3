"""What the referee needs from a connection."""

from typing import Protocol


class PlayerConnection(Protocol):
    """What carries frames to one player and its answers back."""

    @property
    def capacity_timed(self) -> int:
        """Return the number of concurrent timed games of the player; 0 while it is away."""

    @property
    def capacity_untimed(self) -> int:
        """Return the number of concurrent untimed games of the player; 0 while it is away."""

    def wake(self) -> None:
        """Send the player's outbox."""
