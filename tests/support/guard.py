"""Keeps quick tests quick: those that are not marked for it cannot start a process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
_allowed = True


def _refuse(event: str, arguments: object) -> None:
    if event in _STARTS and not _allowed:
        raise RuntimeError("this test starts a process: mark it `processes`, or move it to a folder of such tests")


# There is no way to take a hook away again; it costs a microsecond for each event that Python tells of.
sys.addaudithook(_refuse)


@contextmanager
def processes_allowed(allowed: bool) -> Iterator[None]:
    """May a process be started in the block?"""
    global _allowed
    before, _allowed = _allowed, allowed
    try:
        yield
    finally:
        _allowed = before
