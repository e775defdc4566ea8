"""Names resolved, addresses pinned, streams opened."""

from mudroom.net.curl import CurlTransport
from mudroom.net.egress import MachineEgress, add_interfaces
from mudroom.net.headers import check_method, check_request_headers, declared_length
from mudroom.net.interfaces import Interface, list_interfaces
from mudroom.net.libcurl import HAD_KEY_LOG, METERED_SINCE, LibraryFacts, describe_library
from mudroom.net.limits import NetLimits
from mudroom.net.nat64 import discover_nat64, find_nat64_prefixes
from mudroom.net.proxies import list_proxies
from mudroom.net.resolver import Resolver, ResolverOptions, SystemResolver
from mudroom.net.transport import Headers, Transport, UploadBody, WireRequest, WireResponse

__all__ = [
    "HAD_KEY_LOG",
    "METERED_SINCE",
    "CurlTransport",
    "Headers",
    "Interface",
    "LibraryFacts",
    "MachineEgress",
    "NetLimits",
    "Resolver",
    "ResolverOptions",
    "SystemResolver",
    "Transport",
    "UploadBody",
    "WireRequest",
    "WireResponse",
    "add_interfaces",
    "check_method",
    "check_request_headers",
    "declared_length",
    "describe_library",
    "discover_nat64",
    "find_nat64_prefixes",
    "list_interfaces",
    "list_proxies",
]
