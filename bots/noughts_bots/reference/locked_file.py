"""A file that only one process can write."""

import os
from contextlib import suppress
from pathlib import Path

from noughts_bots.sdk.errors import TableError


class LockedFile:
    """Locks a file against other writers until it is released or the process ends in any way.

    The lock is on `.NAME.lock` in the same folder, because each save replaces the file itself. A killed process leaves
    the lock file behind, but not the lock.

    Raises:
        TableError: another process has the lock, or a save cannot replace the path (a folder, a device or similar).
        OSError: the lock file cannot be created.
    """

    def __init__(self, file: Path) -> None:
        if file.exists() and not file.is_file():
            advice = "name a file: each save puts a new one in its place"
            raise TableError(f"table {file}", "a folder, a device or similar", "a file", advice)
        target = Path(os.path.realpath(file))
        self._file = file  # for messages
        self._path = target.with_name(f".{target.name}.lock")  # the lock file
        descriptor = self._open()
        while not self._is_there(descriptor):
            # The previous owner removed the lock file after this process had opened it.
            os.close(descriptor)
            descriptor = self._open()
        self._descriptor = descriptor

    def _open(self) -> int:
        import fcntl  # here, because bots that write no file also run on systems without it

        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            error.filename = str(self._file)
            raise
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            advice = "wait until the other process has ended, or give each learner its own file"
            raise TableError(
                f"table {self._file}", "a file that another process is writing", "a file that is not in use", advice
            ) from None
        return descriptor

    def _is_there(self, descriptor: int) -> bool:
        """Return whether the locked file is still the one at the path."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)
