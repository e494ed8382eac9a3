"""Further hosts on this machine: network namespaces, each with a virtual cable. They need the rights of root."""

import ctypes
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.tools import NOT_TRIED

_NETWORK = 0x40000000  # CLONE_NEWNET
_numbers = itertools.count()


class Host:
    """A host with its own address `there`; `here` is this machine's address at the other end of its cable."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.here, self.there = (f"10.{200 + number % 50}.{os.getpid() % 250}.{end}" for end in (1, 2))
        self._end = f"{name}a"[:15]

    def connect(self) -> None:
        """Create the namespace and lay the cable. Raises CalledProcessError."""
        other = f"{self.name}b"[:15]
        _ip("netns", "add", self.name)
        _ip("link", "add", self._end, "type", "veth", "peer", "name", other)
        _ip("link", "set", other, "netns", self.name)
        _ip("addr", "add", f"{self.here}/30", "dev", self._end)
        _ip("link", "set", self._end, "up")
        for words in (("addr", "add", f"{self.there}/30", "dev", other), ("link", "set", other, "up")):
            _ip("-n", self.name, *words)
        _ip("-n", self.name, "link", "set", "lo", "up")

    def cut(self) -> None:
        """Pull the cable: packets are lost without an error at either end."""
        _ip("link", "set", self._end, "down")

    def restore(self) -> None:
        """Plug the cable in again."""
        _ip("link", "set", self._end, "up")

    def remove(self) -> None:
        """Remove the cable and the namespace."""
        subprocess.run(["ip", "link", "del", self._end], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)


@contextmanager
def another_host() -> Iterator[Host]:
    """A second host on this machine; without the rights for one, the test is skipped, and the run says so."""
    number = next(_numbers)
    host = Host(f"n{os.getpid()}x{number}", number)
    if shutil.which("ip") is None:
        pytest.skip(f"{NOT_TRIED}several hosts; no iproute2 here")
    try:
        try:
            host.connect()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"{NOT_TRIED}several hosts; ip: {error.stderr.strip()}")
        yield host
    finally:
        host.remove()


def enter(name: str) -> None:
    """Move this process to the host of this name."""
    with open(f"/run/netns/{name}", "rb") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NETWORK):
            raise OSError(ctypes.get_errno(), f"setns {name}")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, check=True, text=True, timeout=20)
