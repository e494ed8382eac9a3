"""Network namespaces that act as further hosts and as the network to them. They need root.

The interfaces of this machine stay as they are: Chromium ends all its requests when one appears or goes, and other
tests use it at the same time.
"""

import ctypes
import itertools
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pytest

from tests.support.tools import NOT_TRIED

_NETWORK = 0x40000000  # CLONE_NEWNET
_CABLE = "cable"  # the name of the interface at both of its ends
_numbers = itertools.count()


class Host:
    """A host and, at the other end of its cable, a gate: programs of this machine can listen there for the host.

    The gate has the address `gate_address` on their common link. The host has no other way out.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate_address = "10.200.0.1"
        self._gate = f"{name}g"

    def connect(self) -> None:
        """Create the host, the gate and the cable between them. Raises CalledProcessError."""
        for namespace in (self.name, self._gate):
            _ip("netns", "add", namespace)
            _ip("-n", namespace, "link", "set", "lo", "up")
        _ip("-n", self._gate, "link", "add", _CABLE, "type", "veth", "peer", "name", _CABLE, "netns", self.name)
        for namespace, address in ((self._gate, self.gate_address), (self.name, "10.200.0.2")):
            _ip("-n", namespace, "addr", "add", f"{address}/30", "dev", _CABLE)
            _ip("-n", namespace, "link", "set", _CABLE, "up")

    def listener(self) -> socket.socket:
        """Return a socket that waits at a free port of the gate and can be used from any namespace."""
        with open("/proc/thread-self/ns/net", "rb") as own:
            enter(self._gate)
            try:
                return socket.create_server((self.gate_address, 0))
            finally:
                _set_namespace(own)

    def cut(self) -> None:
        """Pull the cable: packets are lost without an error at either end."""
        _ip("-n", self._gate, "link", "set", _CABLE, "down")

    def restore(self) -> None:
        """Plug the cable in again."""
        _ip("-n", self._gate, "link", "set", _CABLE, "up")

    def remove(self) -> None:
        """Remove host, gate and cable."""
        for namespace in (self.name, self._gate):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)


@contextmanager
def another_host() -> Iterator[Host]:
    """Run a second host on this machine. Without the permission for it, skip the test; the run reports that."""
    host = Host(f"n{os.getpid()}x{next(_numbers)}")
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
    """Move this thread to the host of this name; in a new process, all that follows is there."""
    with open(f"/run/netns/{name}", "rb") as namespace:
        _set_namespace(namespace)


def _set_namespace(namespace: BinaryIO) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NETWORK):
        raise OSError(ctypes.get_errno(), f"setns {namespace.name}")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, check=True, text=True, timeout=20)
