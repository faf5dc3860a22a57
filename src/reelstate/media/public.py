"""Which addresses of machines belong to the public internet."""

from __future__ import annotations

import ipaddress
from typing import Final

Numeric = ipaddress.IPv4Address | ipaddress.IPv6Address

_FORBIDDEN: Final = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "192.88.99.0/24", "100.64.0.0/10", "fec0::/10", "::/96"))
)
"""What counts as public but is not: Azure's metadata, old relays, carriers' inner networks, embedded addresses."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet, whatever it is wrapped in."""
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = _inner(address)
    if inner is not None:
        return is_public(str(inner))
    forbidden = any(address in network for network in _FORBIDDEN if network.version == address.version)
    return address.is_global and not address.is_multicast and not forbidden


def _inner(address: Numeric) -> Numeric | None:
    """The IPv4 address that an IPv6 address carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
