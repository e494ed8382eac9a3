"""A disk of its own for each child: its scratch folder is a file system in memory whose size the kernel limits.

So a child can fill only its own disk, also with files that it has deleted and still holds open or in memory, and the
disk vanishes with the child. The mounts are in a mount namespace that only the zygote and its children see. Root needs
the capability to mount; an ordinary user gets it in a user namespace, if the machine allows these.
"""

import os
from contextlib import suppress
from pathlib import Path

from noughts_referee.children import kernel
from noughts_referee.children.sandbox import Limits

_HEADROOM = 16
"""A disk is this fraction larger than its limit, so that `watch` can tell why a child that filled it must end."""
_CANNOT, _CAN = 1, 0


class ScratchDisks:
    """The disks of the children of a zygote. Made by `scratch_disks`."""

    def __init__(self, limits: Limits, *, in_user_namespace: bool) -> None:
        self.in_user_namespace = in_user_namespace
        """Whether this process has a user namespace for them, in which Linux counts only its own tasks."""
        size = limits.scratch_bytes + limits.scratch_bytes // _HEADROOM
        files = limits.scratch_files + limits.scratch_files // _HEADROOM + _HEADROOM
        self._options = f"size={size},nr_inodes={files},mode=0700"
        self._mounted: set[str] = set()

    def mount(self, folder: str, user: int | None) -> None:
        """Make an existing folder the disk of a user; None: of this one. Raises OSError."""
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
    if not _succeeds_elsewhere(folder, limits):
        return None
    return _entered(limits)


def used_on(disk: str) -> tuple[int, int]:
    """Return the bytes and the number of files on a disk, including deleted files that are in use."""
    with suppress(OSError):
        disk_state = os.statvfs(disk)
        return (
            disk_state.f_blocks - disk_state.f_bfree
        ) * disk_state.f_frsize, disk_state.f_files - disk_state.f_ffree - 1
    return 0, 0


def _entered(limits: Limits) -> ScratchDisks:
    user, group = os.getuid(), os.getgid()
    if kernel.may_mount():
        kernel.leave_mounts()
        return ScratchDisks(limits, in_user_namespace=False)
    # This user stays itself in its user namespace. No other user exists there.
    kernel.leave_mounts(and_user=True)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return ScratchDisks(limits, in_user_namespace=True)


def _succeeds_elsewhere(folder: str, limits: Limits) -> bool:
    """Return whether a child can do all of it: a process cannot leave a namespace that turns out to be useless."""
    if not kernel.may_mount() and kernel.has_capabilities():
        return False  # they would be lost in a user namespace
    pid = os.fork()
    if pid == 0:
        code = _CANNOT
        try:
            _entered(limits).mount(folder, None)
            code = _CAN
        except OSError:
            pass
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == _CAN
