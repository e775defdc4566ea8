"""A jail opened, fed, bounded, closed."""

from mudroom.jail.options import EXTRACT_ROLE, SCAN_ROLE, GuestRole, GuestSharing, JailOptions
from mudroom.jail.pool import ExtractRequest, GuestPool, SitemapRequest
from mudroom.jail.probe import ProbeResult, probe_isolation

__all__ = [
    "EXTRACT_ROLE",
    "SCAN_ROLE",
    "ExtractRequest",
    "GuestPool",
    "GuestRole",
    "GuestSharing",
    "JailOptions",
    "ProbeResult",
    "SitemapRequest",
    "probe_isolation",
]
