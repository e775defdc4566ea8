"""The peer of a connection, held against the addresses that were judged."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from ipaddress import ip_address

from mudroom.address import ParsedUrl
from mudroom.errors import Code, EgressRefused

__all__ = ["is_judged_peer", "refuse_peer"]


def is_judged_peer(address: str, port: int, allowed: AbstractSet[str], url: ParsedUrl) -> bool:
    """Whether a connection to this peer is one to the URL's port at an address that passed."""
    return port == url.port and (address in allowed or _plain(address) in allowed)


def refuse_peer(url: ParsedUrl) -> EgressRefused:
    """What is said of a connection that would have gone elsewhere."""
    return EgressRefused(
        Code.DENIED_ADDRESS,
        f"the connection for {url.host} would have gone to another address than the one judged",
    )


def _plain(address: str) -> str:
    """An address in the one spelling that Python gives it; the text itself when it is none."""
    try:
        return str(ip_address(address))
    except ValueError:
        return address
