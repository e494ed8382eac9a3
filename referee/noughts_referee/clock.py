"""Time controls and clocks: arithmetic on microseconds, no clock of its own."""

from collections.abc import Iterable
from dataclasses import dataclass

MICROSECONDS = 1_000_000
_LONGEST = 7 * 24 * 3600 * MICROSECONDS
# A game's expected length in moves of one side, to sort time controls into classes (the convention of chess servers).
_EXPECTED_MOVES = 40
_CLASSES = ((180, "bullet"), (480, "blitz"), (1500, "rapid"))


class TimeControlError(ValueError):
    """A time control that cannot be read: `got` is the text, `expected` what would have been right."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"time {got!r}: expected {expected}")
        self.got = got
        self.expected = expected


@dataclass(frozen=True, slots=True)
class TimeControl:
    """Thinking time of each side: a limit for each move, or a bank with an increment, or neither. Microseconds."""

    move_us: int = 0
    bank_us: int = 0
    increment_us: int = 0

    @property
    def timed(self) -> bool:
        """Whether there is any limit."""
        return bool(self.move_us or self.bank_us)

    @property
    def start_us(self) -> int:
        """What each clock shows before the first move: the bank, or the limit of a move; 0 where there is no limit."""
        return self.move_us or self.bank_us

    def after_move(self, left_us: int, took_us: int) -> int:
        """What a clock that showed `left_us` shows after a move that took so long.

        What is overstepped, within the referee's margin, is not taken from the increment.
        """
        return self.move_us or max(0, left_us - took_us) + self.increment_us

    def clocks_after(self, times_us: Iterable[int]) -> tuple[int, int]:
        """What both clocks show after moves of the two sides in turn that took so long; only in timed games."""
        left = [self.start_us] * 2
        for ply, took in enumerate(times_us):
            left[ply & 1] = self.after_move(left[ply & 1], took)
        return left[0], left[1]

    @property
    def time_class(self) -> str:
        """`untimed`, `bullet`, `blitz`, `rapid` or `classical`, by the time 40 moves may take."""
        if not self.timed:
            return "untimed"
        expected_us = self.bank_us + _EXPECTED_MOVES * (self.increment_us + self.move_us)
        for limit_seconds, name in _CLASSES:
            if expected_us < limit_seconds * MICROSECONDS:
                return name
        return "classical"

    def __str__(self) -> str:
        if self.move_us:
            return f"{_seconds(self.move_us)}/move"
        if self.bank_us:
            return f"{_seconds(self.bank_us)}+{_seconds(self.increment_us)}"
        return "none"


def parse_time_control(text: str) -> TimeControl:
    """Reads `60+0.5` (bank + increment, seconds), `1/move` (seconds a move) or `none`. Raises TimeControlError."""
    expected = "`none`, `60+0.5` (bank + increment, seconds) or `1/move` (seconds a move)"
    text = text.strip()
    if text == "none":
        return TimeControl()
    number, slash, unit = text.partition("/")
    try:
        if slash:
            if unit != "move":
                raise TimeControlError(text, expected)
            control = TimeControl(move_us=_microseconds(number))
        else:
            bank, plus, increment = text.partition("+")
            control = TimeControl(bank_us=_microseconds(bank), increment_us=_microseconds(increment) if plus else 0)
    except (ValueError, OverflowError) as error:
        raise TimeControlError(text, expected) from error
    if not control.timed:
        raise TimeControlError(text, "more than zero seconds, or `none` for no limit")
    if min(control.move_us, control.bank_us, control.increment_us) < 0:
        raise TimeControlError(text, "no negative times")
    if max(control.move_us, control.bank_us, control.increment_us) > _LONGEST:
        raise TimeControlError(text, "at most a week")
    return control


def _microseconds(seconds: str) -> int:
    return round(float(seconds) * MICROSECONDS)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / MICROSECONDS:.6f}".rstrip("0").rstrip(".")
