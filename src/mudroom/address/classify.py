"""The class of an address by itself, before any policy is asked."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

from mudroom.address.embedded import EmbeddedAddress, find_embedded
from mudroom.address.ranges import AddressClass, IPAddress, find_range

__all__ = ["METADATA_ADDRESSES", "ClassifiedAddress", "classify_address"]

METADATA_ADDRESSES: frozenset[IPAddress] = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # most clouds
            "fd00:ec2::254",  # Amazon, IPv6
            "fd20:ce::254",  # Google, IPv6
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
            "168.63.129.16",  # Azure's host agent: outside every special range
            "169.254.170.2",  # Amazon, credentials of a container
            "169.254.170.23",  # Amazon, credentials of a pod
            "fd00:ec2::23",  # the same, IPv6
            "169.254.42.42",  # Scaleway
            "fd00:42::42",  # Scaleway, IPv6
            "169.254.0.23",  # Tencent
        ),
    )
)

_NEVER_DIALLED = frozenset(
    {
        AddressClass.METADATA,
        AddressClass.UNSPECIFIED,
        AddressClass.THIS_NETWORK,
        AddressClass.MULTICAST,
        AddressClass.BROADCAST,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifiedAddress:
    """The class of an address, and the address inside it if it carries one."""

    kind: AddressClass
    embedded: EmbeddedAddress | None = None

    @property
    def is_exceptable(self) -> bool:
        """Whether an operator's exception may open it at all.

        Never: metadata services, an address that carries another one, and what is no single host.
        """
        return self.embedded is None and self.kind not in _NEVER_DIALLED


def classify_address(address: IPAddress, nat64_prefixes: tuple[IPv6Network, ...] = ()) -> ClassifiedAddress:
    """What an address is for; PUBLIC when no registry says otherwise.

    Why: the form of an embedded address is its class, whatever it carries; who judges it looks inside.
    Order: metadata, embedded forms, the narrowest special range; first match wins.
    """
    if address in METADATA_ADDRESSES:
        return _METADATA
    if isinstance(address, IPv6Address):
        embedded = find_embedded(address, nat64_prefixes)
        if embedded is not None:
            return ClassifiedAddress(kind=embedded.kind, embedded=embedded)
    special = find_range(address)
    return _PUBLIC if special is None else ClassifiedAddress(kind=special.kind)


_METADATA = ClassifiedAddress(kind=AddressClass.METADATA)
_PUBLIC = ClassifiedAddress(kind=AddressClass.PUBLIC)
