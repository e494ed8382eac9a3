"""Reset connections of the gRPC server, and limit idle ones, which gRPC cannot do.

gRPC does not report which sockets belong to its connections, so this module looks at all sockets of the process, in a
thread.
"""

import asyncio
import errno
import os
import socket
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import unquote

import structlog

from noughts_proto.callers import caller_network
from noughts_server.core.limits import Limits

logger = structlog.get_logger("noughts.grpc")

_FILES = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
_COUNT_SECONDS = 0.5
"""Seconds between two counts of connections."""
_BATCH_SECONDS = 0.1
"""Seconds between two searches of all sockets. One search can reset many connections."""
_MOST_FILES = 65_536
"""Limit of the files that a server opens; see `allow_many_files`."""
_CROWDED = 0.8
"""If more than this share of all permitted connections is open, idle ones of the addresses with the most are closed."""


class Peer(NamedTuple):
    """The other end of a connection."""

    host: str
    port: int


def peer_of(name: str) -> Peer:
    """Return the peer that gRPC calls `ipv4:HOST:PORT` or `ipv6:[HOST]:PORT`; port 0 for any other name."""
    kind, _, address = name.partition(":")
    host, _, port = unquote(address).rpartition(":")
    return Peer(host.strip("[]"), int(port)) if kind in ("ipv4", "ipv6") and port.isdecimal() else Peer(name, 0)


class Connections:
    """Resets connections, and closes idle ones of addresses that have too many."""

    def __init__(
        self,
        limits: Limits,
        busy: Callable[[], Collection[Peer]],
        are_files_exhausted: Callable[[], bool],
        proxies: Collection[str] = (),
    ) -> None:
        """`busy` returns the peers with a running call. `are_files_exhausted` returns whether this process can open
        only few more files.

        Connections of `proxies` are not limited.
        """
        self._most_of_address = limits.address_connections
        self._most_in_all = round(limits.server_connections * _CROWDED)
        self._busy = busy
        self._are_files_exhausted = are_files_exhausted
        self._proxies = frozenset(proxies)
        self._peers_to_reset: set[Peer] = set()
        self._reset_requested = asyncio.Event()
        self._null_file = -1
        """A descriptor of the null device."""
        self._copy = -1
        """A reserved descriptor that becomes a copy of one socket after another, so that a search needs no new one."""

    def reset(self, peer: Peer) -> None:
        """Request that `run` closes the connection, which ends all its calls."""
        self._peers_to_reset.add(peer)
        self._reset_requested.set()

    async def run(self, port: int) -> None:
        """Reset and close connections of the server that listens on this port, until cancelled."""
        self._null_file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._copy = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_COUNT_SECONDS):
                        await self._reset_requested.wait()
                self._reset_requested.clear()
                peers_to_reset = self._peers_to_reset
                self._peers_to_reset = set()
                busy = frozenset(self._busy())
                files_exhausted = self._are_files_exhausted()
                # The number of open files is quick to count, and there are at most as many connections.
                idle_files = len(_open_descriptors()) - len(busy)
                if peers_to_reset or files_exhausted or idle_files > min(self._most_of_address, self._most_in_all):
                    close = partial(self._close, port, peers_to_reset, busy, files_exhausted=files_exhausted)
                    await self._run_in_thread(close)
                    await asyncio.sleep(_BATCH_SECONDS)
        finally:
            for number in (self._null_file, self._copy):
                with suppress(OSError):
                    os.close(number)

    @staticmethod
    async def _run_in_thread(close: Callable[[], None]) -> None:
        """Run `close` in a thread. If this is cancelled, wait for the thread too, because it uses the descriptors."""
        closing = asyncio.get_running_loop().run_in_executor(None, close)
        try:
            await asyncio.shield(closing)
        finally:
            await asyncio.wait([closing])

    def _close(self, port: int, peers_to_reset: set[Peer], busy: frozenset[Peer], *, files_exhausted: bool) -> None:
        """Reset connections and close idle ones that exceed a limit.

        If files are exhausted, the limit of all connections is a share of those that are open now.
        """
        peers: dict[str, list[Peer]] = defaultdict(list)
        for peer, connection in self._sockets(port):
            if peer in peers_to_reset:
                _shut_down(connection)
            elif peer.host not in self._proxies:
                peers[caller_network(peer.host)].append(peer)
        most_in_all = self._most_in_all
        if files_exhausted:
            most_in_all = min(most_in_all, round(_CROWDED * sum(map(len, peers.values()))))
        if excess := _excess(peers, busy, self._most_of_address, most_in_all):
            for peer, connection in self._sockets(port):
                if peer in excess:
                    _shut_down(connection)
            logger.warning("idle_connections_closed", connections=len(excess))

    def _sockets(self, port: int) -> Iterator[tuple[Peer, socket.socket]]:
        """Yield each connection's peer and its socket, which is valid until the next one is yielded."""
        for number in _open_descriptors():
            with suppress(OSError, ValueError):
                if self._copy < 0:
                    self._copy = os.dup(self._null_file)
                if number in (self._null_file, self._copy) or not _is_socket(number):
                    continue
                # A copy of the descriptor: the number itself can mean another connection a moment later.
                os.dup2(number, self._copy, inheritable=False)
                if not _is_socket(self._copy):
                    # `number` became a file since the check above. The copy stays open, because closing any descriptor
                    # of a file ends all locks of this process on it. Without SQLite's locks, another process would cut
                    # the database's shared memory, and SIGBUS would end this process.
                    self._copy = -1
                    continue
                connection = socket.socket(fileno=self._copy)
                try:
                    over_tcp = connection.family in (socket.AF_INET, socket.AF_INET6)
                    if over_tcp and connection.getsockname()[1] == port:
                        host, other_port = connection.getpeername()[:2]
                        yield Peer(_grpc_address(host), other_port), connection
                finally:
                    connection.detach()
                    os.dup2(self._null_file, self._copy, inheritable=False)


def _open_descriptors() -> Sequence[int]:
    """Return the open descriptors of this process.

    If no descriptor is left for listing the folder, return all possible numbers.
    """
    try:
        return [int(name) for name in os.listdir(_FILES)]
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return range(_MOST_FILES)
        raise


def _is_socket(number: int) -> bool:
    return stat.S_ISSOCK(os.fstat(number).st_mode)


def _excess(
    all_peers: dict[str, list[Peer]], busy: frozenset[Peer], most_of_address: int, most_in_all: int
) -> set[Peer]:
    """Return the idle connections to close so that the limits for one address and for all addresses hold.

    To meet the limit for all addresses, halve the limit for one address until it suffices.
    """
    most = most_of_address
    while most > 1 and sum(min(len(peers), most) for peers in all_peers.values()) > most_in_all:
        most //= 2
    excess: set[Peer] = set()
    for peers in all_peers.values():
        idle = [peer for peer in peers if peer not in busy]
        excess.update(idle[: max(0, len(peers) - most)])
    return excess


def _grpc_address(host: str) -> str:
    """Return the address as gRPC writes it: an IPv4 address that is mapped to IPv6 becomes plain IPv4."""
    address = ip_address(host.partition("%")[0])
    return str(address.ipv4_mapped or host) if isinstance(address, IPv6Address) else host


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
