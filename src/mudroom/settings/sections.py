"""Sections that are a file's way of writing what a floor takes; the other sections are the floors' own options."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from mudroom.address import AllowedOrigin, IPNetwork
from mudroom.jail import GuestSharing
from mudroom.model import Isolation
from mudroom.screen import WarnHandling
from mudroom.settings.values import Host
from mudroom.snapshot import KeepRule

__all__ = ["ArchiveSettings", "EgressSettings", "FetchSettings", "JailSettings", "McpSettings"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressSettings:
    """Where requests may go. There is no switch that turns the guard off."""

    ports: frozenset[int] = frozenset({80, 443})
    """TCP ports that may be reached."""
    allow_origins: tuple[AllowedOrigin, ...] = ()
    """Exact origins opened although they are not public, such as http://127.0.0.1:8000."""
    allow_networks: tuple[IPNetwork, ...] = ()
    """Networks opened although they are not public, such as 10.20.0.0/16, for URLs that you name."""
    deny_hosts: frozenset[Host] = frozenset()
    """Hosts refused with their subdomains, on every hop."""
    deny_networks: tuple[IPNetwork, ...] = ()
    """Networks refused, on every hop."""
    ca_file: str | None = None
    """PEM file of further trust anchors, valid for ca_hosts only."""
    ca_hosts: frozenset[Host] = frozenset()
    """The hosts for which ca_file is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How requests are made."""

    user_agent: str | None = None
    """What the User-Agent header says; none given: mudroom and its version."""
    connect_timeout_seconds: float = 5.0
    """Until a connection stands, TLS included."""
    response_timeout_seconds: float = 60.0
    """Until the headers are here."""
    chain_timeout_seconds: float = 120.0
    """For all redirects together, until the headers of the last answer are here."""
    idle_timeout_seconds: float = 15.0
    """The longest gap within a body."""
    total_timeout_seconds: float = 180.0
    """For the whole body."""
    max_body_bytes: int = 10 * _MIB
    """Of a body as received."""
    max_decoded_bytes: int = 16 * _MIB
    """Of a body once its content codings are removed."""
    max_header_bytes: int = 256 * 1024
    """Of all headers of an answer."""
    max_redirects: int = 20
    """Hops that `open` follows."""
    global_slots: int = 32
    """Exchanges under way at once, to all origins together."""
    origin_slots: int = 6
    """Exchanges under way at once to one origin, or `crawl.per_host_concurrency` where that is more."""
    http2_origin_slots: int = 16
    """The same for an origin that has been seen to speak HTTP/2."""
    host_delay_seconds: float = 0.0
    """From one start to the next at the same host; a crawl has its own besides."""
    max_host_pause_seconds: float = 120.0
    """The longest that a host which answers 429 or 503 is left alone, whatever its Retry-After says."""
    hsts: bool = True
    """Whether hosts that said so over https are asked over https only, in later runs too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """What is kept of the bytes."""

    keep: KeepRule = KeepRule.ALL
    """all, accepted or none; replay and verify need all."""
    max_bytes: int = 10 * 1024 * _MIB
    """Of all segments together; then ARCHIVE_FULL."""
    max_segment_bytes: int = 1024 * _MIB
    """Of one segment; then the next is begun."""
    max_records_per_source: int = 10_000
    """Records kept of one URL; then SNAPSHOT_HISTORY_FULL, until some are pruned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """What agents may do."""

    allow_origins: tuple[AllowedOrigin, ...] = ()
    """Exact origins that count as named by you when an agent names them."""
    warn: WarnHandling = WarnHandling.QUARANTINE
    """flag, quarantine or block documents with a warning."""
    max_calls: int = 8
    """Calls at work at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JailSettings:
    """How guests are held, and what one document may cost."""

    isolation: Isolation | Literal["auto"] = "auto"
    """auto, strict, confined or process; auto is the strongest that passes its probe here, and for agents
    never process, which has to be named."""
    by: GuestSharing = GuestSharing.SITE
    """site or document: what one guest may read before it is replaced."""
    guests_per_role: int = field(default_factory=lambda: max(2, os.cpu_count() or 1))
    """Readers, and scanners, at work at the same time."""
    wall_seconds: float = 60.0
    """For one document in one guest."""
    cpu_seconds: float = 20.0
    """For one document in one guest."""
    max_memory_bytes: int = 1024 * _MIB
    """Of one guest."""
