"""Signals, signs of life and logs of a process that plays."""

import gc
from collections.abc import Iterator

import pytest

from noughts_bots.connection.process import tune_collector


class _Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def collector() -> Iterator[None]:
    """The collector as Python starts with it; as it was, afterwards."""
    before, callbacks = gc.get_threshold(), gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.set_threshold(*before)
    gc.callbacks[:] = callbacks


@pytest.mark.usefixtures("collector")
def test_the_collector_runs_rarely_without_cycles() -> None:
    tune_collector()
    often = gc.get_threshold()[0]
    plain: list[list[int]] = [[] for _ in range(400_000)]
    seldom = gc.get_threshold()[0]
    assert seldom >= 8 * often
    del plain
    largest = 0

    def told(phase: str, info: dict[str, int]) -> None:
        nonlocal largest
        if phase == "stop" and gc.get_threshold()[0] == often:
            largest = max(largest, info["collected"])

    gc.callbacks.append(told)
    for _ in range(400_000):
        _Cycle()
    assert gc.get_threshold()[0] == often
    assert 0 < largest < 8 * often, "what is collected at once must be little"


@pytest.mark.usefixtures("collector")
def test_the_collector_is_tuned_once_however_many_servers_a_process_has() -> None:
    tune_collector()
    callbacks = len(gc.callbacks)
    tune_collector()
    assert len(gc.callbacks) == callbacks
