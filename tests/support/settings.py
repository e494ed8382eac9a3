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
        max_examples=repetitions(count),
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def repetitions(count: int) -> int:
    """Return how many random cases to try: `count`, or ten times as many in thorough runs."""
    return _TIMES * count


def every_nth(things: Sequence[T], divisor: int, begin: int = 0) -> Sequence[T]:
    """Return every `divisor`-th of these from place `begin` (of any size) on, or all of them in thorough runs.

    Tests that share a sequence begin at different places, so that they take different parts of it.
    """
    return things if THOROUGH else things[begin % divisor :: divisor]
