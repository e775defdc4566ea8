"""The policy of this moment: the operator's words, and what the machine says of itself, read anew when old.

A process lives longer than an address: a VPN comes up, a network is joined, and what was a stranger's
address an hour ago is this machine's own. So what the machine says is believed for some seconds only.

The NAT64 prefix is asked for when an IPv6 address is about to be judged for the first time, and again when
the machine's addresses have changed or the answer has grown old; a machine without IPv6 asks nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network

from mudroom.address import EgressPolicy, IPAddress
from mudroom.clock import Clock
from mudroom.errors import FetchFailed
from mudroom.net.interfaces import Interface, list_interfaces
from mudroom.net.nat64 import discover_nat64
from mudroom.net.resolver import Resolver

__all__ = ["MachineEgress", "add_interfaces"]

_FACTS_SECONDS = 10.0
_PREFIX_SECONDS = 600.0
_NO_ANSWER_SECONDS = 60.0
_DISCOVERY_SECONDS = 2.0
"""How long a dial waits for the prefix; a resolver that says nothing in this time knows of none."""

ListInterfaces = Callable[[], tuple[Interface, ...]]


class MachineEgress:
    """An `EgressSource` whose policy follows the machine it runs on."""

    def __init__(
        self,
        operator: EgressPolicy,
        resolver: Resolver,
        clock: Clock,
        *,
        interfaces: ListInterfaces = list_interfaces,
        discovery_seconds: float = _DISCOVERY_SECONDS,
    ) -> None:
        """Shapes: `operator` is the policy as settings have it, without a word of the machine."""
        self._operator = operator
        self._resolver = resolver
        self._clock = clock
        self._list_interfaces = interfaces
        self._discovery_seconds = discovery_seconds
        self._lock = asyncio.Lock()
        self._prefixes: tuple[IPv6Network, ...] = ()
        self._prefixes_until: float | None = None
        self._interfaces: tuple[Interface, ...] = ()
        self._policy = operator
        self._read_machine()

    def current(self) -> EgressPolicy:
        """The policy as it was found last; the same object for as long as nothing changed."""
        return self._policy

    def is_due(self, addresses: Sequence[IPAddress] = ()) -> bool:
        """Whether the machine's addresses are old, or the NAT64 prefix may matter."""
        return self._clock.monotonic() >= self._facts_until or any(map(_may_be_translated, addresses))

    async def refresh(self, addresses: Sequence[IPAddress] = ()) -> None:
        """Read the machine's addresses where they are old; find the NAT64 prefix where it may matter.

        Raises: nothing; where nobody answers, what was known of this network's prefix holds on.
        """
        if self._clock.monotonic() >= self._facts_until:
            self._read_machine()
        if any(map(_may_be_translated, addresses)):
            async with self._lock:
                await self._find_prefixes()

    def _read_machine(self) -> None:
        interfaces = self._list_interfaces()
        self._facts_until = self._clock.monotonic() + _FACTS_SECONDS
        if interfaces != self._interfaces:
            self._interfaces = interfaces
            self._prefixes, self._prefixes_until = (), None  # of the network before
            self._build()

    async def _find_prefixes(self) -> None:
        if not any(_may_be_translated(interface.ip) for interface in self._interfaces):
            return
        now = self._clock.monotonic()
        if self._prefixes_until is not None and now < self._prefixes_until:
            return
        try:
            async with asyncio.timeout(self._discovery_seconds):
                prefixes = await discover_nat64(self._resolver)
        except (TimeoutError, FetchFailed):
            self._prefixes_until = now + _NO_ANSWER_SECONDS
            return
        self._prefixes_until = now + _PREFIX_SECONDS
        if prefixes != self._prefixes:
            self._prefixes = prefixes
            self._build()

    def _build(self) -> None:
        self._policy = replace(
            add_interfaces(self._operator, self._interfaces), nat64_prefixes=self._prefixes
        )


def add_interfaces(policy: EgressPolicy, interfaces: Sequence[Interface]) -> EgressPolicy:
    """A policy that refuses these interfaces' addresses and the networks they are on."""
    return replace(
        policy,
        own_addresses=frozenset(interface.ip for interface in interfaces),
        own_networks=tuple(dict.fromkeys(interface.network for interface in interfaces)),
    )


def _may_be_translated(address: IPAddress) -> bool:
    """Whether an address can lie in a NAT64 prefix, or can reach one: IPv6, and not of a link alone."""
    return isinstance(address, IPv6Address) and not (
        address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    )
