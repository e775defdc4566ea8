"""The policy follows the machine: addresses gained later, and the NAT64 prefix of its network."""

import asyncio
from ipaddress import IPv6Network, ip_address, ip_interface, ip_network
from typing import Any

import pytest

from mudroom.address import EgressPolicy, ExceptionScope, judge_address
from mudroom.errors import Code, EgressRefused
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import Interface, MachineEgress
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import Hang, LookUp, ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

ASKED = "ipv4only.arpa"
PREFIX = IPv6Network("2001:67c:27e4:64::/96")
ANSWER = "2001:67c:27e4:64::c000:aa"
PUBLIC = ip_address("2606:2800:21f:cb07::1")
IPV4 = ip_interface("198.18.7.2/24")
IPV6 = ip_interface("2a00:1450:4001:82a::5/64")
VPN = ip_interface("93.184.215.1/24")


class Machine:
    """A machine whose interfaces a test changes, and everything that watches it."""

    def __init__(self, *interfaces: Interface, answer: LookUp = ANSWER, **options: Any) -> None:
        self.interfaces = interfaces
        self.reads = 0
        self.clock = FixedClock()
        self.resolver = ScriptedResolver({ASKED: answer, "site.test": "93.184.215.14"})
        self.egress = MachineEgress(
            EgressPolicy(), self.resolver, self.clock, interfaces=self.read, **options
        )
        self.transport = ScriptedTransport({"http://site.test/": PaperAnswer()})
        self.fetcher = Fetcher(self.transport, self.resolver, self.egress, FetchOptions(), self.clock)

    def read(self) -> tuple[Interface, ...]:
        self.reads += 1
        return self.interfaces

    async def prefixes(self, *addresses: Any) -> tuple[IPv6Network, ...]:
        await self.egress.refresh(addresses)
        return self.egress.current().nat64_prefixes

    async def refusal(self, url: str) -> Code:
        with pytest.raises(EgressRefused) as caught:
            await self.fetcher.fetch(FetchRequest("GET", url))
        return caught.value.code


# ---- own and on-link addresses ----


async def test_an_address_gained_later_is_refused_and_one_given_up_is_not() -> None:
    machine = Machine(IPV4)
    request = FetchRequest("GET", "http://site.test/")
    assert (await machine.fetcher.fetch(request)).status == 200
    machine.interfaces = (IPV4, VPN)
    machine.clock.advance(9)
    assert (await machine.fetcher.fetch(request)).status == 200
    machine.clock.advance(1)
    assert await machine.refusal("http://site.test/") is Code.DENIED_ADDRESS
    assert await machine.refusal("http://93.184.215.1/") is Code.DENIED_ADDRESS
    machine.interfaces = (IPV4,)
    machine.clock.advance(10)
    assert (await machine.fetcher.fetch(request)).status == 200


async def test_the_machine_is_read_once_in_ten_seconds_and_an_unchanged_one_keeps_its_policy() -> None:
    machine = Machine(IPV4)
    policy = machine.egress.current()
    for _ in range(5):
        await machine.egress.refresh()
    assert machine.reads == 1
    machine.clock.advance(10)
    await machine.egress.refresh()
    assert machine.reads == 2
    assert machine.egress.current() is policy


async def test_an_address_gained_while_a_hop_waits_is_refused_when_its_turn_comes() -> None:
    machine = Machine(IPV4)

    async def wait(_url: object, _scope: object) -> None:
        machine.interfaces = (IPV4, VPN)
        machine.clock.advance(30)

    with pytest.raises(EgressRefused):
        await machine.fetcher.fetch(FetchRequest("GET", "http://93.184.215.14/", hop_check=wait))
    assert machine.transport.dials == []


def test_own_addresses_and_their_networks_are_refused() -> None:
    policy = Machine(IPV4, VPN).egress.current()
    assert policy.own_addresses == {IPV4.ip, VPN.ip}
    assert set(policy.own_networks) == {ip_network("198.18.7.0/24"), ip_network("93.184.215.0/24")}


# ---- the NAT64 prefix ----


