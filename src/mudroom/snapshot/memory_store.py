"""The archive in memory: the same promises, gone with the process."""

from __future__ import annotations

from collections.abc import Sequence

from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.snapshot.envelope import (
    PreparedSnapshot,
    Snapshot,
    SnapshotInput,
    StoredSnapshot,
    prepare_snapshot,
)
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.reading import stored_from
from mudroom.snapshot.records import encode_span, read_span, verify_span
from mudroom.snapshot.reference import parse_source_ref
from mudroom.snapshot.writer import stored_of
from mudroom.warc import derive_record_id

__all__ = ["MemorySnapshotStore"]


class MemorySnapshotStore:
    """Snapshots in the form that they have on disk, in a dictionary."""

    def __init__(self, options: SnapshotOptions | None = None) -> None:
        self._options = options or SnapshotOptions()
        self._spans: dict[str, tuple[PreparedSnapshot, bytes]] = {}
        self._size_bytes = 0
        self._is_closed = False

    async def prepare(self, snapshot: SnapshotInput) -> PreparedSnapshot:
        """The snapshot with its reference, nothing kept."""
        return prepare_snapshot(snapshot)

    async def commit(self, prepared: PreparedSnapshot) -> StoredSnapshot:
        """The snapshot, kept. The same record a second time is a success."""
        self._require_open()
        if prepared.record_sha256 in self._spans:
            return stored_of(prepared, is_new=False)
        span = encode_span(
            prepared,
            warcinfo_id=derive_record_id("warcinfo", "memory"),
            gzip_level=self._options.gzip_level,
        )
        if self._size_bytes + len(span) > self._options.max_bytes:
            raise StoreFailed(Code.ARCHIVE_FULL, "the archive in memory has reached archive.max_bytes")
        self._size_bytes += len(span)
        self._spans[prepared.record_sha256] = (prepared, span)
        return stored_of(prepared, is_new=True)

    async def put(self, snapshot: SnapshotInput) -> StoredSnapshot:
        """`prepare` and `commit` in one."""
        return await self.commit(await self.prepare(snapshot))

    async def get(self, source_ref: str) -> Snapshot:
        """The one snapshot that the reference names."""
        ref = parse_source_ref(source_ref)
        self._require_open()
        if ref.record not in self._spans:
            if any(ref.fetched_at == taken for taken, *_ in self._history(ref.source_id)):
                raise _mismatch()
            raise _missing()
        snapshot = self._read(ref.record)
        if snapshot.source_ref != source_ref:
            raise _mismatch()
        return snapshot

    async def latest(self, source_id: str) -> Snapshot:
        """The newest snapshot of a source."""
        self._require_open()
        history = self._history(source_id)
        if not history:
            raise _missing()
        return self._read(history[0][-1])

    async def list(self, source_id: str) -> tuple[StoredSnapshot, ...]:
        """All snapshots of a source, newest first."""
        self._require_open()
        return tuple(stored_from(self._read(key), key) for *_, key in self._history(source_id))

    async def aclose(self) -> None:
        """Refuse from now on; a second call does nothing."""
        self._is_closed = True

    def _history(self, source_id: str) -> Sequence[tuple[str, str, str]]:
        return sorted(
            (
                (prepared.envelope.fetched_at, prepared.envelope.sha256, key)
                for key, (prepared, _) in self._spans.items()
                if prepared.envelope.source_id == source_id
            ),
            reverse=True,
        )

    def _read(self, record_sha256: str) -> Snapshot:
        return verify_span(read_span(self._spans[record_sha256][1], self._options.max_record_bytes))

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive was closed")


def _missing() -> NotFound:
    return NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")


def _mismatch() -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_MISMATCH, "the archive holds another snapshot than the reference names")
