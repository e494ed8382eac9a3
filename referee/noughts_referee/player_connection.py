"""What the referee needs of a wire."""

from typing import Protocol


class PlayerConnection(Protocol):
    """What carries frames to one player and its answers back."""

    @property
    def capacity_timed(self) -> int:
        """Timed games the player takes at once; 0 while it is not there."""

    @property
    def capacity_untimed(self) -> int:
        """Untimed games the player takes at once; 0 while it is not there."""

    def wake(self) -> None:
        """The player's outbox has something to send."""