async def test_the_prefix_is_found_before_the_first_ipv6_address_is_judged() -> None:
    machine = Machine(IPV6)
    assert machine.resolver.lookups == []
    assert await machine.prefixes(PUBLIC) == (PREFIX,)
    assert await machine.prefixes(PUBLIC) == (PREFIX,)
    assert machine.resolver.lookups == [ASKED]
    inside = judge_address(
        ip_address("2001:67c:27e4:64::a00:1"), machine.egress.current(), ExceptionScope.none()
    )
    assert not inside.is_allowed


SILENT = [
    ("a machine without IPv6", (IPV4, ip_interface("fe80::1/64"), ip_interface("::1/128")), PUBLIC),
    ("an IPv4 address", (IPV6,), ip_address("93.184.215.14")),
    ("loopback", (IPV6,), ip_address("::1")),
    ("a neighbour", (IPV6,), ip_address("fe80::2")),
]


@pytest.mark.parametrize(
    ("interfaces", "address"), [row[1:] for row in SILENT], ids=[row[0] for row in SILENT]
)
async def test_nobody_is_asked_where_it_cannot_matter(
    interfaces: tuple[Interface, ...], address: object
) -> None:
    machine = Machine(*interfaces)
    assert await machine.prefixes(address) == ()
    assert machine.resolver.lookups == []


async def test_the_prefix_is_asked_for_again_in_another_network_and_when_it_is_old() -> None:
    machine = Machine(IPV6)
    await machine.prefixes(PUBLIC)
    machine.clock.advance(599)
    await machine.prefixes(PUBLIC)
    assert machine.resolver.count(ASKED) == 1
    machine.clock.advance(1)
    await machine.prefixes(PUBLIC)
    assert machine.resolver.count(ASKED) == 2
    machine.interfaces = (ip_interface("2a02:2e0:3fe::7/64"),)
    machine.clock.advance(10)
    assert await machine.prefixes() == ()
    assert await machine.prefixes(PUBLIC) == (PREFIX,)
    assert machine.resolver.count(ASKED) == 3


async def test_a_resolver_that_says_nothing_holds_a_dial_up_once_and_not_for_long() -> None:
    machine = Machine(IPV6, answer=Hang(asyncio.Event()), discovery_seconds=0.001)
    assert await machine.prefixes(PUBLIC) == ()
    assert await machine.prefixes(PUBLIC) == ()
    assert machine.resolver.count(ASKED) == 1
    machine.clock.advance(60)
    machine.resolver.set_answers(ASKED, ANSWER)
    assert await machine.prefixes(PUBLIC) == (PREFIX,)


async def test_what_was_known_of_a_network_outlives_a_failed_look_up() -> None:
    machine = Machine(IPV6)
    await machine.prefixes(PUBLIC)
    machine.clock.advance(600)
    machine.resolver.set_answers(ASKED, Code.DNS_FAILURE)
    assert await machine.prefixes(PUBLIC) == (PREFIX,)


async def test_requests_at_once_ask_once() -> None:
    event = asyncio.Event()
    machine = Machine(IPV6, answer=Hang(event, ANSWER), discovery_seconds=60)
    tasks = [asyncio.create_task(machine.prefixes(PUBLIC)) for _ in range(5)]
    await asyncio.sleep(0)
    event.set()
    assert await asyncio.gather(*tasks) == [(PREFIX,)] * 5
    assert machine.resolver.count(ASKED) == 1


INSIDE = [
    ("a name", "http://inside.test/", ["inside.test", ASKED]),
    ("a literal", "http://[2001:67c:27e4:64::a00:1]/", [ASKED]),
]


@pytest.mark.parametrize(("url", "lookups"), [row[1:] for row in INSIDE], ids=[row[0] for row in INSIDE])
async def test_what_a_discovered_prefix_carries_inside_is_refused_before_a_dial(
    url: str, lookups: list[str]
) -> None:
    machine = Machine(IPV6)
    machine.resolver.set_answers("inside.test", "2001:67c:27e4:64::a00:1")
    assert await machine.refusal(url) is Code.DENIED_ADDRESS
    assert machine.transport.dials == []
    assert machine.resolver.lookups == lookups
