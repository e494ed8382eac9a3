"""Small disks, where this machine allows mounts."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoMounts(Exception):
    """This machine does not let us mount; the text says how it refused."""


@contextmanager
def small_disk(folder: Path, mebibytes: int, files: int = 0) -> Iterator[Path]:
    """A disk of this size at `folder`, which is made; 0 files: as many as there is room for. Raises NoMounts."""
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,nr_inodes={files}", "tmpfs", str(folder))
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoMounts(str(error)) from error
    if done.returncode:
        raise NoMounts(done.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)
