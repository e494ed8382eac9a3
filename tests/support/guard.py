"""A check that a test starts processes only if it is marked for it, so that quick tests stay quick."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_EVENTS_OF_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
_allowed = True


def _refuse(event: str, arguments: object) -> None:
    if event in _EVENTS_OF_STARTS and not _allowed:
        raise RuntimeError("this test starts a process: mark it `processes`, or move it to a folder of such tests")


# Python cannot remove an audit hook. It costs a microsecond per event.
sys.addaudithook(_refuse)


@contextmanager
def processes_allowed(allowed: bool) -> Iterator[None]:
    """Allow or forbid that the block starts processes."""
    global _allowed
    previous = _allowed
    _allowed = allowed
    try:
        yield
    finally:
        _allowed = previous
