"""The prefix by which this network reaches IPv4 through IPv6, so that what it embeds can be judged."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from mudroom.address import IPAddress
from mudroom.net.resolver import Resolver

__all__ = ["discover_nat64", "find_nat64_prefixes"]

_NAME = "ipv4only.arpa"
_KNOWN = frozenset({IPv4Address("192.0.0.170"), IPv4Address("192.0.0.171")})
_LENGTHS = (96, 64, 56, 48, 40, 32)
_U_OCTET = 8  # RFC 6052 section 2.2: this byte is zero and belongs to no embedded address


async def discover_nat64(resolver: Resolver) -> tuple[IPv6Network, ...]:
    """The NAT64 prefixes of this network; empty when it has none.

    Raises: FetchFailed when the name is not answered, which says nothing of the network.
    Source: RFC 7050 section 3.
    """
    return find_nat64_prefixes(await resolver.resolve(_NAME))


def find_nat64_prefixes(addresses: Iterable[IPAddress]) -> tuple[IPv6Network, ...]:
    """The prefixes under which the answers for ipv4only.arpa embed its well-known addresses.

    Source: RFC 7050 section 3; RFC 6052 section 2.2 for where the four bytes stand.
    """
    found = {
        IPv6Network((address, length), strict=False)
        for address in addresses
        if isinstance(address, IPv6Address)
        for length in _LENGTHS
        if _embedded(address, length) in _KNOWN
    }
    return tuple(sorted(found))


def _embedded(address: IPv6Address, length: int) -> IPv4Address:
    start = length // 8
    rest = address.packed[start:] if start > _U_OCTET else address.packed[start:8] + address.packed[9:]
    return IPv4Address(rest[:4])
