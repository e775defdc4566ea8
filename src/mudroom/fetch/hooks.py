"""What the walk from hop to hop asks of its host: a part of `FetchContext`, and nothing more.

A fetch in which no host takes part has none, and pays for none.
"""

from __future__ import annotations

from typing import Protocol

from mudroom.address import ParsedUrl

__all__ = ["HopHooks"]


class HopHooks(Protocol):
    """Asked on every hop, on the loop; what they raise ends the fetch with it, so whoever passes hooks guards them."""

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        """Whether the URL, as it would be sent, may be asked; before its name is resolved."""
        ...

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """The value of Cookie, or nothing."""
        ...

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        """The Set-Cookie headers of an answer, before the next hop asks for cookies."""
        ...
