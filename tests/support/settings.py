"""How hypothesis works here: the same examples every time, as many as the test asks for."""

from hypothesis import HealthCheck, settings


def examples(count: int, *, steps: int = 50) -> settings:
    """Settings for a property test with `count` examples (of at most `steps` steps, in a state machine)."""
    return settings(
        max_examples=count,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
