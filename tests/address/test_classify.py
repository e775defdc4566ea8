"""Every special range, at both of its edges, and what every embedded form carries."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import pytest

from mudroom.address import (
    METADATA_ADDRESSES,
    AddressClass,
    AllowedOrigin,
    EgressPolicy,
    ExceptionScope,
    IPAddress,
    judge_address,
)

PLAIN = EgressPolicy()
C = AddressClass

# network, class inside, source. Each row is tried at first - 1, first, last and last + 1.
RANGE_ROWS = [
    ("0.0.0.0/8", C.THIS_NETWORK, "RFC 791"),
    ("10.0.0.0/8", C.PRIVATE, "RFC 1918"),
    ("100.64.0.0/10", C.SHARED, "RFC 6598"),
    ("127.0.0.0/8", C.LOOPBACK, "RFC 1122"),
    ("169.254.0.0/16", C.LINK_LOCAL, "RFC 3927"),
    ("172.16.0.0/12", C.PRIVATE, "RFC 1918"),
    ("192.0.0.0/24", C.PROTOCOL, "RFC 6890"),
    ("192.0.2.0/24", C.DOCUMENTATION, "RFC 5737"),
    ("192.31.196.0/24", C.AS112, "RFC 7535"),
    ("192.52.193.0/24", C.AMT, "RFC 7450"),
    ("192.88.99.0/24", C.RESERVED, "RFC 7526"),
    ("192.168.0.0/16", C.PRIVATE, "RFC 1918"),
    ("192.175.48.0/24", C.AS112, "RFC 7534"),
    ("198.18.0.0/15", C.BENCHMARKING, "RFC 2544"),
    ("198.51.100.0/24", C.DOCUMENTATION, "RFC 5737"),
    ("203.0.113.0/24", C.DOCUMENTATION, "RFC 5737"),
    ("2001::/32", C.TEREDO, "RFC 4380"),
    ("2001:2::/48", C.BENCHMARKING, "RFC 5180"),
    ("2001:3::/32", C.AMT, "RFC 7450"),
    ("2001:4:112::/48", C.AS112, "RFC 7535"),
    ("2001:10::/28", C.ORCHID, "RFC 4843"),
    ("2001:20::/28", C.ORCHID, "RFC 7343"),
    ("2001:30::/28", C.ORCHID, "RFC 9374"),
    ("2001:db8::/32", C.DOCUMENTATION, "RFC 3849"),
    ("2002::/16", C.SIX_TO_FOUR, "RFC 3056"),
    ("2620:4f:8000::/48", C.AS112, "RFC 7534"),
    ("3fff::/20", C.DOCUMENTATION, "RFC 9637"),
    ("5f00::/16", C.SEGMENT_ROUTING, "RFC 9602"),
    ("100::/64", C.DISCARD, "RFC 6666"),
    ("100:0:0:1::/64", C.DISCARD, "RFC 9780"),
    ("64:ff9b:1::/48", C.NAT64_LOCAL, "RFC 8215"),
    ("fc00::/7", C.UNIQUE_LOCAL, "RFC 4193"),
    ("fe80::/10", C.LINK_LOCAL, "RFC 4291"),
    ("fec0::/10", C.SITE_LOCAL, "RFC 3879"),
    ("ff00::/8", C.MULTICAST, "RFC 4291"),
    ("224.0.0.0/4", C.MULTICAST, "RFC 5771"),
    ("240.0.0.0/4", C.RESERVED, "RFC 1112"),
]

# The four addresses at the edges of a range, with the class of each.
EDGE_ROWS = [
    ("0.0.0.0/8", "0.0.0.0", C.UNSPECIFIED),
    ("0.0.0.0/8", "0.0.0.1", C.THIS_NETWORK),
    ("0.0.0.0/8", "0.255.255.255", C.THIS_NETWORK),
    ("0.0.0.0/8", "1.0.0.0", C.PUBLIC),
    ("10.0.0.0/8", "9.255.255.255", C.PUBLIC),
    ("10.0.0.0/8", "10.0.0.0", C.PRIVATE),
    ("10.0.0.0/8", "10.255.255.255", C.PRIVATE),
    ("10.0.0.0/8", "11.0.0.0", C.PUBLIC),
    ("100.64.0.0/10", "100.63.255.255", C.PUBLIC),
    ("100.64.0.0/10", "100.64.0.0", C.SHARED),
    ("100.64.0.0/10", "100.127.255.255", C.SHARED),
    ("100.64.0.0/10", "100.128.0.0", C.PUBLIC),
    ("127.0.0.0/8", "126.255.255.255", C.PUBLIC),
    ("127.0.0.0/8", "127.0.0.0", C.LOOPBACK),
    ("127.0.0.0/8", "127.255.255.255", C.LOOPBACK),
    ("127.0.0.0/8", "128.0.0.0", C.PUBLIC),
    ("169.254.0.0/16", "169.253.255.255", C.PUBLIC),
    ("169.254.0.0/16", "169.254.0.0", C.LINK_LOCAL),
    ("169.254.0.0/16", "169.254.255.255", C.LINK_LOCAL),
    ("169.254.0.0/16", "169.255.0.0", C.PUBLIC),
    ("172.16.0.0/12", "172.15.255.255", C.PUBLIC),
    ("172.16.0.0/12", "172.16.0.0", C.PRIVATE),
    ("172.16.0.0/12", "172.31.255.255", C.PRIVATE),
    ("172.16.0.0/12", "172.32.0.0", C.PUBLIC),
    ("192.0.0.0/24", "191.255.255.255", C.PUBLIC),
    ("192.0.0.0/24", "192.0.0.0", C.PROTOCOL),
    ("192.0.0.0/24", "192.0.0.9", C.PROTOCOL),
    ("192.0.0.0/24", "192.0.0.10", C.PROTOCOL),
    ("192.0.0.0/24", "192.0.0.171", C.PROTOCOL),
    ("192.0.0.0/24", "192.0.0.255", C.PROTOCOL),
    ("192.0.0.0/24", "192.0.1.0", C.PUBLIC),
    ("192.0.2.0/24", "192.0.1.255", C.PUBLIC),
    ("192.0.2.0/24", "192.0.2.0", C.DOCUMENTATION),
    ("192.0.2.0/24", "192.0.2.255", C.DOCUMENTATION),
    ("192.0.2.0/24", "192.0.3.0", C.PUBLIC),
    ("192.31.196.0/24", "192.31.195.255", C.PUBLIC),
    ("192.31.196.0/24", "192.31.196.0", C.AS112),
    ("192.31.196.0/24", "192.31.196.255", C.AS112),
    ("192.31.196.0/24", "192.31.197.0", C.PUBLIC),
    ("192.52.193.0/24", "192.52.192.255", C.PUBLIC),
    ("192.52.193.0/24", "192.52.193.0", C.AMT),
    ("192.52.193.0/24", "192.52.193.255", C.AMT),
    ("192.52.193.0/24", "192.52.194.0", C.PUBLIC),
    ("192.88.99.0/24", "192.88.98.255", C.PUBLIC),
    ("192.88.99.0/24", "192.88.99.0", C.RESERVED),
    ("192.88.99.0/24", "192.88.99.255", C.RESERVED),
    ("192.88.99.0/24", "192.88.100.0", C.PUBLIC),
    ("192.168.0.0/16", "192.167.255.255", C.PUBLIC),
    ("192.168.0.0/16", "192.168.0.0", C.PRIVATE),
    ("192.168.0.0/16", "192.168.255.255", C.PRIVATE),
    ("192.168.0.0/16", "192.169.0.0", C.PUBLIC),
    ("192.175.48.0/24", "192.175.47.255", C.PUBLIC),
    ("192.175.48.0/24", "192.175.48.0", C.AS112),
    ("192.175.48.0/24", "192.175.48.255", C.AS112),
    ("192.175.48.0/24", "192.175.49.0", C.PUBLIC),
    ("198.18.0.0/15", "198.17.255.255", C.PUBLIC),
    ("198.18.0.0/15", "198.18.0.0", C.BENCHMARKING),
    ("198.18.0.0/15", "198.19.255.255", C.BENCHMARKING),
    ("198.18.0.0/15", "198.20.0.0", C.PUBLIC),
    ("198.51.100.0/24", "198.51.99.255", C.PUBLIC),
    ("198.51.100.0/24", "198.51.100.0", C.DOCUMENTATION),
    ("198.51.100.0/24", "198.51.100.255", C.DOCUMENTATION),
    ("198.51.100.0/24", "198.51.101.0", C.PUBLIC),
    ("203.0.113.0/24", "203.0.112.255", C.PUBLIC),
    ("203.0.113.0/24", "203.0.113.0", C.DOCUMENTATION),
    ("203.0.113.0/24", "203.0.113.255", C.DOCUMENTATION),
    ("203.0.113.0/24", "203.0.114.0", C.PUBLIC),
    ("224.0.0.0/4", "223.255.255.255", C.PUBLIC),
    ("224.0.0.0/4", "224.0.0.0", C.MULTICAST),
    ("224.0.0.0/4", "239.255.255.255", C.MULTICAST),
    ("240.0.0.0/4", "240.0.0.0", C.RESERVED),
    ("240.0.0.0/4", "255.255.255.254", C.RESERVED),
    ("255.255.255.255/32", "255.255.255.255", C.BROADCAST),
    ("::/128", "::", C.UNSPECIFIED),
    ("::1/128", "::1", C.LOOPBACK),
    ("::/96", "::2", C.COMPATIBLE),
    ("100::/64", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.UNALLOCATED),
    ("100::/64", "100::", C.DISCARD),
    ("100::/64", "100::ffff:ffff:ffff:ffff", C.DISCARD),
    ("100:0:0:1::/64", "100:0:0:1::", C.DISCARD),
    ("100:0:0:1::/64", "100:0:0:1:ffff:ffff:ffff:ffff", C.DISCARD),
    ("100:0:0:1::/64", "100:0:0:2::", C.UNALLOCATED),
    ("64:ff9b:1::/48", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", C.UNALLOCATED),
    ("64:ff9b:1::/48", "64:ff9b:1::", C.NAT64_LOCAL),
    ("64:ff9b:1::/48", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", C.NAT64_LOCAL),
    ("64:ff9b:1::/48", "64:ff9b:2::", C.UNALLOCATED),
    ("2000::/3", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.UNALLOCATED),
    ("2000::/3", "2000::", C.PUBLIC),
    ("2000::/3", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.PUBLIC),
    ("2000::/3", "4000::", C.UNALLOCATED),
    ("2001::/32", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.PUBLIC),
    ("2001::/32", "2001::", C.TEREDO),
    ("2001::/32", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", C.TEREDO),
    ("2001::/23", "2001:1::", C.PROTOCOL),
    ("2001:1::1/128", "2001:1::1", C.PROTOCOL),
    ("2001:1::2/128", "2001:1::2", C.PROTOCOL),
    ("2001:1::3/128", "2001:1::3", C.PROTOCOL),
    ("2001:2::/48", "2001:1:ffff:ffff:ffff:ffff:ffff:ffff", C.PROTOCOL),
    ("2001:2::/48", "2001:2::", C.BENCHMARKING),
    ("2001:2::/48", "2001:2:0:ffff:ffff:ffff:ffff:ffff", C.BENCHMARKING),
    ("2001:2::/48", "2001:2:1::", C.PROTOCOL),
    ("2001:3::/32", "2001:3::", C.AMT),
    ("2001:3::/32", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff", C.AMT),
    ("2001:4:112::/48", "2001:4:111:ffff:ffff:ffff:ffff:ffff", C.PROTOCOL),
    ("2001:4:112::/48", "2001:4:112::", C.AS112),
    ("2001:4:112::/48", "2001:4:112:ffff:ffff:ffff:ffff:ffff", C.AS112),
    ("2001:4:112::/48", "2001:4:113::", C.PROTOCOL),
    ("2001:10::/28", "2001:f:ffff:ffff:ffff:ffff:ffff:ffff", C.PROTOCOL),
    ("2001:10::/28", "2001:10::", C.ORCHID),
    ("2001:30::/28", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", C.ORCHID),
    ("2001:30::/28", "2001:40::", C.PROTOCOL),
    ("2001::/23", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", C.PROTOCOL),
    ("2001::/23", "2001:200::", C.PUBLIC),
    ("2001:db8::/32", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", C.PUBLIC),
    ("2001:db8::/32", "2001:db8::", C.DOCUMENTATION),
    ("2001:db8::/32", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", C.DOCUMENTATION),
    ("2001:db8::/32", "2001:db9::", C.PUBLIC),
    ("2002::/16", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.PUBLIC),
    ("2002::/16", "2002::", C.SIX_TO_FOUR),
    ("2002::/16", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.SIX_TO_FOUR),
    ("2002::/16", "2003::", C.PUBLIC),
    ("2620:4f:8000::/48", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", C.PUBLIC),
    ("2620:4f:8000::/48", "2620:4f:8000::", C.AS112),
    ("2620:4f:8000::/48", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", C.AS112),
    ("2620:4f:8000::/48", "2620:4f:8001::", C.PUBLIC),
    ("3fff::/20", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.PUBLIC),
    ("3fff::/20", "3fff::", C.DOCUMENTATION),
    ("3fff::/20", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", C.DOCUMENTATION),
    ("3fff::/20", "3fff:1000::", C.PUBLIC),
    ("5f00::/16", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.UNALLOCATED),
    ("5f00::/16", "5f00::", C.SEGMENT_ROUTING),
    ("5f00::/16", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.SEGMENT_ROUTING),
    ("5f00::/16", "5f01::", C.UNALLOCATED),
    ("fc00::/7", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.UNALLOCATED),
    ("fc00::/7", "fc00::", C.UNIQUE_LOCAL),
    ("fc00::/7", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.UNIQUE_LOCAL),
    ("fc00::/7", "fe00::", C.UNALLOCATED),
    ("fe80::/10", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.UNALLOCATED),
    ("fe80::/10", "fe80::", C.LINK_LOCAL),
    ("fe80::/10", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.LINK_LOCAL),
    ("fec0::/10", "fec0::", C.SITE_LOCAL),
    ("fec0::/10", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.SITE_LOCAL),
    ("ff00::/8", "ff00::", C.MULTICAST),
    ("ff00::/8", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", C.MULTICAST),
]


@pytest.mark.parametrize(("network", "address", "kind"), EDGE_ROWS, ids=[row[1] for row in EDGE_ROWS])
def test_an_address_at_the_edge_of_a_range_has_the_class_of_its_side(
    network: str, address: str, kind: AddressClass
) -> None:
    verdict = judge_address(ip_address(address), PLAIN, ExceptionScope.operator())
    assert (verdict.kind, verdict.is_allowed) == (kind, kind is C.PUBLIC)


@pytest.mark.parametrize(("network", "kind", "source"), RANGE_ROWS, ids=[row[0] for row in RANGE_ROWS])
def test_each_special_range_is_refused_from_first_to_last(
    network: str, kind: AddressClass, source: str
) -> None:
    net = ip_network(network)
    first, last = net.network_address, net.broadcast_address
    for address in (first + 5, first + net.num_addresses // 2, last - 5):
        verdict = judge_address(address, PLAIN, ExceptionScope.operator())
        assert not verdict.is_allowed, (address, source)
        assert verdict.kind in {kind, C.ISATAP, C.METADATA}


@pytest.mark.parametrize("address", sorted(METADATA_ADDRESSES, key=str), ids=str)
def test_metadata_addresses_stay_refused_inside_an_allowed_network(address: IPAddress) -> None:
    wide = EgressPolicy(allow_networks=(ip_network("0.0.0.0/0"), ip_network("::/0")))
    verdict = judge_address(address, wide, ExceptionScope.operator())
    assert (verdict.is_allowed, verdict.kind) == (False, C.METADATA)


def test_a_public_address_is_allowed_without_an_exception() -> None:
    verdict = judge_address(IPv4Address("93.184.215.14"), PLAIN, ExceptionScope.none())
    assert (verdict.is_allowed, verdict.kind, verdict.exception, verdict.message) == (
        True,
        C.PUBLIC,
        None,
        "",
    )


# id, carrying a public address, carrying a private one, class, whether the public one passes
EMBEDDED_ROWS = [
    ("mapped", "::ffff:8.8.8.8", "::ffff:127.0.0.1", C.MAPPED, True),
    ("compatible", "::8.8.8.8", "::127.0.0.1", C.COMPATIBLE, True),
    ("translated", "::ffff:0:8.8.8.8", "::ffff:0:10.0.0.1", C.TRANSLATED, True),
    ("NAT64", "64:ff9b::8.8.8.8", "64:ff9b::169.254.169.254", C.NAT64, True),
    ("local NAT64", "64:ff9b:1::8.8.8.8", "64:ff9b:1::7f00:1", C.NAT64_LOCAL, False),
    ("6to4", "2002:808:808::1", "2002:7f00:1::", C.SIX_TO_FOUR, False),
    ("Teredo", "2001:0:4136:e378:8000:63bf:f7f7:f7f7", "2001::80ff:fffe", C.TEREDO, False),
    ("ISATAP", "2400:cb00::5efe:8.8.8.8", "2400:cb00::5efe:10.0.0.1", C.ISATAP, True),
    ("ISATAP, universal", "2400:cb00::200:5efe:8.8.8.8", "2400:cb00::200:5efe:127.0.0.1", C.ISATAP, True),
]


@pytest.mark.parametrize("row", EMBEDDED_ROWS, ids=[row[0] for row in EMBEDDED_ROWS])
def test_an_address_inside_another_is_judged_too(row: tuple[Any, ...]) -> None:
    _, public, private, kind, passes = row
    outside = judge_address(IPv6Address(public), PLAIN, ExceptionScope.operator())
    assert (outside.is_allowed, outside.kind) == (passes, kind)
    inside = judge_address(IPv6Address(private), PLAIN, ExceptionScope.operator())
    assert (inside.is_allowed, inside.kind) == (False, kind)


@pytest.mark.parametrize("row", EMBEDDED_ROWS, ids=[row[0] for row in EMBEDDED_ROWS])
def test_a_refused_inner_address_is_named_in_the_message(row: tuple[Any, ...]) -> None:
    carried = {"translated": "10.0.0.1", "NAT64": "169.254.169.254", "ISATAP": "10.0.0.1"}
    verdict = judge_address(IPv6Address(row[2]), PLAIN, ExceptionScope.operator())
    assert f" carries {carried.get(row[0], '127.0.0.1')}, which is " in verdict.message


def test_isatap_in_a_link_local_network_is_refused_although_it_carries_a_public_address() -> None:
    verdict = judge_address(IPv6Address("fe80::5efe:8.8.8.8"), PLAIN, ExceptionScope.operator())
    assert not verdict.is_allowed


@pytest.mark.parametrize("row", EMBEDDED_ROWS, ids=[row[0] for row in EMBEDDED_ROWS])
def test_no_exception_opens_an_address_inside_another(row: tuple[Any, ...]) -> None:
    private = IPv6Address(row[2])
    wide = EgressPolicy(
        allow_networks=(ip_network("::/0"), ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8")),
        allow_origins=(AllowedOrigin(scheme="http", address=private, port=80),),
    )
    name = wide.allow_origins[0].name
    verdict = judge_address(private, wide, ExceptionScope.operator(), url_exception=name)
    assert not verdict.is_allowed


# prefix length, prefix, how 192.0.2.33 stands in it (RFC 6052 section 2.4, there with this address)
NAT64_ROWS = [
    (32, "2400:db8::/32", "2400:db8:c000:221::"),
    (40, "2400:db8:100::/40", "2400:db8:1c0:2:21::"),
    (48, "2400:db8:122::/48", "2400:db8:122:c000:2:2100::"),
    (56, "2400:db8:122:300::/56", "2400:db8:122:3c0:0:221::"),
    (64, "2400:db8:122:344::/64", "2400:db8:122:344:c0:2:2100::"),
    (96, "2400:db8:122:344::/96", "2400:db8:122:344::192.0.2.33"),
    ("48, bits 64 to 71 set", "2400:db8:122::/48", "2400:db8:122:c000:ff02:2100::"),
]


@pytest.mark.parametrize("row", NAT64_ROWS, ids=[str(row[0]) for row in NAT64_ROWS])
def test_the_address_in_a_found_nat64_prefix_is_read_at_its_place(row: tuple[Any, ...]) -> None:
    policy = EgressPolicy(nat64_prefixes=(IPv6Network(row[1]),))
    verdict = judge_address(IPv6Address(row[2]), policy, ExceptionScope.operator())
    assert (verdict.is_allowed, verdict.kind) == (False, C.NAT64)
    assert "carries 192.0.2.33, which is documentation" in verdict.message


@pytest.mark.parametrize("prefix", ["2400:db8::/96", "fd00:64::/96", "64:ff9b:1:fffe::/96"])
def test_a_public_address_in_a_found_nat64_prefix_passes_and_a_private_one_does_not(prefix: str) -> None:
    network = IPv6Network(prefix)
    policy = EgressPolicy(nat64_prefixes=(network,))
    public = network.network_address + int(IPv4Address("8.8.8.8"))
    private = network.network_address + int(IPv4Address("10.0.0.1"))
    assert judge_address(public, policy, ExceptionScope.none()).is_allowed
    assert not judge_address(private, policy, ExceptionScope.none()).is_allowed


def test_own_and_on_link_addresses_are_refused_also_inside_another() -> None:
    policy = EgressPolicy(
        own_addresses=frozenset({IPv4Address("93.184.215.14")}), own_networks=(ip_network("93.184.216.0/24"),)
    )
    own = judge_address(IPv4Address("93.184.215.14"), policy, ExceptionScope.operator())
    on_link = judge_address(IPv4Address("93.184.216.9"), policy, ExceptionScope.operator())
    inside = judge_address(IPv6Address("64:ff9b::93.184.216.9"), policy, ExceptionScope.operator())
    assert (own.kind, on_link.kind, inside.is_allowed) == (C.OWN, C.ON_LINK, False)
    assert not own.is_allowed
    assert not on_link.is_allowed
