"""Time controls and clocks: arithmetic on microseconds, no clock of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

MICROSECONDS = 1_000_000
MARGIN_US = 50_000
"""What a move may overstep its limit for transport, unless somebody has said otherwise."""
NETWORK_CAP_US = 100_000
"""What the network may take of each move without its being charged, unless somebody has said otherwise."""
GRACE_SECONDS = 30.0
"""How long a lost bot may stay away before it loses, unless somebody has said otherwise."""
_LONGEST = 7 * 24 * 3600 * MICROSECONDS
# A game's expected length in moves of one side, to sort time controls (the convention of chess servers).
_EXPECTED_MOVES = 40
_LONG_MOVE_US = MICROSECONDS
_CLASSES = ((180, "bullet"), (480, "blitz"), (1500, "rapid"))


class TimeControlError(ValueError):
    """A time control that cannot be read: `got` is the text, `expected` what would have been right."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"time {got!r}: expected {expected}")
        self.got = got
        self.expected = expected


@dataclass(frozen=True, slots=True)
class TimeControl:
    """Thinking time of a side: a limit for each move, a bank with an increment, both, or neither. Microseconds."""

    move_us: int = 0
    """What a single move may take at most; with a bank, no more than is left of that either."""
    bank_us: int = 0
    """What is on the clock at the start."""
    increment_us: int = 0
    """Added to what is left of the bank after each move."""

    @property
    def timed(self) -> bool:
        """Whether there is any limit."""
        return bool(self.move_us or self.bank_us)

    @property
    def start_us(self) -> int:
        """What a clock shows before the first move: the bank, or the limit of a move; 0 where there is no limit."""
        return self.bank_us or self.move_us

    def limit_us(self, left_us: int) -> int:
        """What a move may take when the clock shows `left_us`; only where there is a limit."""
        return self.move_us if 0 < self.move_us < left_us else left_us

    def after_move(self, left_us: int, took_us: int) -> int:
        """What a clock that showed `left_us` shows after a move that took so long.

        What is overstepped, within the referee's margin, is not taken from the increment.
        """
        return max(0, left_us - took_us) + self.increment_us if self.bank_us else self.move_us

    @property
    def expected_us(self) -> int:
        """What 40 moves may take at most; 0 where there is no limit."""
        by_bank, by_moves = self.bank_us + _EXPECTED_MOVES * self.increment_us, _EXPECTED_MOVES * self.move_us
        return min(by_bank, by_moves) if self.bank_us and self.move_us else by_bank or by_moves

    @property
    def long(self) -> bool:
        """Whether 40 moves may take a second or more each: a game in which a side has such times is journaled."""
        return self.expected_us >= _EXPECTED_MOVES * _LONG_MOVE_US

    @property
    def time_class(self) -> str:
        """`untimed`, `bullet`, `blitz`, `rapid` or `classical`, by the time 40 moves may take at most."""
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


def clocks_after(
    limits: Sequence[TimeControl | None], times_us: Iterable[int], opening_plies: int = 0
) -> tuple[int | None, int | None]:
    """What both clocks show after moves of the two sides in turn that took so long; None of a side without a limit.

    `limits` are the two sides' time controls; None where there is no limit. The first `opening_plies` moves were on the
    board when the clocks started.
    """
    left = [None if limit is None else limit.start_us for limit in limits]
    for ply, took in islice(enumerate(times_us), opening_plies, None):
        limit, before = limits[ply & 1], left[ply & 1]
        if limit is not None and before is not None:
            left[ply & 1] = limit.after_move(before, took)
    return left[0], left[1]


def parse_time_control(text: str) -> TimeControl:
    """Reads `60+0.5` (bank + increment, seconds), `1/move` (seconds a move), both as in `180/30+0`, or `none`.

    `180/30+0` is a bank of 180 s, of which a move may take at most 30, without an increment; `+0` may be left out.
    Raises TimeControlError.
    """
    expected = "`none`, `60+0.5` (bank + increment, seconds), `1/move` (seconds a move) or both as in `180/30+0`"
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
