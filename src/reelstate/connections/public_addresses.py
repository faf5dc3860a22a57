"""Tell public IP addresses from special ones.

Python's `ipaddress` has such tables too, but they differ between versions. Special blocks are refused even if they are
reachable from elsewhere, because nothing on the internet is served from one.

From the IANA registries of special-purpose addresses (IPv4, IPv6) and of the IPv6 address space, January 2025.
"""

from __future__ import annotations

import ipaddress
from typing import Final

Numeric = ipaddress.IPv4Address | ipaddress.IPv6Address

_SPECIAL_IPV4: Final = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; metadata of some clouds
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # metadata of Azure; not in the registry
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments; metadata of Oracle's cloud
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and limited broadcast
    )
)
_GLOBAL_IPV6: Final = ipaddress.IPv6Network("2000::/3")
"""Everything assigned for global unicast; the rest is special or unassigned."""
_SPECIAL_IPV6: Final = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarking, ORCHID, AS112, …
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Return whether an IP address is public; an IPv4 address mapped into IPv6 counts as IPv4."""
    try:
        address = _unmap(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in block for block in _SPECIAL_IPV4)
    return address in _GLOBAL_IPV6 and not any(address in block for block in _SPECIAL_IPV6)


def _unmap(address: Numeric) -> Numeric:
    """Return the IPv4 address in a mapped or NAT64 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address
