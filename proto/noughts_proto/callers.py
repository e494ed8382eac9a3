"""Whom a network address belongs to, for bounds that are kept for each caller."""

from ipaddress import IPv6Address, ip_address, ip_network

_IPV6_NETWORK = 64
"""Bits of the networks that one caller may have all addresses of."""


def caller_network(host: str) -> str:
    """Whom an address belongs to: itself, or the IPv6 network that is given to one caller as a whole."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ip_network((address, _IPV6_NETWORK), strict=False))
    return str(address)
