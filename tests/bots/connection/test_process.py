"""The garbage collector of a process that plays."""

import gc
from collections.abc import Iterator

import pytest

from noughts_bots.connection.process import tune_collector


class _Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def collector() -> Iterator[None]:
    """Remove callbacks of the collector, and restore its state afterwards."""
    before, callbacks = gc.get_threshold(), gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.set_threshold(*before)
    gc.callbacks[:] = callbacks


@pytest.mark.usefixtures("collector")
def test_the_collector_runs_rarely_without_cycles() -> None:
    tune_collector()
    low_threshold = gc.get_threshold()[0]
    plain: list[list[int]] = [[] for _ in range(400_000)]
    raised_threshold = gc.get_threshold()[0]
    assert raised_threshold >= 8 * low_threshold
    del plain
    largest = 0

    def on_collection(phase: str, info: dict[str, int]) -> None:
        nonlocal largest
        if phase == "stop" and gc.get_threshold()[0] == low_threshold:
            largest = max(largest, info["collected"])

    gc.callbacks.append(on_collection)
    for _ in range(400_000):
        _Cycle()
    assert gc.get_threshold()[0] == low_threshold
    assert 0 < largest < 8 * low_threshold, "what is collected at once must be little"


@pytest.mark.usefixtures("collector")
def test_the_collector_is_tuned_once_per_process() -> None:
    tune_collector()
    callbacks = len(gc.callbacks)
    tune_collector()
    assert len(gc.callbacks) == callbacks
