"""Names resolved, addresses pinned, streams opened."""

from mudroom.net.curl import CurlTransport
from mudroom.net.headers import check_method, check_request_headers, declared_length
from mudroom.net.interfaces import list_own_addresses, list_own_networks
from mudroom.net.libcurl import HAD_KEY_LOG
from mudroom.net.limits import NetLimits
from mudroom.net.nat64 import discover_nat64, find_nat64_prefixes
from mudroom.net.resolver import Resolver, ResolverOptions, SystemResolver
from mudroom.net.transport import Headers, Transport, WireRequest, WireResponse

__all__ = [
    "HAD_KEY_LOG",
    "CurlTransport",
    "Headers",
    "NetLimits",
    "Resolver",
    "ResolverOptions",
    "SystemResolver",
    "Transport",
    "WireRequest",
    "WireResponse",
    "check_method",
    "check_request_headers",
    "declared_length",
    "discover_nat64",
    "find_nat64_prefixes",
    "list_own_addresses",
    "list_own_networks",
]
