"""Set-up of a process that plays bots or accepts their connections. This module does not import grpc."""

import gc
import resource
from contextlib import suppress

_MOST_FILES = 65_536
"""The most open files that a program allows itself. Each connection needs one."""
# The least and greatest number of new objects after which the cycle collector runs.
_FEWEST_YOUNG = 6_250
_MOST_YOUNG = 100_000


def tune_collector() -> None:
    """Adapt the frequency of the cycle collector to the number of cycles that it finds.

    A frame creates thousands of objects without cycles, but a refused call leaves hundreds with cycles. Collecting
    100,000 objects at once would stop the process for 150 ms.
    """
    if _adapt_collector in gc.callbacks:
        return  # Another bot or server of this process has called this.
    # The process has just started, so there is almost nothing to collect.
    gc.freeze()
    gc.set_threshold(_FEWEST_YOUNG, 20, 20)
    gc.callbacks.append(_adapt_collector)


def _adapt_collector(phase: str, info: dict[str, int]) -> None:
    """After each collection, run the next one earlier if it found many cycles, later if it found few."""
    if phase != "stop":
        return
    young, *older = gc.get_threshold()
    if info["collected"] * 4 > young:
        young = max(young // 2, _FEWEST_YOUNG)
    elif info["collected"] * 16 < young:
        young = min(young * 2, _MOST_YOUNG)
    gc.set_threshold(young, *older)


def allow_many_files() -> None:
    """Raise the limit of open files, which is usually 1,024, as far as this user can, but at most to 65,536.

    A connection needs one file and a child player three. With the usual limit, a thousand connections would prevent new
    children.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with suppress(ValueError, OSError):  # macOS has another limit, which this call does not report
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
