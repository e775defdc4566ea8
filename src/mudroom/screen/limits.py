"""How much the scanner takes on: bounds that end in a finding that blocks, never in silence."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ScanLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimits:
    """Bounds of one scan: the section `screen` of the settings.

    A text over a bound is not scanned in part and called clean: it gets a finding that blocks.
    """

    max_text_bytes: int = 64 * 1024 * 1024
    """Of everything exposed and the security text together, as UTF-8."""
    max_pieces: int = 2_000_000
    """Strings of one document."""
    max_matches_per_line: int = 10
    """Of one rule; more say nothing new (facts of the classic scanner)."""
    max_findings: int = 1_000
    """Stored of one document, worst first; the verdict counts all."""
    max_decode_depth: int = 3
    """Encodings within encodings that are opened."""
    max_decoded_bytes: int = 8 * 1024 * 1024
    """Of all decoded views of one document together."""
