"""Check the addresses of webhooks: the server sends requests only to public addresses of other machines."""

import asyncio
import socket
import threading
from collections import Counter
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

_NAT64 = IPv6Network("64:ff9b::/96")
_UNICAST = IPv6Network("2000::/3")
# The special-purpose registries of IANA. The module ipaddress knows them as of its own version, and has omissions.
_SPECIAL_IPV4 = [
    IPv4Network("0.0.0.0/8"),
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),
    IPv4Network("127.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.0.2.0/24"),
    IPv4Network("192.31.196.0/24"),
    IPv4Network("192.52.193.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("192.175.48.0/24"),
    IPv4Network("198.18.0.0/15"),
    IPv4Network("198.51.100.0/24"),
    IPv4Network("203.0.113.0/24"),
    IPv4Network("224.0.0.0/3"),  # multicast and reserved
]
# Special networks among the unicast addresses. All addresses that are not unicast are special, too.
_SPECIAL_IPV6 = [
    IPv6Network("2001::/23"),
    IPv6Network("2001:db8::/32"),
    IPv6Network("2002::/16"),  # 6to4: leads to an IPv4 address through a tunnel of this machine or network
    IPv6Network("2620:4f:8000::/48"),
    IPv6Network("3fff::/20"),
]
# Concurrent lookups of names for one owner and for all.
OWNER_LOOKUPS = 4
MOST_LOOKUPS = 64
_WEB_PORTS = {"http": 80, "https": 443}
_FIRST_FREE_PORT = 1025
_FOREIGN_ADDRESSES = {socket.AF_INET: "240.0.0.1", socket.AF_INET6: "100::1"}
"""Addresses that no machine has. If a program can bind them, the system lets programs bind any address."""


class LookupsBusy(OSError):
    """Too many lookups of names are running, because the name servers do not answer."""


class _Lookups:
    """Counts the running lookups. Each has a thread, and cannot be ended before it returns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[int] = Counter()
        """The number of running lookups, by owner."""

    def begin(self, owner_id: int) -> None:
        """Count one more. Raises LookupsBusy."""
        with self._lock:
            if self._running[owner_id] >= OWNER_LOOKUPS or self._running.total() >= MOST_LOOKUPS:
                raise LookupsBusy(f"{self._running[owner_id]} of your lookups of names are running")
            self._running[owner_id] += 1

    def end(self, owner_id: int) -> None:
        with self._lock:
            self._running[owner_id] -= 1
            if not self._running[owner_id]:
                del self._running[owner_id]


_LOOKUPS = _Lookups()


async def find_addresses(url: str, *, private: bool, owner_id: int) -> tuple[list[str], int]:
    """Return the addresses of a URL's host, and the port. Raises OSError if the port or every address is forbidden.

    Without `private`, the allowed addresses are the public ones of other machines, and the allowed ports are 80, 443
    and those above 1024. `owner_id` is the owner of the webhook. Raises LookupsBusy.
    """
    parts = urlsplit(url)
    future = Future[list[str]]()
    host = parts.hostname
    port = _WEB_PORTS[parts.scheme] if parts.port is None else parts.port
    if not private and port not in _WEB_PORTS.values() and port < _FIRST_FREE_PORT:
        raise OSError(f"port {port}, expected 80, 443 or above {_FIRST_FREE_PORT - 1}")

    def look_up() -> None:
        future.set_running_or_notify_cancel()
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            future.set_result([str(socket_address[0]) for *_, socket_address in addresses])
        except Exception as error:
            future.set_exception(error)
        finally:
            _LOOKUPS.end(owner_id)

    # In a thread of its own, because a lookup that hangs must delay neither others nor the end of the server.
    _LOOKUPS.begin(owner_id)
    try:
        threading.Thread(target=look_up, daemon=True).start()
    except RuntimeError:  # no further thread can be started
        _LOOKUPS.end(owner_id)
        raise
    addresses = await asyncio.wrap_future(future)
    if not private:
        public_addresses = [address for address in addresses if is_public(address)]
        addresses = [address for address in public_addresses if not is_own(address)]
        if public_addresses and not addresses:
            raise OSError(f"{host} is the machine of this server")
    if not addresses:
        raise OSError(f"{host} has no public address")
    return addresses, port


def is_public(text: str) -> bool:
    """Return whether an address belongs to the internet, not to a machine, a local network or a special use."""
    address = _plain(text)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_IPV4)
    return address in _UNICAST and not any(address in network for network in _SPECIAL_IPV6)


def is_own(text: str) -> bool:
    """Return whether an address is one of this machine. Sends nothing."""
    address = _plain(text)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    if _can_bind(family, str(address)) and not _can_bind(family, _FOREIGN_ADDRESSES[family]):
        return True
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 9))
        except OSError:  # no route
            return False
        # The system chose the local address for this peer. It is the same address if the peer is this machine.
        local = probe.getsockname()[0]
        remote = probe.getpeername()[0]
    return local == remote or ip_address(local).is_loopback


def _can_bind(family: socket.AddressFamily, address: str) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _plain(text: str) -> IPv4Address | IPv6Address:
    """Parse an address. An IPv6 address that stands for an IPv4 address becomes the IPv4 address."""
    address = ip_address(text)
    if isinstance(address, IPv4Address):
        return address
    # The last 32 bits of a NAT64 address are the IPv4 address.
    in_nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    return address.ipv4_mapped or in_nat64 or address
