"""Text from outside between two lines that nothing in it can imitate."""

from __future__ import annotations

import secrets

__all__ = ["fence_text", "make_boundary"]

_BOUNDARY_BYTES = 16


def make_boundary(text: str) -> str:
    """A random word that does not stand in the text. Source: 128 bits, as UUIDs and MIME boundaries use."""
    while (boundary := secrets.token_hex(_BOUNDARY_BYTES)) in text:
        pass
    return boundary


def fence_text(text: str, boundary: str) -> str:
    """The text between its two lines."""
    return f"<<untrusted {boundary}>>\n{text}\n<<end of untrusted {boundary}>>"
