"""A context that exports spans and metrics by OpenTelemetry's conventions for HTTP clients (extra `otel`).

    span     one a request, of kind CLIENT, named by its method; redirects are events in it
    metrics  http.client.request.duration, http.client.active_requests, http.client.response.body.size

Names are those of the semantic conventions (HTTP, 1.23 and later) with one deliberate gap: `url.full`, paths and
queries are not exported, since they hold secrets; scheme, host and port are. Requests carry no `traceparent`: ids of
ours are nothing that strangers need. Where the extra is missing, importing this module says how to install it.
"""

from __future__ import annotations

import time
from typing import Any

from mudroom import __version__
from mudroom.address import ParsedUrl, parse_url
from mudroom.fetch.context import FetchContext, FetchLabel
from mudroom.fetch.events import (
    BlockedEvent,
    CancelledEvent,
    FailedEvent,
    FetchEvent,
    FinishedEvent,
    IoEvent,
    ProgressEvent,
    RedirectedEvent,
    ResponseHeadersEvent,
    StartedEvent,
    WarningEvent,
)
from mudroom.fetch.observing import ObservingContext

try:
    from opentelemetry import context as otel_context
    from opentelemetry.metrics import MeterProvider, get_meter_provider
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider, get_tracer_provider
except ImportError as error:
    raise ImportError(
        "OpenTelemetryContext needs the package opentelemetry-api: pip install 'mudroom[otel]'"
    ) from error

__all__ = ["OpenTelemetryContext"]

