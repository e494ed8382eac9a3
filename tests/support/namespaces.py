"""Network namespaces that act as further hosts, each with a pair of virtual interfaces. They need root."""

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
    """A host with the address `there`. `here` is the address of this machine on their common link."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.own_address, self.other_address = (f"10.{200 + number % 50}.{os.getpid() % 250}.{end}" for end in (1, 2))
        self._end = f"{name}a"[:15]  # the longest name of an interface in Linux

    def connect(self) -> None:
        """Create the namespace and the link. Raises CalledProcessError."""
        other = f"{self.name}b"[:15]
        _ip("netns", "add", self.name)
        _ip("link", "add", self._end, "type", "veth", "peer", "name", other)
        _ip("link", "set", other, "netns", self.name)
        _ip("addr", "add", f"{self.own_address}/30", "dev", self._end)
        _ip("link", "set", self._end, "up")
        for words in (("addr", "add", f"{self.other_address}/30", "dev", other), ("link", "set", other, "up")):
            _ip("-n", self.name, *words)
        _ip("-n", self.name, "link", "set", "lo", "up")

    def cut(self) -> None:
        """Take the link down: packets are lost without an error at either end."""
        _ip("link", "set", self._end, "down")

    def restore(self) -> None:
        """Take the link up again."""
        _ip("link", "set", self._end, "up")

    def remove(self) -> None:
        """Remove the link and the namespace."""
        subprocess.run(["ip", "link", "del", self._end], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)


@contextmanager
def another_host() -> Iterator[Host]:
    """Run a second host on this machine. Without the permission for it, skip the test; the run reports that."""
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
