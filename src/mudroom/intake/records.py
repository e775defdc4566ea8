"""A page out of somebody's archive on its way to the guests: as if its answer had come now, and marked.

It is kept as a file of that URL, never as a page of it: what a stranger's archive says of a site must not be
what a crawl of the site asks about later, or takes for the site's own earlier answer.
"""

from __future__ import annotations

from dataclasses import replace

from mudroom.address import ExceptionScope, parse_url
from mudroom.errors import Code, EgressRefused
from mudroom.fetch import Fetched
from mudroom.intake.arrival import Arrival, receive_page, snapshot_page
from mudroom.intake.outcome import PageFacts
from mudroom.intake.request import PageRequest, RecordRequest
from mudroom.media import BodyDecoder, header_values
from mudroom.model import Initiator
from mudroom.snapshot import PreparedSnapshot, SnapshotInput, SourceKind

__all__ = ["IMPORTED_OPTION", "recall_record", "receive_record", "snapshot_record"]

IMPORTED_OPTION = "imported_from"
"""Among the options of a run whose pages are records of an archive: its name."""

_OK = 200


def recall_record(request: RecordRequest, max_decoded_bytes: int) -> Fetched:
    """The record as the answer that it was.

    Raises: EgressRefused INVALID_URL; ContentRefused where its content codings cannot be undone within bounds.
    """
    final = parse_url(request.url)
    if final is None:
        raise EgressRefused(Code.INVALID_URL, "the record's URL is none that a browser could open")
    codings = ",".join(header_values(request.headers, "content-encoding"))
    decoded = request.untrusted_body
    if codings and decoded:
        decoder = BodyDecoder(codings, max_decoded_bytes, host=final.host)
        decoded = decoder.feed(request.untrusted_body) + decoder.finish()
    return Fetched(
        requested_url=request.url,
        final=final,
        hops=(),
        status=_OK if request.status is None else request.status,
        reason="",
        protocol="",
        headers=request.headers,
        raw_header=request.raw_header,
        body=request.untrusted_body,
        decoded=decoded,
        exception=None,
        wire_bytes=0,
        duration_seconds=0.0,
    )


def snapshot_record(request: RecordRequest, fetched: Fetched, facts: PageFacts) -> SnapshotInput:
    """The record as the archive keeps it: what was no HTTP answer does not become one."""
    snapshot = snapshot_page(fetched, facts, request.retrieved_at)
    return replace(snapshot, kind=SourceKind.FILE, status=request.status)


def receive_record(request: RecordRequest, fetched: Fetched, prepared: PreparedSnapshot) -> Arrival:
    """The record ready to be read, by a guest of its site in an archive, which no page of the site shares."""
    page = PageRequest(
        untrusted_url=request.url,
        number=request.number,
        initiator=Initiator.OPERATOR,
        scope=ExceptionScope.none(),
        views=request.views,
    )
    arrival = receive_page(page, fetched, request.retrieved_at, prepared)
    return replace(arrival, site=f"archived {arrival.site}")
