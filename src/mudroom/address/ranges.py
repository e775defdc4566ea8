"""The special-purpose ranges of IPv4 and IPv6, each with its class and its source.

Both IANA registries are here whole, with what other registries add: multicast, deprecated site-local
addresses, and the part of IPv6 that nobody has been given. A range inside another wins over it.

Some entries are marked "globally reachable" by IANA: the anycast addresses of PCP, TURN and DNS-SD, AMT,
AS112, ORCHIDv2 and DRIP. They reach infrastructure or cryptographic identifiers, never a web site, so we
refuse them too: a page that lives there would be the first one.

Source: iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry (2025-10), RFC 6890,
RFC 8190; the rows at both edges of each range stand in tests/address/test_classify.py.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum, unique
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

__all__ = ["RANGES", "AddressClass", "IPAddress", "IPNetwork", "SpecialRange", "find_range"]

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


@unique
class AddressClass(StrEnum):
    """What an address is for. Only PUBLIC may be reached without an exception."""

    PUBLIC = "public"
    THIS_NETWORK = "this network"
    UNSPECIFIED = "unspecified"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    SHARED = "shared by a carrier's NAT"
    LINK_LOCAL = "link-local"
    SITE_LOCAL = "site-local"
    UNIQUE_LOCAL = "unique local"
    METADATA = "cloud metadata"
    OWN = "this machine's own"
    ON_LINK = "on this machine's link"
    DENIED = "denied by egress.deny_networks"
    PROTOCOL = "protocol assignment"
    DOCUMENTATION = "documentation"
    BENCHMARKING = "benchmarking"
    DISCARD = "discard-only"
    AS112 = "AS112 name service"
    AMT = "multicast tunnel"
    ORCHID = "cryptographic identifier"
    SEGMENT_ROUTING = "segment routing"
    MULTICAST = "multicast"
    BROADCAST = "broadcast"
    RESERVED = "reserved"
    UNALLOCATED = "unallocated"
    MAPPED = "IPv4-mapped"
    COMPATIBLE = "IPv4-compatible"
    TRANSLATED = "IPv4-translated"
    NAT64 = "NAT64"
    NAT64_LOCAL = "local NAT64"
    SIX_TO_FOUR = "6to4"
    TEREDO = "Teredo"
    ISATAP = "ISATAP"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialRange:
    """One row of a registry: a network, its class, and where that is written."""

    network: IPNetwork
    kind: AddressClass
    source: str


def _row(network: str, kind: AddressClass, source: str) -> SpecialRange:
    return SpecialRange(network=ip_network(network), kind=kind, source=source)


_C = AddressClass

RANGES: tuple[SpecialRange, ...] = (
    _row("0.0.0.0/8", _C.THIS_NETWORK, "RFC 791 section 3.2"),
    _row("0.0.0.0/32", _C.UNSPECIFIED, "RFC 1122 section 3.2.1.3"),
    _row("10.0.0.0/8", _C.PRIVATE, "RFC 1918"),
    _row("100.64.0.0/10", _C.SHARED, "RFC 6598"),
    _row("127.0.0.0/8", _C.LOOPBACK, "RFC 1122 section 3.2.1.3"),
    _row("169.254.0.0/16", _C.LINK_LOCAL, "RFC 3927"),
    _row("172.16.0.0/12", _C.PRIVATE, "RFC 1918"),
    _row("192.0.0.0/24", _C.PROTOCOL, "RFC 6890 section 2.1"),
    _row("192.0.0.0/29", _C.PROTOCOL, "RFC 7335, IPv4 service continuity"),
    _row("192.0.0.8/32", _C.PROTOCOL, "RFC 7600, dummy address"),
    _row("192.0.0.9/32", _C.PROTOCOL, "RFC 7723, PCP anycast"),
    _row("192.0.0.10/32", _C.PROTOCOL, "RFC 8155, TURN anycast"),
    _row("192.0.0.170/31", _C.PROTOCOL, "RFC 8880 and RFC 7050, NAT64 discovery"),
    _row("192.0.2.0/24", _C.DOCUMENTATION, "RFC 5737, TEST-NET-1"),
    _row("192.31.196.0/24", _C.AS112, "RFC 7535"),
    _row("192.52.193.0/24", _C.AMT, "RFC 7450"),
    _row("192.88.99.0/24", _C.RESERVED, "RFC 7526, former 6to4 relay anycast; RFC 6751 inside"),
    _row("192.168.0.0/16", _C.PRIVATE, "RFC 1918"),
    _row("192.175.48.0/24", _C.AS112, "RFC 7534"),
    _row("198.18.0.0/15", _C.BENCHMARKING, "RFC 2544"),
    _row("198.51.100.0/24", _C.DOCUMENTATION, "RFC 5737, TEST-NET-2"),
    _row("203.0.113.0/24", _C.DOCUMENTATION, "RFC 5737, TEST-NET-3"),
    _row("224.0.0.0/4", _C.MULTICAST, "RFC 5771"),
    _row("240.0.0.0/4", _C.RESERVED, "RFC 1112 section 4"),
    _row("255.255.255.255/32", _C.BROADCAST, "RFC 919 section 7"),
    # Nothing outside 2000::/3 is global unicast (RFC 4291 section 2.4), so all of it is refused, and the
    # rows inside only say why.
    _row("::/3", _C.UNALLOCATED, "RFC 4291 section 2.4"),
    _row("4000::/2", _C.UNALLOCATED, "RFC 4291 section 2.4"),
    _row("8000::/1", _C.UNALLOCATED, "RFC 4291 section 2.4"),
    _row("::/128", _C.UNSPECIFIED, "RFC 4291 section 2.5.2"),
    _row("::1/128", _C.LOOPBACK, "RFC 4291 section 2.5.3"),
    _row("64:ff9b:1::/48", _C.NAT64_LOCAL, "RFC 8215"),
    _row("100::/64", _C.DISCARD, "RFC 6666"),
    _row("100:0:0:1::/64", _C.DISCARD, "RFC 9780, dummy prefix"),
    _row("2001::/23", _C.PROTOCOL, "RFC 2928"),
    _row("2001::/32", _C.TEREDO, "RFC 4380"),
    _row("2001:1::1/128", _C.PROTOCOL, "RFC 7723, PCP anycast"),
    _row("2001:1::2/128", _C.PROTOCOL, "RFC 8155, TURN anycast"),
    _row("2001:1::3/128", _C.PROTOCOL, "RFC 9665, DNS-SD anycast"),
    _row("2001:2::/48", _C.BENCHMARKING, "RFC 5180"),
    _row("2001:3::/32", _C.AMT, "RFC 7450"),
    _row("2001:4:112::/48", _C.AS112, "RFC 7535"),
    _row("2001:10::/28", _C.ORCHID, "RFC 4843, deprecated"),
    _row("2001:20::/28", _C.ORCHID, "RFC 7343, ORCHIDv2"),
    _row("2001:30::/28", _C.ORCHID, "RFC 9374, DRIP"),
    _row("2001:db8::/32", _C.DOCUMENTATION, "RFC 3849"),
    _row("2002::/16", _C.SIX_TO_FOUR, "RFC 3056"),
    _row("2620:4f:8000::/48", _C.AS112, "RFC 7534"),
    _row("3fff::/20", _C.DOCUMENTATION, "RFC 9637"),
    _row("5f00::/16", _C.SEGMENT_ROUTING, "RFC 9602"),
    _row("fc00::/7", _C.UNIQUE_LOCAL, "RFC 4193"),
    _row("fe80::/10", _C.LINK_LOCAL, "RFC 4291 section 2.5.6"),
    _row("fec0::/10", _C.SITE_LOCAL, "RFC 3879"),
    _row("ff00::/8", _C.MULTICAST, "RFC 4291 section 2.7"),
)


class _Intervals:
    """Ranges of one IP version as disjoint intervals, so that a look-up is one bisection."""

    __slots__ = ("_owners", "_starts")

    def __init__(self, version: int) -> None:
        ranges = sorted(
            (row for row in RANGES if row.network.version == version),
            key=lambda row: row.network.prefixlen,
        )
        edges = {0}
        for row in ranges:
            edges.add(int(row.network.network_address))
            edges.add(int(row.network.broadcast_address) + 1)
        self._starts = sorted(edges)
        self._owners: list[SpecialRange | None] = [None] * len(self._starts)
        for row in ranges:  # widest first, so that the narrowest is written last
            first, last = int(row.network.network_address), int(row.network.broadcast_address)
            for place, start in enumerate(self._starts):
                if first <= start <= last:
                    self._owners[place] = row

    def find(self, number: int) -> SpecialRange | None:
        return self._owners[bisect_right(self._starts, number) - 1]


_IPV4, _IPV6 = _Intervals(4), _Intervals(6)


def find_range(address: IPAddress) -> SpecialRange | None:
    """The narrowest special range that holds an address; None means global unicast."""
    return (_IPV4 if address.version == 4 else _IPV6).find(int(address))  # noqa: PLR2004 - IP version
