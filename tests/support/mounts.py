"""Small and read-only disks in a mount namespace that only one test sees."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.tools import NOT_TRIED


class Disk:
    """A mounted disk that only processes in the namespace of `keeper` see; see `enter`."""

    def __init__(self, folder: Path, keeper: int) -> None:
        self.folder = folder
        """The path of the disk for those processes."""
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        self.enter = ("nsenter", "--target", str(keeper), *user, "--mount", "--")
        """Words to put before a command, so that it runs in the namespace."""
        self.own_path = Path(f"/proc/{keeper}/root{folder}")
        """The path of the disk for the test itself."""

    def remount(self, options: str) -> None:
        """Mount the disk again with these options, e.g. `ro` or another `size`."""
        subprocess.run([*self.enter, "mount", "-o", f"remount,{options}", self.folder], check=True)


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Disk]:
    """A disk in memory at `folder`, e.g. with the options `size=1m`; if it cannot be mounted, the test is skipped."""
    folder.mkdir()
    unshare = ("unshare", "--mount", "--propagation", "private", *(() if os.geteuid() == 0 else ("--map-root-user",)))
    script = f'mount -t tmpfs -o "{options}" none "{folder}" && echo mounted && exec cat'
    try:
        keeper = subprocess.Popen(
            [*unshare, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError as error:
        pytest.skip(f"{NOT_TRIED}full and read-only disks; no {error.filename} here")
    with keeper:
        assert keeper.stdout is not None
        assert keeper.stderr is not None
        if not keeper.stdout.readline():
            pytest.skip(f"{NOT_TRIED}full and read-only disks; mount: {keeper.stderr.read().strip()}")
        try:
            yield Disk(folder, keeper.pid)
        finally:
            keeper.kill()
