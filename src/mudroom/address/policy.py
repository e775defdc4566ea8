"""What the operator lets us reach: ports, exceptions and denials, and who may use an exception.

An exception opens a target that is refused otherwise. It belongs to the URLs that the operator named,
and to those whose initiator was itself reached through the same exception; a redirect or a link from
anywhere else has no use of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Network
from typing import Protocol

from mudroom.address.classify import classify_address
from mudroom.address.names import bracket_host, normalise_name
from mudroom.address.parse import DEFAULT_PORTS, parse_url
from mudroom.address.ranges import IPAddress, IPNetwork

__all__ = ["AllowedOrigin", "EgressPolicy", "EgressSource", "ExceptionScope"]

_NAT64_PREFIX_LENGTHS = frozenset({32, 40, 48, 56, 64, 96})
"""The lengths that RFC 6052 section 2.2 defines."""
_MAX_PORT = 65_535
_MAX_REMEMBERED_ORIGINS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedOrigin:
    """One exact origin that the operator opened: scheme, IP literal and port."""

    scheme: str
    address: IPAddress
    port: int

    @property
    def name(self) -> str:
        """The origin as it is written, which is also the name of the exception."""
        return f"{self.scheme}://{bracket_host(str(self.address))}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> AllowedOrigin:
        """The origin that an operator wrote, in the one accepted spelling.

        Raises: ValueError when the text is anything but scheme, IP literal and port, or names an
            address that no exception may open; the message shows the accepted form.
        """
        form = f"{text!r} is no origin; write scheme, IP address and port, such as http://127.0.0.1:8000 or https://[::1]:8443"
        url = parse_url(text)
        if url is None or url.address is None:
            raise ValueError(form)
        origin = cls(scheme=url.scheme, address=url.address, port=url.port)
        if text != origin.name:
            raise ValueError(form)
        classified = classify_address(origin.address)
        if not classified.is_exceptable:
            kind = classified.kind
            raise ValueError(
                f"{text!r} cannot be opened: {origin.address} is {kind}, which no exception covers"
            )
        return origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionScope:
    """Which exceptions one URL may use (decision 4)."""

    is_operator: bool = False
    names: frozenset[str] = frozenset()

    @classmethod
    def operator(cls) -> ExceptionScope:
        """All of them: the operator named this URL."""
        return _OPERATOR

    @classmethod
    def none(cls) -> ExceptionScope:
        """None: the URL came from outside."""
        return _NONE

    @classmethod
    def of(cls, *names: str) -> ExceptionScope:
        """Those named: the initiator was reached through them."""
        return cls(names=frozenset(names))

    def covers(self, name: str) -> bool:
        """Whether the exception of this name may be used."""
        return self.is_operator or name in self.names


_OPERATOR = ExceptionScope(is_operator=True)
_NONE = ExceptionScope()


class EgressSource(Protocol):
    """Where the policy of this moment comes from: what a machine says of itself changes while it runs."""

    def current(self) -> EgressPolicy:
        """The policy as it was found last; the same object for as long as nothing changed."""
        ...

    def is_due(self, addresses: Sequence[IPAddress] = ()) -> bool:
        """Whether `refresh` would find anything out; to wait for one that would not costs more than to ask."""
        ...

    async def refresh(self, addresses: Sequence[IPAddress] = ()) -> None:
        """Find out anew what has grown old, and what the judgement of these addresses needs.

        To be awaited, where it is due, before an address is judged that will be dialled. Raises: nothing.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """Where requests may go. Made once from settings and from what the machine says of itself.

    Shapes: `deny_hosts` hold subdomains too, and are brought into the form of `ParsedUrl.host`;
    `own_networks` are the networks on this machine's links; `nat64_prefixes` those found by RFC 7050.
    Raises: ValueError for a port, host or prefix that cannot be.
    """

    ports: frozenset[int] = frozenset(DEFAULT_PORTS.values())
    allow_origins: tuple[AllowedOrigin, ...] = ()
    allow_networks: tuple[IPNetwork, ...] = ()
    deny_hosts: frozenset[str] = frozenset()
    deny_networks: tuple[IPNetwork, ...] = ()
    own_addresses: frozenset[IPAddress] = frozenset()
    own_networks: tuple[IPNetwork, ...] = ()
    nat64_prefixes: tuple[IPv6Network, ...] = ()
    _passed: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    """Origins with a name that passed under this very policy; another one begins with none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "deny_hosts", frozenset(map(normalise_name, self.deny_hosts)))
        for port in self.ports:
            if not 0 < port <= _MAX_PORT:
                raise ValueError(f"{port} is no port; write 1 to {_MAX_PORT}")
        for prefix in self.nat64_prefixes:
            if prefix.prefixlen not in _NAT64_PREFIX_LENGTHS:
                raise ValueError(f"{prefix} is no NAT64 prefix; its length is 32, 40, 48, 56, 64 or 96")

    def current(self) -> EgressPolicy:
        """This policy: it is an `EgressSource` whose machine never changes."""
        return self

    def is_due(self, addresses: Sequence[IPAddress] = ()) -> bool:
        """Never: there is nothing newer."""
        del addresses
        return False

    def has_passed(self, origin: str) -> bool:
        """Whether this origin passed before, so that it passes again."""
        return origin in self._passed

    def remember(self, origin: str) -> None:
        """Note that an origin passed for everybody: it has a name, which no exception is for."""
        if len(self._passed) >= _MAX_REMEMBERED_ORIGINS:
            self._passed.clear()
        self._passed.add(origin)

    async def refresh(self, addresses: Sequence[IPAddress] = ()) -> None:
        """Nothing; there is nothing newer."""

    def find_origin(self, name: str) -> AllowedOrigin | None:
        """The exception of this name among the exact origins."""
        return next((origin for origin in self.allow_origins if origin.name == name), None)
