"""What this machine's own addresses are, and which networks it is on."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv6Interface, ip_interface

import ifaddr

from mudroom.address import IPAddress, IPNetwork

__all__ = ["list_own_addresses", "list_own_networks"]


def list_own_addresses() -> frozenset[IPAddress]:
    """Every address of every interface; a request to one would reach this machine itself."""
    return frozenset(interface.ip for interface in _list_interfaces())


def list_own_networks() -> tuple[IPNetwork, ...]:
    """The networks that are on the link, where neighbours answer without a router between."""
    networks = {interface.network for interface in _list_interfaces()}
    return tuple(sorted(networks, key=str))


def _list_interfaces() -> tuple[IPv4Interface | IPv6Interface, ...]:
    found = []
    for adapter in ifaddr.get_adapters():
        for entry in adapter.ips:
            # An IPv6 entry is (address, flow, scope).
            address = entry.ip[0] if isinstance(entry.ip, tuple) else entry.ip
            found.append(ip_interface(f"{address}/{entry.network_prefix}"))
    return tuple(found)
