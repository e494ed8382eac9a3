"""Disks of a test's own: small, read-only, in a mount namespace that nobody else sees."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.tools import NOT_TRIED


class Disk:
    """A mount that only this test's processes see."""

    def __init__(self, folder: Path, keeper: int) -> None:
        self.folder = folder
        """The path at which those processes find it."""
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        self.enter = ("nsenter", "--target", str(keeper), *user, "--mount", "--")
        """Before a command: it sees the disk."""
        self.here = Path(f"/proc/{keeper}/root{folder}")
        """The same folder for the test itself."""

    def remount(self, options: str) -> None:
        """Changes its size, or whether it may be written."""
        subprocess.run([*self.enter, "mount", "-o", f"remount,{options}", self.folder], check=True)


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Disk]:
    """A disk in memory at `folder`, e.g. with the options `size=1m`; without it the test is not tried."""
    folder.mkdir()
    alone = ("unshare", "--mount", "--propagation", "private", *(() if os.geteuid() == 0 else ("--map-root-user",)))
    script = f'mount -t tmpfs -o "{options}" none "{folder}" && echo mounted && exec cat'
    try:
        keeper = subprocess.Popen(
            [*alone, "sh", "-c", script],
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
