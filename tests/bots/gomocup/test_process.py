"""The process of an engine, whatever it says."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from noughts_bots.gomocup.process import EngineEnded, EngineProcess

pytestmark = pytest.mark.processes


@contextmanager
def running(folder: Path, program: str) -> Iterator[EngineProcess]:
    """A process of Python that does what the program says."""
    process = EngineProcess([sys.executable, "-u", "-c", program], folder, dict(os.environ))
    try:
        yield process
    finally:
        process.kill()


def soon() -> float:
    """A deadline that is not met if something is wrong."""
    return time.monotonic() + 30


def test_lines_come_one_by_one_and_the_last_needs_no_end(tmp_path: Path) -> None:
    with running(tmp_path, "print('OK'); print('1,2', end='')") as process:
        assert [process.line(soon()), process.line(soon())] == ["OK", "1,2"]
        with pytest.raises(EngineEnded, match="exit code 0"):
            process.line(soon())


def test_what_was_written_unasked_is_set_aside(tmp_path: Path) -> None:
    with running(tmp_path, "print('hello'); print('9,9'); input(); print('1,2'); input()") as process:
        first = process.line(soon())
        assert first == "hello"
        # Both lines were written before the question; the second may still be on its way.
        rest = process.unasked() or [process.line(soon()) or ""]
        process.send("TURN 1,1")
        assert (rest, process.line(soon())) == (["9,9"], "1,2")


def test_a_deadline_that_has_passed_is_no_line(tmp_path: Path) -> None:
    with running(tmp_path, "input()") as process:
        assert process.line(time.monotonic() + 0.05) is None
        assert process.line(time.monotonic() - 1) is None


def test_an_engine_that_does_not_read_is_found_out_and_blocks_nobody(tmp_path: Path) -> None:
    more_than_a_pipe_holds = ["X" * 1_000] * 2_000
    with (
        running(tmp_path, "import signal; signal.pause()") as process,
        pytest.raises(EngineEnded, match="does not read"),
    ):
        process.send(*more_than_a_pipe_holds)


def test_an_engine_that_closes_its_output_has_ended(tmp_path: Path) -> None:
    program = "import os, signal; os.close(1); signal.pause()"
    with running(tmp_path, program) as process, pytest.raises(EngineEnded, match="closed its output"):
        process.line(soon())


def test_an_engine_that_ends_itself_after_end_is_not_waited_for(tmp_path: Path) -> None:
    with running(tmp_path, "while input() != 'END': pass") as process:
        engine = psutil.Process(process._process.pid)
        process.close()
        assert not engine.is_running()
