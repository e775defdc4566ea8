"""What this machine's own addresses are, and which networks it is on."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv6Interface, ip_interface

import ifaddr

__all__ = ["Interface", "list_interfaces"]

Interface = IPv4Interface | IPv6Interface
"""An address of this machine, and the network on whose link it is: neighbours there answer without a router."""


def list_interfaces() -> tuple[Interface, ...]:
    """Every address of every interface, each once, in a fixed order."""
    found: set[Interface] = set()
    for adapter in ifaddr.get_adapters():
        for entry in adapter.ips:
            # An IPv6 entry is (address, flow, scope).
            address = entry.ip[0] if isinstance(entry.ip, tuple) else entry.ip
            found.add(ip_interface(f"{address}/{entry.network_prefix}"))
    return tuple(sorted(found, key=str))
