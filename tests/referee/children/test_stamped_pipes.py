"""The time of the last write to a pipe."""

import os
import time

import pytest

from noughts_referee.children import stamped_pipes
from noughts_referee.children.stamped_pipes import TICK_US, last_write, stamped_pipe
from noughts_referee.monotonic import microseconds

NEAR_US = 60 * TICK_US
LATER_SECONDS = 0.3


def test_a_pipe_has_the_time_of_its_last_write_also_after_reading() -> None:
    reading, writing = stamped_pipe()
    for _ in range(3):
        before = microseconds()
        os.write(writing, b"a move")
        after = microseconds()
        time.sleep(LATER_SECONDS)
        for end in (reading, writing):
            assert before - NEAR_US <= last_write(end, microseconds) <= after + NEAR_US
        assert os.read(reading, 100) == b"a move"
        assert last_write(reading, microseconds) <= after + NEAR_US
    os.close(reading)
    os.close(writing)


def test_a_system_without_fifos_has_ordinary_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamped_pipes, "_FOLDERS", ("/nowhere",))
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    reading, writing = stamped_pipe()
    os.write(writing, b"a move")
    assert os.read(reading, 100) == b"a move"
    os.close(reading)
    os.close(writing)


def test_the_end_of_a_pipe_is_seen_when_its_writer_closes_it() -> None:
    reading, writing = stamped_pipe()
    os.close(writing)
    assert os.read(reading, 100) == b""
    os.close(reading)
