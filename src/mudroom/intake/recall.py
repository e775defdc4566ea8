"""An answer that the archive held before: served from there, under the reference that it has there."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.address import ParsedUrl
from mudroom.fetch import Fetched
from mudroom.media import BodyDecoder, header_values
from mudroom.model import Hop
from mudroom.snapshot import Snapshot

__all__ = ["Recalled", "recall_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What the archive holds in place of what the network would have sent."""

    fetched: Fetched
    snapshot: Snapshot
    revalidated_at: str | None = None
    """When the site said that this is still its page; None where nobody asked it."""


def recall_answer(
    snapshot: Snapshot,
    final: ParsedUrl,
    *,
    requested_url: str,
    hops: tuple[Hop, ...],
    wire_bytes: int,
    duration_seconds: float,
    max_decoded_bytes: int,
) -> Fetched:
    """A snapshot as the answer that it was; how it was come by this time is told by the caller.

    Shapes: `final` is the snapshot's URL, `hops` are the requests that led to it this time.
    Raises: ContentRefused where its content codings cannot be undone within `max_decoded_bytes`.
    """
    codings = ",".join(header_values(snapshot.headers, "content-encoding"))
    decoded = snapshot.body
    if codings and snapshot.body:
        decoder = BodyDecoder(codings, max_decoded_bytes, host=final.host)
        decoded = decoder.feed(snapshot.body) + decoder.finish()
    last = hops[-1]
    return Fetched(
        requested_url=requested_url,
        final=final,
        hops=hops,
        status=snapshot.envelope.status or 0,
        reason="",
        protocol=last.protocol,
        headers=snapshot.headers,
        raw_header=snapshot.http_block,
        body=snapshot.body,
        decoded=decoded,
        exception=last.exception,
        wire_bytes=wire_bytes,
        duration_seconds=duration_seconds,
    )
