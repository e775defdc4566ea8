"""Snapshots read from a folder, every digest checked; what does not agree is never returned.

A record may be moved by a prune between the moment when the index told its place and the moment when it is
read. So a read that fails asks the index again, and fails for good only where the place is still the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.snapshot.envelope import Snapshot, StoredSnapshot
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.index import SpanRow
from mudroom.snapshot.records import ParsedSpan, read_span, verify_span
from mudroom.snapshot.reference import parse_source_ref
from mudroom.snapshot.segment import read_bytes
from mudroom.warc import ReadRecord

__all__ = [
    "HEADER_ROOM_BYTES",
    "ArchivedRecord",
    "DamagedRecord",
    "find_in_run",
    "history_of",
    "read_archived",
    "read_latest",
    "read_parsed",
    "read_snapshot",
    "require_whole_index",
    "stored_from",
]

HEADER_ROOM_BYTES = 2 * 1024**2  # WARC fields and HTTP header block beside the body
_MAX_MOVES = 100  # each needs a prune of its own between two reads


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRecord:
    """A snapshot with the two WARC records that stand for it."""

    snapshot: Snapshot
    """As `get` gives it: of a revisit with the body of its original."""
    record_sha256: str
    content: ReadRecord
    """As stored: a response, a resource, or a revisit without a body."""
    metadata: ReadRecord
    """The envelope."""
    original_sha256: str | None
    """Of a revisit: the record that holds its body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedRecord:
    """A record that is indexed and cannot be read; an iteration goes on behind it."""

    record_sha256: str
    failure: StoreFailed


def read_snapshot(folder: ArchiveFolder, untrusted_ref: str) -> Snapshot:
    """The snapshot that the reference names.

    Raises: NotFound INVALID_REFERENCE, SNAPSHOT_MISSING; StoreFailed SNAPSHOT_MISMATCH when the record of
    that digest, or the source at that moment, is another than the reference says; SNAPSHOT_CORRUPT.
    """
    ref = parse_source_ref(untrusted_ref)
    row = folder.index.find(ref.record)
    archived = None if row is None else _read_moving(folder, row)
    if archived is None:
        require_whole_index(folder)
        if folder.index.has_moment(ref.source_id, ref.fetched_at):
            raise _mismatch()
        raise _missing()
    if archived.snapshot.source_ref != untrusted_ref:
        raise _mismatch()
    return archived.snapshot


def read_latest(folder: ArchiveFolder, source_id: str, *, max_body_bytes: int | None = None) -> Snapshot:
    """The newest snapshot of the source; no other is read, but the original of a revisit.

    Raises as `read_snapshot` does; STORE_UNAVAILABLE when its body is larger than it may be.
    """
    require_whole_index(folder)
    for _ in range(_MAX_MOVES):
        rows = folder.index.history(source_id, limit=1)
        if not rows:
            break
        if max_body_bytes is not None and _body_bytes(folder, rows[0]) > max_body_bytes:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the body is larger than what may be read of it")
        snapshot = _read_own(folder, rows[0], source_id)
        if snapshot is not None:
            return snapshot
    raise _missing()


def history_of(folder: ArchiveFolder, source_id: str) -> tuple[StoredSnapshot, ...]:
    """All snapshots of the source, newest first, each read and checked. Raises as `read_snapshot` does."""
    require_whole_index(folder)
    return _stored(folder, folder.index.history(source_id), source_id)


def find_in_run(folder: ArchiveFolder, run_id: str, source_id: str) -> tuple[StoredSnapshot, ...]:
    """What a run took of the source, oldest first, each read and checked. Raises as `read_snapshot` does."""
    require_whole_index(folder)
    return _stored(folder, folder.index.of_run(run_id, source_id), source_id)


def read_archived(folder: ArchiveFolder, rows: Sequence[SpanRow]) -> list[ArchivedRecord | DamagedRecord]:
    """The records of these rows; what was pruned meanwhile is left out."""
    require_whole_index(folder)
    found: list[ArchivedRecord | DamagedRecord] = []
    for row in rows:
        try:
            archived = _read_moving(folder, row)
        except StoreFailed as failure:
            if failure.code is not Code.SNAPSHOT_CORRUPT:
                raise
            found.append(DamagedRecord(record_sha256=row.record_sha256, failure=failure))
            continue
        if archived is not None:
            found.append(archived)
    return found


def read_parsed(folder: ArchiveFolder, row: SpanRow) -> ParsedSpan:
    """The span at this place, which is the one that the index says; its digests are not computed.

    Raises: StoreFailed SNAPSHOT_CORRUPT.
    """
    data = read_bytes(folder.descriptor, row.segment_name, row.offset, row.length)
    span = read_span(data, row.content_bytes + HEADER_ROOM_BYTES)
    if (span.record_sha256, span.original_sha256) != (row.record_sha256, row.original_sha256):
        raise _not_as_indexed()
    return span


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


def _stored(folder: ArchiveFolder, rows: Sequence[SpanRow], source_id: str) -> tuple[StoredSnapshot, ...]:
    read = ((row, _read_own(folder, row, source_id)) for row in rows)
    return tuple(stored_from(snapshot, row.record_sha256) for row, snapshot in read if snapshot is not None)


def require_whole_index(folder: ArchiveFolder) -> None:
    """Refuse to speak of what is not there while records may lie unindexed."""
    if folder.unrecovered is not None:
        raise StoreFailed(folder.unrecovered.code, folder.unrecovered.message)


def _read_own(folder: ArchiveFolder, row: SpanRow, source_id: str) -> Snapshot | None:
    archived = _read_moving(folder, row)
    if archived is None:
        return None
    if archived.snapshot.envelope.source_id != source_id:
        raise _not_as_indexed()
    return archived.snapshot


def _read_moving(folder: ArchiveFolder, row: SpanRow) -> ArchivedRecord | None:
    """The record, wherever a prune has moved it meanwhile; None when it was pruned."""
    original = _original_of(folder, row)
    for _ in range(_MAX_MOVES):
        try:
            return _read_row(folder, row, original)
        except StoreFailed:
            now = folder.index.find(row.record_sha256)
            if now is None:
                return None
            original_now = _original_of(folder, now)
            if (now, original_now) == (row, original):
                raise
            row, original = now, original_now
    raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive is being pruned without pause; try again")


def _body_bytes(folder: ArchiveFolder, row: SpanRow) -> int:
    original = _original_of(folder, row)
    return row.content_bytes if original is None else original.content_bytes


def _original_of(folder: ArchiveFolder, row: SpanRow) -> SpanRow | None:
    return None if row.original_sha256 is None else folder.index.find(row.original_sha256)


def _read_row(folder: ArchiveFolder, row: SpanRow, original: SpanRow | None) -> ArchivedRecord:
    span = read_parsed(folder, row)
    return ArchivedRecord(
        snapshot=verify_span(span, None if original is None else read_parsed(folder, original)),
        record_sha256=row.record_sha256,
        content=span.content,
        metadata=span.metadata,
        original_sha256=row.original_sha256,
    )


def _missing() -> NotFound:
    return NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")


def _mismatch() -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_MISMATCH, "the archive holds another snapshot than the reference names")


def _not_as_indexed() -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_CORRUPT, "the archive holds another record than its index says")
