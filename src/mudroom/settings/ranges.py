"""The range of each setting that is a number; outside it a value is a fault, not a surprise later.

A limit below one would switch a bound off or turn it round, so none may be; upper ends are where a
neighbour's own bound lies (a frame between the jail's walls holds less than 2 GiB) or where a larger number
can only be a slip. The section `crawl` judges its own numbers (`CrawlPolicy.list_faults`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mudroom.settings.values import Range

__all__ = ["RANGES"]

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_HOUR_SECONDS = 3600
_SECONDS = Range(0.1, _HOUR_SECONDS)
_COUNT = Range(1, 1_000_000_000)
_CHARS = Range(1_000, 1_000_000_000)

RANGES: Mapping[tuple[str, str], Range] = MappingProxyType(
    {
        ("egress", "ports"): Range(1, 65_535),
        ("fetch", "connect_timeout_seconds"): _SECONDS,
        ("fetch", "response_timeout_seconds"): _SECONDS,
        ("fetch", "chain_timeout_seconds"): _SECONDS,
        ("fetch", "idle_timeout_seconds"): _SECONDS,
        ("fetch", "total_timeout_seconds"): Range(0.1, 24 * _HOUR_SECONDS),
        ("fetch", "max_body_bytes"): Range(1, _GIB),
        ("fetch", "max_decoded_bytes"): Range(1, _GIB),
        ("fetch", "max_header_bytes"): Range(_KIB, 16 * _MIB),
        ("fetch", "max_redirects"): Range(0, 50),
        ("fetch", "global_slots"): Range(1, 1_000),
        ("fetch", "origin_slots"): Range(1, 1_000),
        ("fetch", "http2_origin_slots"): Range(1, 1_000),
        ("fetch", "host_delay_seconds"): Range(0, _HOUR_SECONDS),
        ("fetch", "max_host_pause_seconds"): Range(0, _HOUR_SECONDS),
        ("archive", "max_bytes"): Range(_MIB, 1 << 50),
        ("archive", "max_segment_bytes"): Range(_MIB, 64 * _GIB),
        ("archive", "max_records_per_source"): Range(1, 1_000_000),
        ("jail", "guests_per_role"): Range(1, 256),
        ("jail", "wall_seconds"): Range(1, _HOUR_SECONDS),
        ("jail", "cpu_seconds"): Range(1, _HOUR_SECONDS),
        ("jail", "max_memory_bytes"): Range(128 * _MIB, 64 * _GIB),
        ("extract", "max_body_bytes"): Range(1, _GIB),
        ("extract", "max_depth"): Range(16, 100_000),
        ("extract", "max_nodes"): _COUNT,
        ("extract", "max_attributes"): _COUNT,
        ("extract", "max_selector_steps"): _COUNT,
        ("extract", "max_output_chars"): _CHARS,
        ("extract", "max_security_chars"): _CHARS,
        ("extract", "max_links"): Range(0, 100_000),
        ("extract", "max_pieces"): Range(1, 1_000_000),
        ("extract", "max_embedded_depth"): Range(0, 16),
        ("screen", "max_text_bytes"): Range(_KIB, _GIB),
        ("screen", "max_pieces"): _COUNT,
        ("screen", "max_matches_per_line"): Range(1, 1_000),
        ("screen", "max_findings"): Range(1, 10_000),
        ("screen", "max_decode_depth"): Range(1, 16),
        ("screen", "max_decoded_bytes"): Range(_KIB, _GIB),
        ("mcp", "max_calls"): Range(1, 256),
    }
)
