"""The egress policy of a run, as its options hold it: links are judged by it again, and nothing is dialled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Any

from mudroom.address import AllowedOrigin, EgressPolicy, IPNetwork
from mudroom.errors import Code, StoreFailed

__all__ = ["EGRESS_OPTION", "describe_egress", "find_egress"]

EGRESS_OPTION = "egress"
"""The option of a run under which its egress policy stands."""


def describe_egress(policy: EgressPolicy) -> dict[str, Any]:
    """What the operator let a run reach; nothing of the machine's own addresses."""
    return {
        "ports": sorted(policy.ports),
        "allow_origins": [origin.name for origin in policy.allow_origins],
        "allow_networks": [str(network) for network in policy.allow_networks],
        "deny_hosts": sorted(policy.deny_hosts),
        "deny_networks": [str(network) for network in policy.deny_networks],
    }


def find_egress(options: Mapping[str, Any], exceptions: Iterable[str] = ()) -> EgressPolicy:
    """The policy that a run's options describe; of a run that does not say, the usual one.

    Shapes: `exceptions` are names of exceptions that were used, for runs whose options do not say.
    Raises: StoreFailed SNAPSHOT_CORRUPT when the options hold what no policy can.
    """
    described = options.get(EGRESS_OPTION)
    try:
        if described is None:
            return _open_used(exceptions)
        return EgressPolicy(
            ports=frozenset(described["ports"]),
            allow_origins=tuple(map(AllowedOrigin.parse, described["allow_origins"])),
            allow_networks=tuple(map(_read_network, described["allow_networks"])),
            deny_hosts=frozenset(described["deny_hosts"]),
            deny_networks=tuple(map(_read_network, described["deny_networks"])),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT, "a run's record of what it might reach is damaged"
        ) from fault


def _read_network(described: object) -> IPNetwork:
    """A network as text; numbers, which Python takes for addresses too, are none."""
    if not isinstance(described, str):
        raise TypeError("a network is written as text")
    return ip_network(described)


def _open_used(exceptions: Iterable[str]) -> EgressPolicy:
    """The usual policy, with the exceptions that were used: an origin has a scheme, a network has none."""
    names = sorted(set(exceptions))
    origins = tuple(AllowedOrigin.parse(name) for name in names if "://" in name)
    networks = tuple(ip_network(name) for name in names if "://" not in name)
    return EgressPolicy(allow_origins=origins, allow_networks=networks)
