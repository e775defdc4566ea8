"""Fetches as OpenTelemetry spans and metrics: the conventions' names, and nothing secret in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import mudroom
from mudroom.errors import Code
from mudroom.fetch import FetchLabel, RequestInitiator, ResourceKind
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
from mudroom.fetch.otel import OpenTelemetryContext
from mudroom.fetch.telling import Telling

LABEL = FetchLabel("7", "tab", ResourceKind.DOCUMENT, RequestInitiator.NAVIGATION)
SECRET = "https://example.org/secret?token=secret"
STARTED = StartedEvent(SECRET, "HEAD")
ANSWERED = ResponseHeadersEvent(SECRET, 200, (("X", "secret"),), "HTTP/1.1", "192.0.2.7")
HERE = {"url.scheme": "https", "server.address": "example.org", "server.port": 443}


class Collected:
    """A context, and what it exported."""

    def __init__(self, max_hosts: int = 1000) -> None:
        self.spans = InMemorySpanExporter()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.tracers = tracers
        self.reader = InMemoryMetricReader()
        self.context = OpenTelemetryContext(
            tracer_provider=tracers,
            meter_provider=MeterProvider(metric_readers=[self.reader]),
            max_hosts=max_hosts,
        )

    async def tell(self, *events: FetchEvent) -> None:
        telling = Telling(self.context)
        watch = telling.watch(LABEL)
        assert watch is not None
        for event in events:
            watch.tell(event)
        await telling.aclose()

    def span(self) -> ReadableSpan:
        (span,) = self.spans.get_finished_spans()
        return span

    def points(self, name: str) -> Sequence[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return ()
        metrics = data.resource_metrics[0].scope_metrics[0].metrics
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


@pytest.fixture
def collected() -> Collected:
    return Collected()


async def test_a_request_is_one_span_of_the_conventions_names(collected: Collected) -> None:
    await collected.tell(STARTED, ANSWERED, ProgressEvent(3, 9), FinishedEvent(9, 0.5))
    span = collected.span()
    assert (span.name, span.kind, span.status.status_code) == ("HEAD", SpanKind.CLIENT, StatusCode.UNSET)
    assert span.attributes == {
        "mudroom.request_id": "7",
        "mudroom.reference": "tab",
        "mudroom.kind": "document",
        "http.request.method": "HEAD",
        **HERE,
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
        "network.peer.address": "192.0.2.7",
        "http.response.body.size": 9,
    }


async def test_metrics_measure_the_request_and_are_left_with_none_active(collected: Collected) -> None:
    await collected.tell(STARTED, ANSWERED, FinishedEvent(9, 0.5))
    (duration,) = collected.points("http.client.request.duration")
    assert duration.attributes == {
        "http.request.method": "HEAD",
        **HERE,
        "http.response.status_code": 200,
        "network.protocol.version": "1.1",
    }
    assert duration.count == 1
    assert duration.explicit_bounds[0] == 0.005
    (size,) = collected.points("http.client.response.body.size")
    assert (size.sum, size.count) == (9, 1)
    (active,) = collected.points("http.client.active_requests")
    assert (active.value, active.attributes) == (0, {"http.request.method": "HEAD", **HERE})


ENDINGS: list[tuple[str, tuple[FetchEvent, ...], str]] = [
    ("failed", (STARTED, FailedEvent(Code.CONNECT_TIMEOUT, "too late")), "CONNECT_TIMEOUT"),
    ("cancelled", (STARTED, CancelledEvent()), "CANCELLED"),
    ("status", (STARTED, ResponseHeadersEvent(SECRET, 503, ()), FinishedEvent(0, 0.1)), "503"),
    ("never begun", (FailedEvent(Code.DENIED_HOST, "refused"),), "DENIED_HOST"),
]


@pytest.mark.parametrize(
    ("events", "error_type"), [row[1:] for row in ENDINGS], ids=[row[0] for row in ENDINGS]
)
async def test_what_went_wrong_is_an_error_of_its_type(
    collected: Collected, events: tuple[FetchEvent, ...], error_type: str
) -> None:
    await collected.tell(*events)
    span = collected.span()
    assert span.attributes is not None
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, error_type)
    (duration,) = collected.points("http.client.request.duration")
    assert duration.attributes["error.type"] == error_type
    assert sum(point.value for point in collected.points("http.client.active_requests")) == 0


async def test_what_happens_on_the_way_is_told_in_the_span_with_hosts_alone(collected: Collected) -> None:
    there = "http://other.example:8080/secret"
    await collected.tell(
        STARTED,
        RedirectedEvent(SECRET, there, 302),
        StartedEvent(there),
        WarningEvent("odd"),
        IoEvent("disk full"),
        BlockedEvent("closed.example", Code.DENIED_HOST),
        FailedEvent(Code.DENIED_HOST, "refused"),
    )
    span = collected.span()
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == [
        (
            "redirect",
            {
                "url.scheme": "http",
                "server.address": "other.example",
                "server.port": 8080,
                "http.response.status_code": 302,
            },
        ),
        ("warning", {"message": "odd"}),
        ("warning", {"message": "disk full"}),
        ("blocked", {"server.address": "closed.example", "error.type": "DENIED_HOST"}),
    ]
    assert "secret" not in span.to_json()
    (duration,) = collected.points("http.client.request.duration")
    assert duration.attributes["server.address"] == "other.example"


async def test_a_span_stands_under_that_of_the_caller(collected: Collected) -> None:
    with collected.tracers.get_tracer("test").start_as_current_span("caller") as caller:
        await collected.tell(STARTED, FinishedEvent(0, 0.1))
    span = collected.spans.get_finished_spans()[0]
    assert span.parent is not None
    assert span.parent.span_id == caller.get_span_context().span_id


async def test_hosts_past_the_limit_share_one_name_in_metrics() -> None:
    collected = Collected(max_hosts=2)
    for number in (1, 2, 3, 4, 1):
        await collected.tell(StartedEvent(f"https://host{number}.example/"), FinishedEvent(0, 0.1))
    hosts = {
        point.attributes["server.address"]: point.count
        for point in collected.points("http.client.request.duration")
    }
    assert hosts == {"host1.example": 2, "host2.example": 1, "_OTHER": 2}


def test_without_the_extra_the_error_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None; import mudroom; mudroom.OpenTelemetryContext"
    environment = os.environ | {"PYTHONPATH": str(Path(mudroom.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert done.stderr.endswith("needs the package opentelemetry-api: pip install 'mudroom[otel]'\n")
