"""The connections of the gRPC server, as sockets of this process: gRPC can neither reset a call nor limit idle ones.

Only the operating system knows which sockets they are, so this module looks at all sockets of the process, in a thread.
"""

import asyncio
import errno
import os
import socket
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import unquote

import structlog

from noughts_proto.callers import caller_network
from noughts_server.core.limits import Limits

logger = structlog.get_logger("noughts.grpc")

_FILES = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
_COUNT_SECONDS = 0.5
"""How often connections are counted."""
_TOGETHER_SECONDS = 0.1
"""How long further resets wait after one, because a look at all sockets serves many."""
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

    def __init__(self, limits: Limits, busy: Callable[[], Collection[Peer]], proxies: Collection[str] = ()) -> None:
        """`busy` returns the peers with a call; `proxies` have no limit."""
        self._most = limits.address_connections
        self._room = round(limits.server_connections * _CROWDED)
        self._busy = busy
        self._proxies = frozenset(proxies)
        self._doomed: set[Peer] = set()
        self._wanted = asyncio.Event()

    def reset(self, peer: Peer) -> None:
        """Have the connection closed, with all its calls."""
        self._doomed.add(peer)
        self._wanted.set()

    async def run(self, port: int) -> None:
        """Reset and close connections of the server that listens on this port, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_COUNT_SECONDS):
                    await self._wanted.wait()
            self._wanted.clear()
            doomed, self._doomed = self._doomed, set()
            busy = frozenset(self._busy())
            try:
                if doomed or len(os.listdir(_FILES)) - len(busy) > min(self._most, self._room):
                    await asyncio.to_thread(self._close, port, doomed, busy)
                    await asyncio.sleep(_TOGETHER_SECONDS)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                self._doomed |= doomed  # the process can open no file: they are closed at the next look
                await asyncio.sleep(_COUNT_SECONDS)

    def _close(self, port: int, doomed: set[Peer], busy: frozenset[Peer]) -> None:
        peers: dict[str, list[Peer]] = defaultdict(list)
        for peer, connection in self._sockets(port):
            if peer in doomed:
                _shut(connection)
            elif peer.host not in self._proxies:
                peers[caller_network(peer.host)].append(peer)
        if excess := _excess(peers, busy, self._most, self._room):
            for peer, connection in self._sockets(port):
                if peer in excess:
                    _shut(connection)
            logger.warning("idle_connections_closed", connections=len(excess))

    def _sockets(self, port: int) -> Iterator[tuple[Peer, socket.socket]]:
        """Yield the peer of each connection, and a socket that is closed afterwards."""
        for number in os.listdir(_FILES):
            with suppress(OSError, ValueError):
                if not _is_socket(int(number)):
                    continue
                # A copy of the descriptor: the number itself can mean another connection a moment later.
                copy = os.dup(int(number))
                if not _is_socket(copy):
                    # It became a file between the two lines. The copy stays open, because closing any descriptor of a
                    # file ends all locks of this process on it. Without SQLite's locks, another process would cut the
                    # database's shared memory, and SIGBUS would end this one.
                    continue
                with socket.socket(fileno=copy) as connection:
                    over_tcp = connection.family in (socket.AF_INET, socket.AF_INET6)
                    if over_tcp and connection.getsockname()[1] == port:
                        host, other_port = connection.getpeername()[:2]
                        yield Peer(_plain(host), other_port), connection


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
