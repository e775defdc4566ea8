"""What the walk from hop to hop asks of its host, and tells: a part of `FetchContext`, and nothing more.

A fetch in which no host takes part has neither, and pays for neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mudroom.address import ParsedUrl
from mudroom.fetch.events import FetchEvent

__all__ = ["HopHooks", "Tell"]

Tell = Callable[[FetchEvent], None]
"""Hears the events of one request: `FetchObserver.on_event`, or what stands between."""


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