_NAME = "mudroom.fetch"
_OTHER = "_OTHER"
_FIRST_ERROR_STATUS = 400
_NS = 1_000_000_000
_DURATION_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""What the conventions advise for http.client.request.duration, in seconds."""

Attributes = dict[str, str | int]


class OpenTelemetryContext(ObservingContext):
    """Exports each request, around another context or none, to the providers given or the global ones.

    Shapes: of more than `max_hosts` hosts the later ones are all `_OTHER` in metrics, whose memory grows with
        each combination of attributes; spans name every host.
    """

    def __init__(
        self,
        inner: FetchContext | None = None,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        max_hosts: int = 1000,
    ) -> None:
        super().__init__(self._make_observer, inner)
        self._tracer = (tracer_provider or get_tracer_provider()).get_tracer(_NAME, __version__)
        self._instruments = _Instruments(meter_provider or get_meter_provider(), max_hosts)

    def _make_observer(self, label: FetchLabel) -> _ExportingObserver:
        return _ExportingObserver(self._tracer, self._instruments, label)


class _Instruments:
    """The metrics, shared by all requests."""

    def __init__(self, provider: MeterProvider, max_hosts: int) -> None:
        meter = provider.get_meter(_NAME, __version__)
        self.duration = meter.create_histogram(
            "http.client.request.duration",
            unit="s",
            description="Duration of HTTP client requests.",
            explicit_bucket_boundaries_advisory=_DURATION_BOUNDS,
        )
        self.active = meter.create_up_down_counter(
            "http.client.active_requests", unit="{request}", description="Number of active HTTP requests."
        )
        self.body_size = meter.create_histogram(
            "http.client.response.body.size", unit="By", description="Size of HTTP client response bodies."
        )
        self._max_hosts = max_hosts
        self._hosts: set[str] = set()

    def name_host(self, host: str) -> str:
        """The host, or one name for all that come after too many."""
        if host not in self._hosts:
            if len(self._hosts) >= self._max_hosts:
                return _OTHER
            self._hosts.add(host)
        return host


class _ExportingObserver:
    """One request, from its observer's making to its ending, both told with their times."""

    def __init__(self, tracer: Any, instruments: _Instruments, label: FetchLabel) -> None:
        self._tracer = tracer
        self._instruments = instruments
        self._label = label
        # Made in the caller's task, where the span that this one belongs under is known; told on another thread.
        self._parent = otel_context.get_current()
        self._began_ns = time.time_ns()
        self._span: Span | None = None
        self._active: Attributes | None = None
        self._measured: Attributes = {"http.request.method": _OTHER}

    def on_event(self, event: FetchEvent) -> None:
        """An event whose time nobody noted."""
        self.on_timed_event(event, time.time_ns())

    def on_timed_event(self, event: FetchEvent, unix_ns: int) -> None:
        """Note an event on the span; end it, and measure, with the last."""
        match event:
            case StartedEvent():
                self._begin(event)
            case ResponseHeadersEvent():
                self._answer(event)
            case FinishedEvent():
                self._instruments.body_size.record(event.received_bytes, self._measured)
                self._end(unix_ns, {"http.response.body.size": event.received_bytes})
            case FailedEvent():
                self._fail(event.code.value)
                self._end(unix_ns, {})
            case CancelledEvent():
                self._fail("CANCELLED")
                self._end(unix_ns, {})
            case RedirectedEvent():
                self._note(
                    "redirect", unix_ns, _locate(event.to_url) | {"http.response.status_code": event.status}
                )
            case BlockedEvent():
                self._note("blocked", unix_ns, {"server.address": event.host, "error.type": event.code.value})
            case WarningEvent() | IoEvent():
                self._note("warning", unix_ns, {"message": event.message})
            case ProgressEvent():
                pass  # its last figure is the size of the body

    def _begin(self, event: StartedEvent) -> None:
        """A hop; the span tells of the first, and metrics of the one that answers."""
        is_first = self._active is None
        place = _locate(event.url)
        host = self._instruments.name_host(str(place.get("server.address", _OTHER)))
        self._measured = {"http.request.method": event.method, **place, "server.address": host}
        if is_first:
            self._active = dict(self._measured)
            self._instruments.active.add(1, self._active)
            span = self._open_span()
            span.update_name(event.method)
            span.set_attributes({"http.request.method": event.method, **place})

    def _open_span(self) -> Span:
        """The span of this request; begun when the request was, whenever that is told."""
        if self._span is None:
            attributes = {
                "mudroom.request_id": self._label.request_id,
                "mudroom.kind": self._label.kind.value,
            }
            if self._label.reference:
                attributes["mudroom.reference"] = self._label.reference
            self._span = self._tracer.start_span(
                "HTTP",
                context=self._parent,
                kind=SpanKind.CLIENT,
                start_time=self._began_ns,
                attributes=attributes,
            )
        return self._span

    def _answer(self, event: ResponseHeadersEvent) -> None:
        found: Attributes = {"http.response.status_code": event.status}
        version = event.protocol.partition("/")[2]
        if version:
            found["network.protocol.version"] = version
        self._measured |= found
        if event.address:
            found["network.peer.address"] = event.address
        self._open_span().set_attributes(found)
        if event.status >= _FIRST_ERROR_STATUS:
            self._fail(str(event.status))

    def _note(self, name: str, unix_ns: int, attributes: Attributes) -> None:
        self._open_span().add_event(name, attributes, unix_ns)

    def _fail(self, error_type: str) -> None:
        self._measured["error.type"] = error_type
        span = self._open_span()
        span.set_attribute("error.type", error_type)
        span.set_status(Status(StatusCode.ERROR))

    def _end(self, unix_ns: int, attributes: Attributes) -> None:
        span = self._open_span()
        span.set_attributes(attributes)
        span.end(unix_ns)
        if self._active is not None:
            self._instruments.active.add(-1, self._active)
        self._instruments.duration.record(max(0, unix_ns - self._began_ns) / _NS, self._measured)


def _locate(untrusted_url: str) -> Attributes:
    parsed = parse_url(untrusted_url)
    return {} if parsed is None else _place(parsed)


def _place(url: ParsedUrl) -> Attributes:
    """Scheme, host and port; no more of a URL is anybody's business."""
    return {"url.scheme": url.scheme, "server.address": url.host, "server.port": url.port}
