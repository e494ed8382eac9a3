"""What a process that plays one bot sets up first. Nothing here imports grpc."""

import ctypes
import gc
import os
import signal
import sys

PARENT_VARIABLE = "NOUGHTS_PARENT"
"""Process ID of whoever started this process."""

_SET_PARENT_DEATH_SIGNAL = 1


def tune_collector() -> None:
    """Lets the cycle collector look less often: a frame brings thousands of objects, and none is part of a cycle."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def die_with_parent() -> None:
    """Asks Linux to end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.environ.get(PARENT_VARIABLE, str(os.getppid())) != str(os.getppid()):
        sys.exit("the parent has gone already")
