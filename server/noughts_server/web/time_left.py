"""How long a running tournament still takes, by its pace so far."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

_FEWEST_GAMES = 5
_FEWEST_SHARE = 10
"""The estimate begins after a tenth of the games."""
_PAUSE = timedelta(minutes=10)
"""A longer time without the end of a game is a pause if it is also much longer than usual."""
_PAUSE_OF_USUAL = 10
_STEPS = (1, 2, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240, 360, 480, 720, 1440)
"""The minutes to which an estimate is rounded, so that it changes slowly; longer ones are whole days."""


def minutes_left(
    start: datetime | None, ends: Sequence[datetime], done: int, expected: int, now: datetime
) -> int | None:
    """Return about how many minutes the rest of a tournament takes; None if that is unknown.

    `ends` are the times at which the last games ended, and `expected` is the number of all games, or 0.
    """
    if not max(_FEWEST_GAMES, expected / _FEWEST_SHARE) <= done < expected or len(ends) < _FEWEST_GAMES:
        return None
    moments = [*ends, now] if start is None or len(ends) < done else [start, *ends, now]
    gaps = sorted(later - earlier for earlier, later in pairwise(sorted(moments)))
    longest = max(_PAUSE, _PAUSE_OF_USUAL * gaps[len(gaps) // 2])
    playing = sum((gap for gap in gaps if gap <= longest), timedelta())
    # One of the gaps does not end with a game, but now.
    minutes = playing / (len(gaps) - 1) * (expected - done) / timedelta(minutes=1)
    if minutes > _STEPS[-1]:
        return round(minutes / _STEPS[-1]) * _STEPS[-1]
    return min(_STEPS, key=lambda step: abs(step - minutes))
