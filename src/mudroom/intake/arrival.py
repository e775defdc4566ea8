"""Bytes that have come in: as the archive keeps them, and as the guests are given them.

Here a page and a file become the same thing. Everything is a pure function of what was fetched or named.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mudroom.address import ExceptionScope, site_of
from mudroom.extract import ExtractSource
from mudroom.fetch import Fetched
from mudroom.intake.outcome import PageFacts
from mudroom.intake.request import FileRequest, PageRequest
from mudroom.media import header_values
from mudroom.model import Initiator, Isolation, Provenance, RobotsState
from mudroom.robots import AGENT_TOKEN, forbids_following
from mudroom.snapshot import PreparedSnapshot, SnapshotInput, SourceKind

__all__ = ["Arrival", "receive_file", "receive_page", "snapshot_file", "snapshot_page", "trace_arrival"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What came in, from the network or from a file, ready to be read."""

    untrusted_body: bytes
    """Content codings removed; what a guest will read."""
    source: ExtractSource
    site: str
    """Whose guest reads it (decision 11)."""
    retrieved_at: datetime
    prepared: PreparedSnapshot | None
    """What may still have to be kept; None where the archive held it before."""
    link_scope: ExceptionScope
    initiator: Initiator
    robots: RobotsState
    is_nofollow: bool = False
    """A header asks robots not to follow the links."""


def snapshot_page(fetched: Fetched, facts: PageFacts, now: datetime) -> SnapshotInput:
    """A page as the archive keeps it: the bytes as received, and the chain that led to them."""
    return SnapshotInput(
        kind=SourceKind.PAGE,
        requested_url=facts.requested_url,
        url=fetched.final.href,
        status=fetched.status,
        fetched_at=now,
        body=fetched.body,
        headers=fetched.headers,
        raw_header=fetched.raw_header,
        redirects=fetched.hops,
        run_id=facts.run_id,
    )


def snapshot_file(request: FileRequest, facts: PageFacts, now: datetime) -> SnapshotInput:
    """A file as the archive keeps it, under the name or URL it is cited by."""
    return SnapshotInput(
        kind=SourceKind.FILE,
        requested_url=facts.requested_url,
        url=facts.requested_url,
        status=None,
        fetched_at=now,
        body=request.untrusted_body,
        headers=(("Content-Type", request.content_type),) if request.content_type else (),
        run_id=facts.run_id,
    )


def receive_page(
    request: PageRequest, fetched: Fetched, retrieved_at: datetime, prepared: PreparedSnapshot | None
) -> Arrival:
    """A page ready to be read; its links may use the exception that it was itself dialled in."""
    return Arrival(
        untrusted_body=fetched.decoded,
        source=ExtractSource(
            url=fetched.final.href,
            content_type="".join(header_values(fetched.headers, "content-type")[-1:]),
            views=request.views,
            no_sniff=_forbids_sniffing(fetched),
        ),
        site=site_of(fetched.final),
        retrieved_at=retrieved_at,
        prepared=prepared,
        link_scope=ExceptionScope.of(fetched.exception) if fetched.exception else ExceptionScope.none(),
        initiator=request.initiator,
        robots=request.robots,
        is_nofollow=forbids_following(header_values(fetched.headers, "x-robots-tag"), AGENT_TOKEN),
    )


def _forbids_sniffing(fetched: Fetched) -> bool:
    """Source: Fetch standard, determine nosniff: the first value of the header decides."""
    values = header_values(fetched.headers, "x-content-type-options")
    return bool(values) and values[0].partition(",")[0].strip().lower() == "nosniff"


def receive_file(
    request: FileRequest, snapshot: SnapshotInput, prepared: PreparedSnapshot, facts: PageFacts
) -> Arrival:
    """A file ready to be read, by a guest that reads no other."""
    return Arrival(
        untrusted_body=request.untrusted_body,
        source=ExtractSource(
            url=request.url or "",
            content_type=request.content_type,
            views=request.views,
            filename=request.name,
        ),
        site=f"file {facts.document_id}",
        retrieved_at=snapshot.fetched_at,
        prepared=prepared,
        link_scope=ExceptionScope.none(),
        initiator=Initiator.OPERATOR,
        robots=RobotsState.NOT_CHECKED,
    )


def trace_arrival(
    arrival: Arrival, facts: PageFacts, isolation: Isolation, source_ref: str | None
) -> Provenance:
    """Where a document came from, and how it was held while it was read."""
    return Provenance(
        document_id=facts.document_id,
        run_id=facts.run_id,
        requested_url=facts.requested_url,
        final_url=facts.final_url or facts.requested_url,
        hops=facts.hops,
        http_status=facts.http_status,
        content_type=arrival.source.content_type,
        retrieved_at=arrival.retrieved_at,
        source_ref=source_ref,
        sha256=facts.sha256 or "",
        size_bytes=facts.size_bytes,
        initiator=arrival.initiator,
        isolation=isolation,
        robots=arrival.robots,
    )
