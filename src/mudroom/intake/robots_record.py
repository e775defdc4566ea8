"""What a run's record says of each robots.txt and sitemap: so that a replay finds the same, or the same failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mudroom.corpus import SourceRecord
from mudroom.errors import MudroomError
from mudroom.fetch import Streamed
from mudroom.snapshot import SourceKind, StoredSnapshot

__all__ = ["RecordSource", "record_answer", "record_failure"]

RecordSource = Callable[[SourceRecord], Awaitable[None]]
"""Notes in a run's record what was asked for beside its pages. Raises StoreFailed."""


def record_answer(
    file_url: str,
    answer: Streamed,
    kept: StoredSnapshot | None,
    wire_bytes: int,
    kind: SourceKind = SourceKind.ROBOTS,
) -> SourceRecord:
    """A file that came, whatever its status; `kept` is None where the archive does not have it."""
    return SourceRecord(
        kind=kind.value,
        url=file_url,
        final_url=answer.final.normalized,
        http_status=answer.status,
        source_ref=kept.source_ref if kept else None,
        hops=answer.hops,
        wire_bytes=wire_bytes,
        retrieved_at=kept.fetched_at if kept else None,
    )


def record_failure(
    file_url: str, error: MudroomError, wire_bytes: int, kind: SourceKind = SourceKind.ROBOTS
) -> SourceRecord:
    """A file that did not come."""
    return SourceRecord(
        kind=kind.value,
        url=file_url,
        code=error.code,
        message=error.message,
        hops=error.hops,
        wire_bytes=wire_bytes,
    )
