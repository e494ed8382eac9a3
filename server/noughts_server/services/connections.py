"""The connections of the gRPC server, as sockets of this process: gRPC can neither reset a call nor limit idle ones.

Only the operating system knows which sockets they are, so this module looks at all sockets of the process, in a thread.
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
_TOGETHER_SECONDS = 0.1
"""Seconds that further resets wait after one, because a look at all sockets serves many."""
_MOST_FILES = 65_536
"""Limit of the files that a server opens; see `allow_many_files`."""
_CROWDED = 0.8
"""If more than this share of all connections is open, those of the addresses with the most are closed first."""


class Peer(NamedTuple):
    """The other end of a connection."""

    host: str
    port: int


def peer_of(name: str) -> Peer:
    """Return the peer that gRPC calls `ipv4:HOST:PORT` or `ipv6:[HOST]:PORT`; without a port for any other name."""
    kind, _, rest = name.partition(":")
    host, _, port = unquote(rest).rpartition(":")
    return Peer(host.strip("[]"), int(port)) if kind in ("ipv4", "ipv6") and port.isdecimal() else Peer(name, 0)


class Connections:
    """Resets connections, and closes idle ones of addresses that have too many."""

    def __init__(
        self,
        limits: Limits,
        busy: Callable[[], Collection[Peer]],
        lack_files: Callable[[], bool],
        proxies: Collection[str] = (),
    ) -> None:
        """`busy` returns the peers with a call, `lack_files` whether this process can open few more files.

        `proxies` have no limit.
        """
        self._most = limits.address_connections
        self._room = round(limits.server_connections * _CROWDED)
        self._busy = busy
        self._lack_files = lack_files
        self._proxies = frozenset(proxies)
        self._doomed: set[Peer] = set()
        self._wanted = asyncio.Event()
        self._nothing = -1
        """A descriptor of a file without content."""
        self._copy = -1
        """The reserve: a descriptor that becomes a copy of each socket in turn, which needs no free descriptor."""

    def reset(self, peer: Peer) -> None:
        """Have the connection closed, with all its calls."""
        self._doomed.add(peer)
        self._wanted.set()

    async def run(self, port: int) -> None:
        """Reset and close connections of the server that listens on this port, until cancelled."""
        self._nothing, self._copy = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(2))
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_COUNT_SECONDS):
                        await self._wanted.wait()
                self._wanted.clear()
                doomed, self._doomed = self._doomed, set()
                busy = frozenset(self._busy())
                exhausted = self._lack_files()
                if doomed or exhausted or len(_opened()) - len(busy) > min(self._most, self._room):
                    await self._closed(partial(self._close, port, doomed, busy, exhausted=exhausted))
                    await asyncio.sleep(_TOGETHER_SECONDS)
        finally:
            for number in (self._nothing, self._copy):
                with suppress(OSError):
                    os.close(number)

    @staticmethod
    async def _closed(close: Callable[[], None]) -> None:
        """Run `close` in a thread. If this is cancelled, wait for the thread too, because it uses the descriptors."""
        closing = asyncio.get_running_loop().run_in_executor(None, close)
        try:
            await asyncio.shield(closing)
        finally:
            await asyncio.wait([closing])

    def _close(self, port: int, doomed: set[Peer], busy: frozenset[Peer], *, exhausted: bool) -> None:
        """Reset connections and close idle ones; if this process can open few more files, close some in any case."""
        peers: dict[str, list[Peer]] = defaultdict(list)
        for peer, connection in self._sockets(port):
            if peer in doomed:
                _shut(connection)
            elif peer.host not in self._proxies:
                peers[caller_network(peer.host)].append(peer)
        room = round(_CROWDED * sum(map(len, peers.values()))) if exhausted else self._room
        if excess := _excess(peers, busy, self._most, min(room, self._room)):
            for peer, connection in self._sockets(port):
                if peer in excess:
                    _shut(connection)
            logger.warning("idle_connections_closed", connections=len(excess))

    def _sockets(self, port: int) -> Iterator[tuple[Peer, socket.socket]]:
        """Yield the peer of each connection, and a socket that is valid until the next one."""
        for number in _opened():
            with suppress(OSError, ValueError):
                if self._copy < 0:
                    self._copy = os.dup(self._nothing)
                if number in (self._nothing, self._copy) or not _is_socket(number):
                    continue
                # A copy of the descriptor: the number itself can mean another connection a moment later.
                os.dup2(number, self._copy, inheritable=False)
                if not _is_socket(self._copy):
                    # It became a file between the two lines. The copy stays open, because closing any descriptor of a
                    # file ends all locks of this process on it. Without SQLite's locks, another process would cut the
                    # database's shared memory, and SIGBUS would end this one.
                    self._copy = -1
                    continue
                connection = socket.socket(fileno=self._copy)
                try:
                    over_tcp = connection.family in (socket.AF_INET, socket.AF_INET6)
                    if over_tcp and connection.getsockname()[1] == port:
                        host, other_port = connection.getpeername()[:2]
                        yield Peer(_plain(host), other_port), connection
                finally:
                    connection.detach()
                    os.dup2(self._nothing, self._copy, inheritable=False)


def _opened() -> Sequence[int]:
    """Return the descriptors of this process; all that there can be if it can open no more to look."""
    try:
        return [int(name) for name in os.listdir(_FILES)]
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return range(_MOST_FILES)
        raise


def _is_socket(number: int) -> bool:
    return stat.S_ISSOCK(os.fstat(number).st_mode)


def _excess(all_peers: dict[str, list[Peer]], busy: frozenset[Peer], most: int, room: int) -> set[Peer]:
    """Return the idle connections to close: no address may have more than `most`, nor all together more than `room`."""
    while most > 1 and sum(min(len(peers), most) for peers in all_peers.values()) > room:
        most //= 2
    excess: set[Peer] = set()
    for peers in all_peers.values():
        idle = [peer for peer in peers if peer not in busy]
        excess.update(idle[: max(0, len(peers) - most)])
    return excess


def _plain(host: str) -> str:
    """Return the address as gRPC writes it: IPv4 on a socket for both versions is IPv4."""
    address = ip_address(host.partition("%")[0])
    return str(address.ipv4_mapped or host) if isinstance(address, IPv6Address) else host


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
