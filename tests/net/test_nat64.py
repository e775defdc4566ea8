from ipaddress import IPv6Network, ip_address

import pytest

from mudroom.errors import FetchFailed
from mudroom.net import discover_nat64, find_nat64_prefixes
from mudroom.testing.resolvers import ScriptedResolver

ROWS = [
    ("the well-known prefix", "64:ff9b::c000:aa", {"64:ff9b::/96"}, "RFC 6052 section 2.1"),
    ("a prefix of 32 bits", "2001:db8:c000:aa::", {"2001:db8::/32"}, "RFC 6052 section 2.4"),
    ("a prefix of 40 bits", "2001:db8:1c0:0:aa::", {"2001:db8:100::/40"}, "RFC 6052 section 2.4"),
    ("a prefix of 48 bits", "2001:db8:122:c000:0:aa00::", {"2001:db8:122::/48"}, "RFC 6052 section 2.4"),
    ("a prefix of 56 bits", "2001:db8:122:3c0:0:aa::", {"2001:db8:122:300::/56"}, "RFC 6052 section 2.4"),
    (
        "a prefix of 64 bits",
        "2001:db8:122:344:c0:0:ab00:0",
        {"2001:db8:122:344::/64"},
        "RFC 6052 section 2.4",
    ),
    ("no embedded address", "2001:db8::1", set(), "RFC 7050 section 3"),
    ("an IPv4 answer", "192.0.0.170", set(), "RFC 7050 section 3"),
]


@pytest.mark.parametrize(("address", "prefixes"), [row[1:3] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_prefix_is_found_where_the_known_address_stands(address: str, prefixes: set[str]) -> None:
    assert set(find_nat64_prefixes([ip_address(address)])) == set(map(IPv6Network, prefixes))


async def test_a_network_that_answers_with_ipv4_alone_has_no_prefix() -> None:
    resolver = ScriptedResolver({"ipv4only.arpa": "192.0.0.170 192.0.0.171"})
    assert await discover_nat64(resolver) == ()


async def test_a_network_without_an_answer_says_nothing() -> None:
    with pytest.raises(FetchFailed):
        await discover_nat64(ScriptedResolver())


async def test_the_prefix_is_asked_of_the_networks_own_resolver() -> None:
    resolver = ScriptedResolver({"ipv4only.arpa": "192.0.0.170 2001:db8:64::c000:aa"})
    assert await discover_nat64(resolver) == (IPv6Network("2001:db8:64::/96"),)
    assert resolver.lookups == ["ipv4only.arpa"]
