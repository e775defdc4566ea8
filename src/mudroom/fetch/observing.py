"""A context with one more observer, so that contexts add up: one that logs around one that keeps cookies."""

from __future__ import annotations

from collections.abc import Callable

from mudroom.address import ParsedUrl
from mudroom.fetch.context import FetchContext, FetchLabel, FetchObserver, NullContext, NullObserver
from mudroom.fetch.events import FetchEvent
from mudroom.fetch.telling import TimedObserver

__all__ = ["ObservingContext"]


class ObservingContext:
    """Adds an observer to those of another context, whose answers hold."""

    def __init__(
        self, observe: Callable[[FetchLabel], FetchObserver], inner: FetchContext | None = None
    ) -> None:
        self._observe = observe
        self._inner: FetchContext = NullContext() if inner is None else inner

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        """Both observers; the inner one hears each event first."""
        inner, own = self._inner.observer_for(label), self._observe(label)
        return own if type(inner) is NullObserver else _Pair(inner, own)

    def on_reference_active(self, reference: str) -> None:
        """For the inner context."""
        self._inner.on_reference_active(reference)

    def on_reference_done(self, reference: str) -> None:
        """For the inner context."""
        self._inner.on_reference_done(reference)

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        """As the inner context says."""
        return self._inner.is_url_allowed(url)

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """As the inner context says."""
        return self._inner.cookies_for(url, partition)

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        """For the inner context."""
        self._inner.on_cookies_received(url, partition, set_cookie)


class _Pair:
    """Two observers; what the first raises keeps nothing from the second."""

    def __init__(self, first: FetchObserver, second: FetchObserver) -> None:
        self._first = first
        self._second = second

    def on_event(self, event: FetchEvent) -> None:
        """Tell both."""
        try:
            self._first.on_event(event)
        finally:
            self._second.on_event(event)

    def on_timed_event(self, event: FetchEvent, unix_ns: int) -> None:
        """Tell both, each in its way."""
        try:
            _tell(self._first, event, unix_ns)
        finally:
            _tell(self._second, event, unix_ns)


def _tell(observer: FetchObserver, event: FetchEvent, unix_ns: int) -> None:
    if isinstance(observer, TimedObserver):
        observer.on_timed_event(event, unix_ns)
    else:
        observer.on_event(event)
