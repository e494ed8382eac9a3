"""Scratch folders of children: which process owns them, and how they are removed with any contents."""

import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import count

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OwnedFolder:
    """A temporary folder that this process owns by a file lock, which ends with the process.

    The constructor first removes folders of the same prefix and user whose owner is gone, e.g. killed.
    """

    def __init__(self, prefix: str) -> None:
        for name in os.listdir(tempfile.gettempdir()):
            folder = os.path.join(tempfile.gettempdir(), name)
            if name.startswith(prefix) and (owner := _own(folder)) is not None:
                remove_tree(folder)
                os.close(owner)
        owner = None
        while owner is None:  # Another process can mistake the new folder for one whose owner has ended.
            self.path = tempfile.mkdtemp(prefix=prefix)
            owner = _own(self.path)
        self._owner = owner

    def close(self) -> None:
        """Remove the folder with its contents. A second call does nothing."""
        if self._owner >= 0:
            remove_tree(self.path)
            os.close(self._owner)
            self._owner = -1


def _own(folder: str) -> int | None:
    """Return a descriptor that owns the folder until it is closed; None if the folder is gone or owned."""
    with suppress(OSError):
        owner = os.open(folder, _FOLDER)
        with suppress(OSError):
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(owner).st_uid == os.geteuid() and os.path.samestat(os.fstat(owner), os.stat(folder)):
                return owner
        os.close(owner)
    return None


def remove_tree(folder: str) -> None:
    """Remove a folder as far as possible, even with closed folders in it, or nested thousands deep.

    Each subfolder is moved to the top before it is read, so that paths stay short and nothing recurses.
    """
    with suppress(OSError):
        top = os.open(folder, _FOLDER)
        try:
            prefix = secrets.token_hex(8)
            names = (f"{prefix}-{number}" for number in count())
            lifted = _clear(top, top, names)
            while lifted:
                lifted += _clear_and_remove(lifted.pop(), top, names)
        finally:
            os.close(top)
        os.rmdir(folder)


def _clear_and_remove(name: str, top: int, names: Iterator[str]) -> list[str]:
    """Clear a subfolder of the top folder and remove it. Return the new names of its own subfolders."""
    lifted: list[str] = []
    with suppress(OSError):
        place = os.open(name, _FOLDER, dir_fd=top)
        try:
            lifted = _clear(place, top, names)
        finally:
            os.close(place)
        os.rmdir(name, dir_fd=top)
    return lifted


def _clear(place: int, top: int, names: Iterator[str]) -> list[str]:
    """Remove the files of a folder and move its subfolders to the top. Return their new names."""
    lifted = []
    with os.scandir(place) as entries:
        listed = list(entries)
    for entry in listed:
        with suppress(OSError, NotImplementedError):  # some C libraries cannot change a mode without following links
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=place)
                continue
            os.chmod(entry.name, 0o700, dir_fd=place, follow_symlinks=False)
            name = next(names)
            os.rename(entry.name, name, src_dir_fd=place, dst_dir_fd=top)
            lifted.append(name)
    return lifted


def scratch_of(folder: str, number: int) -> str:
    """Return the scratch folder of the child with this number."""
    return os.path.join(folder, str(number))
