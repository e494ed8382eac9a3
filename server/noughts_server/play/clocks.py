"""The clocks of a game at a server, as they are shown: the server's own decide."""

import time
from collections.abc import Callable

from noughts_bots.bot import TimeLimits
from noughts_referee.clock import MICROSECONDS, TimeControl


class Clocks:
    """What both players have left, and whose clock runs. Arguments and results are seconds."""

    def __init__(
        self, limits: tuple[TimeLimits, TimeLimits], running: int, get_time: Callable[[], float] = time.monotonic
    ) -> None:
        """`limits` are the two players', `running` is who is to move."""
        self._times = [
            TimeControl(*(_microseconds(each) for each in (player.move, player.bank, player.increment)))
            for player in limits
        ]
        self._get_time = get_time
        self._left_us = [time.start_us for time in self._times]
        self._running: int | None = running
        self._since = get_time()

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(time.timed for time in self._times)

    def asked(self, own: float, opponent: float) -> None:
        """Player 0 is to move and has `own` seconds left."""
        self._left_us = [_microseconds(own), _microseconds(opponent)]
        self._run(0)

    def answered(self) -> None:
        """Player 0 has moved."""
        self._left_us[0] = self._times[0].after_move(self._left_us[0], self._passed_us(0))
        self._run(1)

    def stop(self) -> None:
        """The game is over."""
        self._left_us = [_microseconds(self.left(player)) for player in (0, 1)]
        self._running = None

    def _run(self, player: int) -> None:
        self._running, self._since = player, self._get_time()

    def _passed_us(self, player: int) -> int:
        """Since the player was asked; nothing unless its clock runs."""
        return _microseconds(self._get_time() - self._since) if player == self._running else 0

    def left(self, player: int) -> float:
        """What the player has left now; never less than nothing."""
        return max(0, self._left_us[player] - self._passed_us(player)) / MICROSECONDS

    def shown(self, player: int) -> str:
        """The same as `14:05`; below ten seconds with tenths.

        `no limit` where there is none. With a bank and a limit of a move, whoever is to move sees what is left for this
        move, too: `14:05 / 0:21`.
        """
        limits = self._times[player]
        if not limits.timed:
            return "no limit"
        left = _shown(self.left(player))
        if not (limits.bank_us and limits.move_us and player == self._running):
            return left
        limit_us = limits.limit_us(self._left_us[player])
        return f"{left} / {_shown(max(0, limit_us - self._passed_us(player)) / MICROSECONDS)}"


def _shown(seconds: float) -> str:
    if seconds < 10:
        return f"{int(seconds * 10) / 10:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
