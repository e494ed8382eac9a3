"""A file that one process may write."""

import fcntl
import os
from pathlib import Path

from noughts_bots.errors import TableError


class LockedFile:
    """Holds a file against other writers, until it is released or the process ends, however that happens.

    What is locked is `.NAME.lock` beside it, since the file itself is replaced by each save; it stays there, empty.

    Raises:
        TableError: another process holds the file.
        OSError: there can be no file beside it.
    """

    def __init__(self, file: Path) -> None:
        target = Path(os.path.realpath(file))
        self._descriptor = os.open(target.with_name(f".{target.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            advice = "wait until the other has ended, or give each learner a file of its own"
            raise TableError(f"table {file}", "a file that another is writing", "one that nobody writes", advice) from None

    def release(self) -> None:
        """Lets others write."""
        os.close(self._descriptor)
