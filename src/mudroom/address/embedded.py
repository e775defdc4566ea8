"""IPv6 addresses that carry an IPv4 one, and which one they carry.

A public outside must not carry a private inside: a gateway or the kernel itself unwraps it, and the
connection ends at the inner address.

Source: RFC 4291 section 2.5.5; RFC 2765 section 2.1; RFC 6052 section 2.2; RFC 3056; RFC 4380 section 4;
RFC 5214 section 6.1; RFC 8215.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from mudroom.address.ranges import AddressClass

__all__ = ["EmbeddedAddress", "find_embedded"]

_LOW_32 = 0xFFFF_FFFF
_WELL_KNOWN_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
_IPV4_MAPPED = 0xFFFF
"""Upper 96 bits of ::ffff:0:0/96."""
_IPV4_TRANSLATED = 0xFFFF_0000
"""Upper 96 bits of ::ffff:0:0:0/96."""
_SIX_TO_FOUR = 0x2002
_TEREDO = 0x2001_0000
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""Upper half of the interface identifier; the universal bit may be set (RFC 5214 section 6.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedAddress:
    """The form in which an IPv6 address carries an IPv4 one, and the IPv4 address."""

    kind: AddressClass
    inner: IPv4Address
    may_pass: bool
    """Whether a public inner address makes the whole acceptable; False: the form is refused wholly."""


def find_embedded(address: IPv6Address, nat64_prefixes: Sequence[IPv6Network]) -> EmbeddedAddress | None:
    """The IPv4 address inside an IPv6 one, or None when it carries none.

    `nat64_prefixes` are those that the local network really uses (RFC 7050); they come first, since
    any of the other ranges may lie around one.
    """
    number = int(address)
    for prefix in nat64_prefixes:
        if address in prefix:
            return _embedded(AddressClass.NAT64, _read_nat64(number, prefix.prefixlen), may_pass=True)
    upper = number >> 32
    if upper == 0:
        is_plain = number <= 1  # :: and ::1 have classes of their own
        return None if is_plain else _embedded(AddressClass.COMPATIBLE, number, may_pass=True)
    if upper == _IPV4_MAPPED:
        return _embedded(AddressClass.MAPPED, number, may_pass=True)
    if upper == _IPV4_TRANSLATED:
        return _embedded(AddressClass.TRANSLATED, number, may_pass=True)
    if address in _WELL_KNOWN_NAT64:
        return _embedded(AddressClass.NAT64, number, may_pass=True)
    return _find_in_tunnel(address, number)


def _find_in_tunnel(address: IPv6Address, number: int) -> EmbeddedAddress | None:
    if address in _LOCAL_NAT64:
        return _embedded(AddressClass.NAT64_LOCAL, number, may_pass=False)
    if number >> 112 == _SIX_TO_FOUR:
        return _embedded(AddressClass.SIX_TO_FOUR, number >> 80, may_pass=False)
    if number >> 96 == _TEREDO:
        return _embedded(AddressClass.TEREDO, number ^ _LOW_32, may_pass=False)
    if (number >> 32) & _LOW_32 in _ISATAP:
        return _embedded(AddressClass.ISATAP, number, may_pass=True)
    return None


def _embedded(kind: AddressClass, number: int, *, may_pass: bool) -> EmbeddedAddress:
    return EmbeddedAddress(kind=kind, inner=IPv4Address(number & _LOW_32), may_pass=may_pass)


def _read_nat64(number: int, prefix_length: int) -> int:
    """The 32 bits after the prefix; bits 64 to 71 are not part of them (RFC 6052 section 2.2)."""
    if prefix_length == 96:  # noqa: PLR2004 - the one length that ends after bits 64 to 71
        return number & _LOW_32
    upper, lower = number >> 64, number & 0x00FF_FFFF_FFFF_FFFF
    without_gap = (upper << 56) | lower  # 120 bits
    return (without_gap >> (120 - prefix_length - 32)) & _LOW_32
