"""What an answer may hold: measured again outside, whatever the guest was told."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AnswerLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """The most that is accepted of one answer; a byte cap covers each string's UTF-8 form."""

    max_answer_bytes: int = 64 * 1024 * 1024
    max_view_bytes: int = 32 * 1024 * 1024
    max_title_bytes: int = 16 * 1024
    max_url_bytes: int = 64 * 1024
    """Of one link or base URL. A browser cuts near 2 MB; no server takes a tenth of this."""
    max_links: int = 100_000
    max_links_bytes: int = 16 * 1024 * 1024
    max_pieces: int = 1_000_000
    max_security_bytes: int = 48 * 1024 * 1024
    max_findings: int = 10_000
