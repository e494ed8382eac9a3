"""The clocks of a game on a server, as shown to the player. The server's own clocks decide."""

import time
from collections.abc import Callable

from noughts_bots.sdk.bot import TimeLimits
from noughts_referee.clock import MICROSECONDS, TimeControl


class Clocks:
    """The time left to both players, and whose clock runs. Arguments and results are in seconds."""

    def __init__(
        self, limits: tuple[TimeLimits, TimeLimits], running: int, get_time: Callable[[], float] = time.monotonic
    ) -> None:
        """`limits` are those of player 0 and player 1; `running` is the player to move."""
        self._times = [
            TimeControl(
                move_us=_microseconds(player.move),
                bank_us=_microseconds(player.bank),
                increment_us=_microseconds(player.increment),
            )
            for player in limits
        ]
        self._get_time = get_time
        self._left_us = [control.start_us for control in self._times]
        self._running: int | None = running
        """The player whose clock runs; None after the game."""
        self._since = get_time()

    @property
    def is_limited(self) -> bool:
        """Whether any player has a limit."""
        return any(control.timed for control in self._times)

    def start_turn(self, own: float, opponent: float) -> None:
        """Start player 0's turn with these seconds left to both players."""
        self._left_us = [_microseconds(own), _microseconds(opponent)]
        self._run(0)

    def end_turn(self) -> None:
        """End player 0's turn."""
        self._left_us[0] = self._times[0].after_move(self._left_us[0], self._turn_us(0))
        self._run(1)

    def stop(self) -> None:
        """Stop both clocks at the end of the game."""
        self._left_us = [_microseconds(self.left(player)) for player in (0, 1)]
        self._running = None

    def _run(self, player: int) -> None:
        self._running, self._since = player, self._get_time()

    def _turn_us(self, player: int) -> int:
        """Return the time since the player's turn began; 0 unless its clock runs."""
        return _microseconds(self._get_time() - self._since) if player == self._running else 0

    def left(self, player: int) -> float:
        """Return the player's time left now; at least 0."""
        return max(0, self._left_us[player] - self._turn_us(player)) / MICROSECONDS

    def text(self, player: int) -> str:
        """Return the time left, e.g. `14:05`; below ten seconds with tenths; `no limit` if there is none.

        With a base time and a move limit, the player to move also sees the time left for this move: `14:05 / 0:21`.
        """
        limits = self._times[player]
        if not limits.timed:
            return "no limit"
        left_text = _duration_text(self.left(player))
        if not (limits.bank_us and limits.move_us and player == self._running):
            return left_text
        limit_us = limits.limit_us(self._left_us[player])
        return f"{left_text} / {_duration_text(max(0, limit_us - self._turn_us(player)) / MICROSECONDS)}"


def precise(seconds: float) -> str:
    """Return e.g. `1:05.2`; tenths are cut, not rounded, so that a minute is never 0:60.0."""
    tenths = max(0, int(seconds * 10))
    return f"{tenths // 600}:{tenths // 10 % 60:02}.{tenths % 10}"


def _duration_text(seconds: float) -> str:
    if seconds < 10:
        return f"{int(seconds * 10) / 10:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
