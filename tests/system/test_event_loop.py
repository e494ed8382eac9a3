"""The event loop starts child processes that do not collect the garbage of their parent."""

import subprocess
import sys

from tests.support.processes import environment

PROGRAM = """
import asyncio, gc, os, sys
from noughts_bots.connection.event_loop import run_loop

class Garbage:
    def __init__(self):
        self.itself, self.process = self, os.getpid()

    def __del__(self):
        os.write(2, b"here " if os.getpid() == self.process else b"in the child ")

# Allocate so many objects in the child that a collection would begin.
os.register_at_fork(after_in_child=lambda: [[] for _ in range(300_000)])

async def main():
    gc.set_threshold(200_000)
    Garbage()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    assert await child.wait() == 0
    assert gc.isenabled()
    gc.collect()

run_loop(main())
"""


def test_child_does_not_collect_the_garbage_of_its_parent() -> None:
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment(), capture_output=True, text=True, timeout=100, check=False
    )
    assert (process.returncode, process.stderr) == (0, "here ")
