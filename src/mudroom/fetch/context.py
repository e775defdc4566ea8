"""The two seams through which a host program takes part in its fetches: a context and an observer.

Both are asked from inside the event loop and must not block. What they raise harms no fetch: it is logged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Protocol

from mudroom.address import ParsedUrl
from mudroom.fetch.events import FetchEvent

__all__ = [
    "FetchContext",
    "FetchLabel",
    "FetchObserver",
    "NullContext",
    "NullObserver",
    "RequestInitiator",
    "ResourceKind",
]


@unique
class ResourceKind(StrEnum):
    """What a host wants a resource for. A label for observers; it changes no scheduling."""

    DOCUMENT = "document"
    STYLE = "style"
    SCRIPT = "script"
    IMAGE = "image"
    FONT = "font"
    MEDIA = "media"
    DATA = "data"
    DOWNLOAD = "download"
    OTHER = "other"


@unique
class RequestInitiator(StrEnum):
    """What caused a request. A label for observers; what a request may reach is its exception scope."""

    NAVIGATION = "navigation"
    PARSER = "parser"
    SCRIPT = "script"
    PREFETCH = "prefetch"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class FetchLabel:
    """How a host recognises a request."""

    request_id: str
    """Of one request and its redirects; made where the caller gave none."""
    reference: str
    """The host's own word for a group of requests (a tab, a job); empty for none."""
    kind: ResourceKind
    initiator: RequestInitiator


class FetchObserver(Protocol):
    """Who hears of one request."""

    def on_event(self, event: FetchEvent) -> None:
        """Take note; must not block."""
        ...


class FetchContext(Protocol):
    """The host's part in every fetch."""

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        """Who hears of this request."""
        ...

    def on_reference_active(self, reference: str) -> None:
        """The first request of a reference has begun."""
        ...

    def on_reference_done(self, reference: str) -> None:
        """The last request of a reference has ended."""
        ...

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        """Whether this URL may be asked, beyond what the guard refuses.

        Asked for every hop before its name is resolved. False ends the fetch with POLICY_VIOLATION.
        """
        ...

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """The value of Cookie for a hop, or nothing; not asked where the caller set one himself."""
        ...

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        """The Set-Cookie fields of an answer, redirects included, in order."""
        ...


class NullObserver:
    """Hears nothing."""

    def on_event(self, event: FetchEvent) -> None:
        """Nothing."""


_NOBODY = NullObserver()


class NullContext:
    """Takes no part: every URL that the guard allows, no cookies, no observer."""

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        """Nobody."""
        del label
        return _NOBODY

    def on_reference_active(self, reference: str) -> None:
        """Nothing."""

    def on_reference_done(self, reference: str) -> None:
        """Nothing."""

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        """Always."""
        del url
        return True

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """None."""
        del url, partition
        return ""

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        """Nothing."""
