"""Snapshots read from a folder, every digest checked; what does not agree is never returned."""

from __future__ import annotations

from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.snapshot.envelope import Snapshot, StoredSnapshot
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.index import SpanRow
from mudroom.snapshot.records import read_span, verify_span
from mudroom.snapshot.reference import parse_source_ref
from mudroom.snapshot.segment import read_bytes

__all__ = ["history_of", "read_latest", "read_snapshot", "stored_from"]

_HEADER_ROOM_BYTES = 2 * 1024**2  # WARC fields and HTTP header block beside the body


def read_snapshot(folder: ArchiveFolder, untrusted_ref: str) -> Snapshot:
    """The snapshot that the reference names.

    Raises: NotFound INVALID_REFERENCE, SNAPSHOT_MISSING; StoreFailed SNAPSHOT_MISMATCH when the record of
    that digest, or the source at that moment, is another than the reference says; SNAPSHOT_CORRUPT.
    """
    ref = parse_source_ref(untrusted_ref)
    row = folder.index.find(ref.record)
    if row is None:
        _require_whole_index(folder)
        if folder.index.has_moment(ref.source_id, ref.fetched_at):
            raise _mismatch()
        raise _missing()
    snapshot = _read_row(folder, row)
    if snapshot.source_ref != untrusted_ref:
        raise _mismatch()
    return snapshot


def read_latest(folder: ArchiveFolder, source_id: str) -> Snapshot:
    """The newest snapshot of the source; no other is read. Raises as `read_snapshot` does."""
    _require_whole_index(folder)
    rows = folder.index.history(source_id, limit=1)
    if not rows:
        raise _missing()
    return _read_own(folder, rows[0], source_id)


def history_of(folder: ArchiveFolder, source_id: str) -> tuple[StoredSnapshot, ...]:
    """All snapshots of the source, newest first, each read and checked. Raises as `read_snapshot` does."""
    _require_whole_index(folder)
    rows = folder.index.history(source_id)
    return tuple(stored_from(_read_own(folder, row, source_id), row.record_sha256) for row in rows)


def stored_from(snapshot: Snapshot, record_sha256: str) -> StoredSnapshot:
    """What the archive says of a snapshot that was read."""
    return StoredSnapshot(
        source_ref=snapshot.source_ref,
        source_id=snapshot.envelope.source_id,
        record_sha256=record_sha256,
        sha256=snapshot.envelope.sha256,
        fetched_at=snapshot.envelope.fetched_at,
        size_bytes=len(snapshot.body),
        is_new=False,
    )


def _require_whole_index(folder: ArchiveFolder) -> None:
    """Refuse to speak of what is not there while records may lie unindexed."""
    if folder.unrecovered is not None:
        raise StoreFailed(folder.unrecovered.code, folder.unrecovered.message)


def _read_own(folder: ArchiveFolder, row: SpanRow, source_id: str) -> Snapshot:
    snapshot = _read_row(folder, row)
    if snapshot.envelope.source_id != source_id:
        raise _not_as_indexed()
    return snapshot


def _read_row(folder: ArchiveFolder, row: SpanRow) -> Snapshot:
    data = read_bytes(folder.descriptor, row.segment_name, row.offset, row.length)
    span = read_span(data, row.content_bytes + _HEADER_ROOM_BYTES)
    if span.record_sha256 != row.record_sha256:
        raise _not_as_indexed()
    return verify_span(span)


def _missing() -> NotFound:
    return NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")


def _mismatch() -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_MISMATCH, "the archive holds another snapshot than the reference names")


def _not_as_indexed() -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_CORRUPT, "the archive holds another record than its index says")
