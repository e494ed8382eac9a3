"""The thread for long computations."""

import os
import sys
import threading

import pytest

from noughts_server.core.computing import Computing


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a nice value for each thread")
async def test_the_thread_has_a_lower_priority_than_the_process() -> None:
    def nice() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    most = 19
    assert await Computing("tests", nice=3).run("", nice) == min(nice() + 3, most)
    assert await Computing("tests").run("", nice) == nice()
