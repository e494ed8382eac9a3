"""What a process that plays bots, or lets them in, sets up first. Nothing here imports grpc."""

import ctypes
import gc
import os
import resource
import signal
import sys
from contextlib import suppress

PARENT_VARIABLE = "NOUGHTS_PARENT"
"""Process ID of whoever started this process."""

_SET_PARENT_DEATH_SIGNAL = 1
_MOST_FILES = 65_536
_FEWEST_YOUNG, _MOST_YOUNG = 6_250, 100_000
"""New objects after which the cycle collector looks, at least and at most."""


def tune_collector() -> None:
    """Lets the cycle collector look as often as there are cycles to be found.

    A frame brings thousands of objects, and none is part of a cycle. But a refused call leaves hundreds that are, and
    who collects 100,000 objects at once stops everybody for 150 ms.
    """
    if _adapt_collector in gc.callbacks:
        return  # by another server of this process
    # The process is young: there is next to nothing to collect.
    gc.freeze()
    gc.set_threshold(_FEWEST_YOUNG, 20, 20)
    gc.callbacks.append(_adapt_collector)


def _adapt_collector(phase: str, info: dict[str, int]) -> None:
    if phase != "stop":
        return
    young, *older = gc.get_threshold()
    if info["collected"] * 4 > young:
        young = max(young // 2, _FEWEST_YOUNG)
    elif info["collected"] * 16 < young:
        young = min(young * 2, _MOST_YOUNG)
    gc.set_threshold(young, *older)


def allow_many_files() -> None:
    """Raises the limit of open files as far as this user may, at most to 65,536; it is 1,024 in most places.

    A connection is one and a child player three of them, and whoever dials in a thousand times must not keep others
    from being started.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # macOS has another limit, which this one does not tell
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def ask_to_die_with_parent() -> None:
    """Asks Linux to end this process when its parent ends, however that happens; one that has gone goes unnoticed."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def die_with_parent() -> None:
    """Ends this process when its parent ends, or has ended already."""
    ask_to_die_with_parent()
    if os.environ.get(PARENT_VARIABLE, str(os.getppid())) != str(os.getppid()):
        sys.exit("the parent has gone already")
