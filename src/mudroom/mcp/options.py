"""What agents may do, and how much of it at once."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.address import AllowedOrigin
from mudroom.screen import WarnHandling

__all__ = ["McpOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """The options of the agent's tools."""

    allow_origins: tuple[AllowedOrigin, ...] = ()
    """Exact origins that count as named by the operator when an agent names them (decision 4)."""
    warn: WarnHandling = WarnHandling.QUARANTINE
    """What becomes of a page of a document whose own scan warns."""
    max_calls: int = 8
    """Calls at work at the same time; others wait."""
    max_kept_documents: int = 32
    """Long documents whose pages can still be asked for; the one not asked for longest goes first."""
    max_kept_chars: int = 32_000_000
    """Of all of them together."""
    review_command: str = "mudroom runs {run_id}"
    """What a person types to see what became of a page."""
