"""A file that one process may write."""

import os
from contextlib import suppress
from pathlib import Path

from noughts_bots.errors import TableError


class LockedFile:
    """Holds a file against other writers, until it is released or the process ends, however that happens.

    What is locked is `.NAME.lock` beside it, since each save replaces the file itself. A kill leaves it there, which
    hinders nobody.

    Raises:
        TableError: another process holds the file, or it is a folder, a device or the like, which no save may replace.
        OSError: there can be no file beside it.
    """

    def __init__(self, file: Path) -> None:
        if file.exists() and not file.is_file():
            advice = "name a file: each save puts a new one in its place"
            raise TableError(f"table {file}", "no file, but a folder, a device or the like", "a file", advice)
        target = Path(os.path.realpath(file))
        self._file = file
        self._path = target.with_name(f".{target.name}.lock")
        descriptor = self._open()
        while not self._is_there(descriptor):
            # Whoever held it has released it, and removed it, between our opening and our locking it.
            os.close(descriptor)
            descriptor = self._open()
        self._descriptor = descriptor

    def _open(self) -> int:
        import fcntl  # here: bots that write no file play where there is none, too

        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            error.filename = str(self._file)
            raise
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            advice = "wait until the other has ended, or give each learner a file of its own"
            raise TableError(
                f"table {self._file}", "a file that another is writing", "one that nobody writes", advice
            ) from None
        return descriptor

    def _is_there(self, descriptor: int) -> bool:
        """Whether what was locked is what others would find."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Lets others write."""
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)
