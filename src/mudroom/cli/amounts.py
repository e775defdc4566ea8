"""Counts and sizes as a person says them."""

from __future__ import annotations

__all__ = ["describe_count", "describe_size"]

_UNIT = 1000
_TWO_DIGITS = 9.95
"""From here on a size is said without a fraction."""


def describe_count(count: int, noun: str) -> str:
    """A count and its noun: 1 record, 1,200 records."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def describe_size(size_bytes: int) -> str:
    """A size as a person says it: 812 bytes, 34 KB, 1.2 GB; units of 1000."""
    value, unit = float(size_bytes), ""
    for larger in ("KB", "MB", "GB", "TB"):
        if value < _UNIT:
            break
        value, unit = value / _UNIT, larger
    if not unit:
        return "1 byte" if size_bytes == 1 else f"{size_bytes} bytes"
    return f"{value:.1f} {unit}" if value < _TWO_DIGITS else f"{value:.0f} {unit}"
