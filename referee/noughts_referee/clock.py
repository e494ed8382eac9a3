"""Time controls and clocks: arithmetic on microseconds, without a clock of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from noughts_referee.rules import InvalidInput

MICROSECONDS = 1_000_000
MARGIN_US = 50_000
"""Default time margin: the time by which a move can exceed its limit because of transport."""
ENGINE_MARGIN_US = 1_000_000
"""Default time margin of engines, which get their limits and keep their own clock."""
NETWORK_CAP_US = 100_000
"""Default cap on the network time of a move that is not charged."""
RECONNECT_TIMEOUT_SECONDS = 30.0
"""Default reconnect timeout: a bot that is disconnected for longer loses."""
HEARTBEAT_SECONDS = 5.0
"""Default interval between the heartbeats that a quiet remote bot must echo."""
_LONGEST = 7 * 24 * 3600 * MICROSECONDS
"""The largest limit of a time control: a week."""
# Expected length of a game in moves of one side, to sort time controls (the convention of chess servers).
_EXPECTED_MOVES = 40
_LONG_MOVE_US = MICROSECONDS
_CLASSES = ((180, "bullet"), (480, "blitz"), (1500, "rapid"))
"""Time classes with the estimated seconds of a side's game below which they end."""


class TimeControlError(InvalidInput):
    """An invalid time control."""

    text = "time {got!r}: expected {expected}"


@dataclass(frozen=True, slots=True)
class TimeControl:
    """Thinking time of a side: a limit for each move, a base time with an increment, both, or neither.

    All times are microseconds.
    """

    move_us: int = 0
    """Limit of a single move. The rest of the base time also limits a move."""
    bank_us: int = 0
    """The base time: the time on the clock at the start."""
    increment_us: int = 0

    @property
    def timed(self) -> bool:
        return bool(self.move_us or self.bank_us)

    @property
    def start_us(self) -> int:
        """Return the time on a clock before the first move: the base time or the limit of a move; 0 without a limit."""
        return self.bank_us or self.move_us

    def limit_us(self, left_us: int) -> int:
        """Return the limit of a move when the clock shows `left_us`. Call it only if there is a limit."""
        return self.move_us if 0 < self.move_us < left_us else left_us

    def after_move(self, left_us: int, took_us: int) -> int:
        """Return the clock after a move. Time used within the time margin is not taken from the increment."""
        return max(0, left_us - took_us) + self.increment_us if self.bank_us else self.move_us

    def scaled(self, factor: float) -> "TimeControl":
        """Return the time control with all times multiplied, rounded to microseconds, at least one for a limit."""
        return TimeControl(
            move_us=_scaled(self.move_us, factor),
            bank_us=_scaled(self.bank_us, factor),
            increment_us=_scaled(self.increment_us, factor),
        )

    @property
    def expected_us(self) -> int:
        """Return the total limit of 40 moves in microseconds; 0 without a limit."""
        by_bank = self.bank_us + _EXPECTED_MOVES * self.increment_us
        by_moves = _EXPECTED_MOVES * self.move_us
        if self.bank_us and self.move_us:
            return min(by_bank, by_moves)
        return by_bank or by_moves

    @property
    def long(self) -> bool:
        """Return whether 40 moves can take a second or more each. Games with such a side are journaled."""
        return self.expected_us >= _EXPECTED_MOVES * _LONG_MOVE_US

    @property
    def time_class(self) -> str:
        """Return `untimed`, `bullet`, `blitz`, `rapid` or `classical`, according to the limit of 40 moves."""
        if not self.timed:
            return "untimed"
        for limit_seconds, name in _CLASSES:
            if self.expected_us < limit_seconds * MICROSECONDS:
                return name
        return "classical"

    def __str__(self) -> str:
        if self.bank_us:
            limit = f"/{_seconds(self.move_us)}" if self.move_us else ""
            return f"{_seconds(self.bank_us)}{limit}+{_seconds(self.increment_us)}"
        return f"{_seconds(self.move_us)}/move" if self.move_us else "none"


def _scaled(time_us: int, factor: float) -> int:
    return max(1, round(time_us * factor)) if time_us else 0


def clocks_after(
    limits: Sequence[TimeControl | None], times_us: Iterable[int], opening_plies: int = 0
) -> tuple[int | None, int | None]:
    """Return the time on both clocks after moves of the two sides in turn; None for a side without a limit.

    The clocks start after the first `opening_plies` moves, which the players did not make.
    """
    clocks_us = [None if limit is None else limit.start_us for limit in limits]
    for ply, took in islice(enumerate(times_us), opening_plies, None):
        limit, before = limits[ply & 1], clocks_us[ply & 1]
        if limit is not None and before is not None:
            clocks_us[ply & 1] = limit.after_move(before, took)
    first_us, second_us = clocks_us
    return first_us, second_us


def late_moves(
    limits: Sequence[TimeControl | None], times_us: Iterable[int], opening_plies: int = 0
) -> tuple[int, int]:
    """Return for each side the number of moves that exceeded their limit and needed the time margin.

    The arguments are those of `clocks_after`.
    """
    clocks_us = [0 if limit is None else limit.start_us for limit in limits]
    late = [0, 0]
    for ply, took in islice(enumerate(times_us), opening_plies, None):
        side = ply & 1
        limit = limits[side]
        if limit is not None and limit.timed:
            if took > limit.limit_us(clocks_us[side]):
                late[side] += 1
            clocks_us[side] = limit.after_move(clocks_us[side], took)
    first_late, second_late = late
    return first_late, second_late


def parse_time_control(text: str) -> TimeControl:
    """Parse `60+0.5` (base time + increment in seconds), `1/move` (seconds per move), both as in `180/30+0`, or `none`.

    `180/30+0` is a base time of 180 s, at most 30 s per move and no increment (`+0` is optional). Raises
    TimeControlError.
    """
    expected = "`none`, `60+0.5` (base + increment, seconds), `1/move` (seconds per move) or both as in `180/30+0`"
    text = text.strip()
    if text == "none":
        return TimeControl()
    try:
        if text.endswith("/move"):
            control = TimeControl(move_us=_microseconds(text.removesuffix("/move")))
            limits = [control.move_us]
        else:
            clock, plus, increment = text.partition("+")
            limits = [_microseconds(part) for part in clock.split("/")]
            bank_us, move_us = limits if len(limits) > 1 else (limits[0], 0)
            control = TimeControl(move_us, bank_us, _microseconds(increment) if plus else 0)
    except (ValueError, OverflowError) as error:
        raise TimeControlError(text, expected) from error
    if min(*limits, control.increment_us) < 0:
        raise TimeControlError(text, "no negative times")
    if not all(limits):
        raise TimeControlError(text, "more than zero seconds, or `none` for no limit")
    if max(control.move_us, control.bank_us, control.increment_us) > _LONGEST:
        raise TimeControlError(text, "at most a week")
    return control


def _microseconds(seconds: str) -> int:
    return round(float(seconds) * MICROSECONDS)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / MICROSECONDS:.6f}".rstrip("0").rstrip(".")
