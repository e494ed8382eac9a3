"""The network of a caller, for limits that apply to each caller."""

from ipaddress import IPv6Address, ip_address, ip_network

_IPV6_NETWORK = 64
"""Length of the prefix of an IPv6 network that one caller can own as a whole."""


def caller_network(host: str) -> str:
    """Return the caller of an address: the IPv4 address itself, or the IPv6 network of 64 bits."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ip_network((address, _IPV6_NETWORK), strict=False))
    return str(address)
