"""What a segment holds, read from the segment itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from mudroom.errors import StoreFailed
from mudroom.snapshot.index import IndexRow
from mudroom.snapshot.records import ParsedSpan, check_content, join_span, verify_span
from mudroom.snapshot.segment import SegmentFile
from mudroom.warc import Damage, ScanItem, derive_record_id, iterate

__all__ = ["SegmentScan", "scan_segment"]


@dataclass(slots=True)
class SegmentScan:
    """The whole snapshots of a stretch of a segment, and whether anything else stands there."""

    end: int
    """Where the last whole snapshot ends."""
    size_bytes: int
    rows: list[IndexRow] = field(default_factory=list)
    gap_count: int = 0
    """Stretches before `end` that are no snapshot."""

    def cover(self, offset: int, length: int) -> None:
        """Note what is whole."""
        self.gap_count += offset > self.end
        self.end = offset + length

    @property
    def is_sound(self) -> bool:
        """Whether every byte belongs to a whole snapshot."""
        return self.gap_count == 0 and self.end == self.size_bytes


def scan_segment(file: SegmentFile, *, start: int, max_record_bytes: int) -> SegmentScan:
    """What stands in the segment from `start` on. Memory: one snapshot at a time, and a row for each."""
    scan = SegmentScan(end=start, size_bytes=file.end)
    content: ScanItem | None = None
    owner_id = derive_record_id("warcinfo", file.name)
    with os.fdopen(os.dup(file.descriptor), "rb") as stream:
        for item in iterate(stream, max_record_bytes=max_record_bytes, start=start, owner_id=owner_id):
            if isinstance(item, Damage):
                content = None
            elif item.offset == 0 and (item.record.type, item.record.record_id) == ("warcinfo", owner_id):
                scan.cover(0, item.length)
            elif item.record.type == "metadata":
                row = _row(content, item)
                content = None
                if row is not None:
                    scan.rows.append(row)
                    scan.cover(row.offset, row.length)
            else:
                content = item
    return scan


def _row(content: ScanItem | None, metadata: ScanItem) -> IndexRow | None:
    """The snapshot of the two, if both are there and agree."""
    if content is None or content.offset + content.length != metadata.offset:
        return None
    try:
        span = join_span(content.record, metadata.record)
        body_bytes, run_id = _judge(span)
    except StoreFailed:
        return None
    return IndexRow(
        record_sha256=span.record_sha256,
        source_id=span.envelope.source_id,
        fetched_at=span.envelope.fetched_at,
        sha256=span.envelope.sha256,
        offset=content.offset,
        length=content.length + metadata.length,
        content_bytes=body_bytes,
        run_id=run_id,
        original_sha256=span.original_sha256,
    )


def _judge(span: ParsedSpan) -> tuple[int, str]:
    """How large the body in the record is, and of which run it is. Raises StoreFailed SNAPSHOT_CORRUPT."""
    if span.original_sha256 is None:
        snapshot = verify_span(span)
        return len(snapshot.body), snapshot.run_id
    check_content(span)
    return 0, span.run_id
