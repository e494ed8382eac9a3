"""The amount of work: the same every time, a part of it in `make test` and `make test-long`, all of it in `make soak`.

`NOUGHTS_THOROUGH=1` tries all.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

THOROUGH = os.environ.get("NOUGHTS_THOROUGH") == "1"
_TIMES = 10 if THOROUGH else 1

T = TypeVar("T")


def examples(count: int, *, steps: int = 50) -> settings:
    """Settings for a property test with `count` examples (of at most `steps` steps, in a state machine)."""
    return settings(
        max_examples=often(count),
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def often(count: int) -> int:
    """Return how often to try a random case: ten times as often in thorough runs."""
    return _TIMES * count


def part(things: Sequence[T], one_in: int, begin: int = 0) -> Sequence[T]:
    """One in so many of these, from place `begin` (of any size) on; all where all is tried.

    Tests that share a sequence take other parts of it by beginning at other places.
    """
    return things if THOROUGH else things[begin % one_in :: one_in]
