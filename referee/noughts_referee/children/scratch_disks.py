"""A disk of its own for each child: its scratch folder is a file system in memory whose size the kernel limits.

A child can therefore fill only its own disk. Deleted files that it still holds open, or has mapped into its memory,
count too. The disk vanishes with the child. The mounts are in a mount namespace that only the zygote and its children
see. Root needs the capability to mount; an ordinary user gets it in a user namespace, if the machine allows these.
"""

import os
from contextlib import suppress
from pathlib import Path

from noughts_referee.children import kernel
from noughts_referee.children.sandbox import Limits

_HEADROOM_DIVISOR = 16
"""A disk is a sixteenth larger than the limit, so that a child can exceed the limit and `watch` reports it.

On a smaller disk, only a write of the child would fail.
"""
_MORE_FILES = 16
"""Further files that a disk can hold above its limit, so that a small limit works, too."""
_CAN = 0
_CANNOT = 1
"""Exit codes of the process that tries to mount a disk."""


class ScratchDisks:
    """The disks of the children of a zygote. Made by `scratch_disks`."""

    def __init__(self, limits: Limits, *, in_user_namespace: bool) -> None:
        self.in_user_namespace = in_user_namespace
        """Whether this process has a user namespace of its own. Linux counts the tasks of each one separately."""
        size = limits.scratch_bytes + limits.scratch_bytes // _HEADROOM_DIVISOR
        files = limits.scratch_files + limits.scratch_files // _HEADROOM_DIVISOR + _MORE_FILES
        self._options = f"size={size},nr_inodes={files},mode=0700"
        self._mounted: set[str] = set()

    def mount(self, folder: str, user: int | None) -> None:
        """Mount a disk of this user (None: the user of this process) at an existing folder. Raises OSError."""
        owner = "" if user is None else f",uid={user},gid={user}"
        kernel.mount_in_memory(folder, self._options + owner)
        self._mounted.add(folder)

    def unmount(self, folder: str) -> None:
        """Drop the disk with its content, also if a process still uses it."""
        self._mounted.discard(folder)
        with suppress(OSError):
            kernel.unmount(folder)

    def close(self) -> None:
        for folder in tuple(self._mounted):
            self.unmount(folder)


def scratch_disks(folder: str, limits: Limits) -> ScratchDisks | None:
    """Enter a mount namespace in which this process can mount disks below the folder. None if that is impossible."""
    if not _succeeds_in_a_child(folder, limits):
        return None
    return _enter(limits)


def disk_usage(disk: str) -> tuple[int, int]:
    """Return the bytes and the number of files on a disk, including deleted files that are in use."""
    with suppress(OSError):
        state = os.statvfs(disk)
        size = (state.f_blocks - state.f_bfree) * state.f_frsize
        files = state.f_files - state.f_ffree - 1  # without the root folder
        return size, files
    return 0, 0


def _enter(limits: Limits) -> ScratchDisks:
    """Enter the namespaces. Raises OSError."""
    user, group = os.getuid(), os.getgid()
    if kernel.may_mount():
        kernel.leave_mounts()
        return ScratchDisks(limits, in_user_namespace=False)
    # The user keeps its ID in the user namespace. No other user exists there.
    kernel.leave_mounts(and_user=True)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return ScratchDisks(limits, in_user_namespace=True)


def _succeeds_in_a_child(folder: str, limits: Limits) -> bool:
    """Return whether a child process can mount a disk. It tries first, because a namespace cannot be left again."""
    if not kernel.may_mount() and kernel.has_capabilities():
        return False  # a user namespace would drop the other capabilities
    pid = os.fork()
    if pid == 0:
        code = _CANNOT
        try:
            _enter(limits).mount(folder, None)
            code = _CAN
        except OSError:
            pass
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == _CAN
