"""May we connect to this address? The judgement of every DNS answer and of every literal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mudroom.address.classify import ClassifiedAddress, classify_address
from mudroom.address.names import show_host
from mudroom.address.policy import EgressPolicy, ExceptionScope
from mudroom.address.ranges import AddressClass, IPAddress, IPNetwork, find_range
from mudroom.errors import Code

__all__ = ["AddressVerdict", "AllowedAnswers", "RefusedAnswers", "judge_address", "judge_answers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressVerdict:
    """Whether an address may be dialled, and why.

    Shapes: `exception` names the exception that opened it, None when it is public; `message` is empty
    when it is allowed.
    """

    address: IPAddress
    is_allowed: bool
    kind: AddressClass
    exception: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedAnswers:
    """Addresses that may be dialled, in the order of the answer, each once."""

    verdicts: tuple[AddressVerdict, ...]

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        """The addresses alone."""
        return tuple(verdict.address for verdict in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAnswers:
    """Why a name is not dialled: one bad answer refuses all, and so does none."""

    code: Code
    message: str
    host: str


def judge_address(
    address: IPAddress,
    policy: EgressPolicy,
    scope: ExceptionScope,
    *,
    url_exception: str | None = None,
) -> AddressVerdict:
    """Whether an address may be dialled for a URL with this scope.

    Why: an IPv6 address that carries an IPv4 one is judged by the inner address too, without any
    exception: a public outside must not carry a private inside, and DNS64 hosts must work.
    Shapes: `url_exception` is the exact origin that the URL matched, if any; it opens its own address
    and no other.
    Order: inner address, deny_networks, exceptions (metadata has none), own and on-link, special ranges.
    Raises: nothing; every address has a verdict.
    Source: RFC 6890; RFC 6052 section 2.2; decisions 4 and 5; rows in tests/address/test_classify.py.
    """
    classified = classify_address(address, policy.nat64_prefixes)
    refusal = _find_denial(address, classified, policy)
    exception = None
    if refusal is None:
        exception = _find_exception(address, classified, policy, scope, url_exception)
        if exception is None:
            refusal = _find_special(address, classified, policy)
    if refusal is not None:
        return refusal
    return AddressVerdict(address=address, is_allowed=True, kind=classified.kind, exception=exception)


def judge_answers(
    addresses: Sequence[IPAddress],
    policy: EgressPolicy,
    scope: ExceptionScope,
    *,
    host: str,
    url_exception: str | None = None,
) -> AllowedAnswers | RefusedAnswers:
    """The answers to one look-up that may be dialled, or why none is.

    Why: all must pass. A name that answers with one public and one private address is an attack or
    a mistake, and which of them is dialled would be chance.
    """
    if not addresses:
        return RefusedAnswers(code=Code.DNS_FAILURE, message=f"{show_host(host)} has no address", host=host)
    verdicts = []
    for address in dict.fromkeys(addresses):
        verdict = judge_address(address, policy, scope, url_exception=url_exception)
        if not verdict.is_allowed:
            message = f"{show_host(host)} resolves to a refused address: {verdict.message}"
            return RefusedAnswers(code=Code.DENIED_ADDRESS, message=message, host=host)
        verdicts.append(verdict)
    return AllowedAnswers(verdicts=tuple(verdicts))


def _find_denial(
    address: IPAddress, classified: ClassifiedAddress, policy: EgressPolicy
) -> AddressVerdict | None:
    """The refusal that no exception lifts, or None."""
    if classified.embedded is not None:
        inner = judge_address(classified.embedded.inner, policy, ExceptionScope.none())
        if not inner.is_allowed:
            return _refuse(address, classified.kind, f"carries {inner.address}, which is {inner.kind}")
    if policy.deny_networks and _holds(policy.deny_networks, address):
        return _refuse(address, AddressClass.DENIED)
    return None


def _find_exception(
    address: IPAddress,
    classified: ClassifiedAddress,
    policy: EgressPolicy,
    scope: ExceptionScope,
    url_exception: str | None,
) -> str | None:
    if not classified.is_exceptable:
        return None
    if url_exception is not None and scope.covers(url_exception):
        origin = policy.find_origin(url_exception)
        if origin is not None and origin.address == address:
            return url_exception
    for network in policy.allow_networks:
        if address in network and scope.covers(str(network)):
            return str(network)
    return None


def _find_special(
    address: IPAddress, classified: ClassifiedAddress, policy: EgressPolicy
) -> AddressVerdict | None:
    """The refusal of an address that is not public, or None."""
    if address in policy.own_addresses:
        return _refuse(address, AddressClass.OWN)
    if policy.own_networks and _holds(policy.own_networks, address):
        return _refuse(address, AddressClass.ON_LINK)
    embedded = classified.embedded
    if embedded is None:
        return None if classified.kind is AddressClass.PUBLIC else _refuse(address, classified.kind)
    # An interface identifier can stand in any network (ISATAP); the other forms are a network themselves.
    is_outer_public = embedded.kind is not AddressClass.ISATAP or find_range(address) is None
    return None if embedded.may_pass and is_outer_public else _refuse(address, classified.kind)


def _holds(networks: Sequence[IPNetwork], address: IPAddress) -> bool:
    return any(address in network for network in networks)


def _refuse(address: IPAddress, kind: AddressClass, detail: str | None = None) -> AddressVerdict:
    message = f"{address} {detail}" if detail else f"{address} is {kind}"
    return AddressVerdict(address=address, is_allowed=False, kind=kind, message=message)
