"""The clocks of a game at a server, as they are shown: the server's own decide."""

import time
from collections.abc import Callable

from noughts_bots.bot import TimeLimits


class Clocks:
    """What both players have left, in seconds, and whose clock runs."""

    def __init__(self, limits: TimeLimits, running: int, get_time: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._get_time = get_time
        self._left = [limits.move or limits.bank] * 2
        self._running: int | None = running
        self._since = get_time()

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return bool(self._limits.move or self._limits.bank)

    def asked(self, own: float, opponent: float) -> None:
        """Player 0 is to move and has `own` seconds left."""
        self._left = [own, opponent]
        self._run(0)

    def answered(self) -> None:
        """Player 0 has moved."""
        left = self.left(0)
        self._left[0] = self._limits.move or left + self._limits.increment
        self._run(1)

    def stop(self) -> None:
        """The game is over."""
        self._left = [self.left(0), self.left(1)]
        self._running = None

    def _run(self, player: int) -> None:
        self._running, self._since = player, self._get_time()

    def left(self, player: int) -> float:
        """What the player has left now; never less than nothing."""
        passed = self._get_time() - self._since if player == self._running else 0.0
        return max(0.0, self._left[player] - passed)

    def shown(self, player: int) -> str:
        """The same as `14:05`; below ten seconds with tenths."""
        left = self.left(player)
        if left < 10:
            return f"{int(left * 10) / 10:.1f} s"
        return f"{int(left) // 60}:{int(left) % 60:02}"
