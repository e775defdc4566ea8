"""The archive in memory: the same promises, gone with the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence

from mudroom.clock import format_time
from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.snapshot.batch import as_original, history_full, may_be_revisit, stored_of
from mudroom.snapshot.envelope import (
    PreparedSnapshot,
    Snapshot,
    SnapshotInput,
    StoredSnapshot,
    prepare_snapshot,
)
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.pruning import PruneReport, PruneRule
from mudroom.snapshot.reading import ArchivedRecord, DamagedRecord, stored_from
from mudroom.snapshot.records import Original, ParsedSpan, encode_span, read_span, verify_span
from mudroom.snapshot.reference import parse_source_ref
from mudroom.warc import derive_record_id

__all__ = ["MemorySnapshotStore"]


class MemorySnapshotStore:
    """Snapshots in the form that they have on disk, in a dictionary in the order in which they were kept."""

    def __init__(self, options: SnapshotOptions | None = None) -> None:
        self._options = options or SnapshotOptions()
        self._spans: dict[str, tuple[PreparedSnapshot, bytes]] = {}
        self._originals: dict[tuple[str, str], Original] = {}
        """By run and digest of the body: the record that holds it."""
        self._counts: Counter[str] = Counter()
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
        if self._counts[prepared.envelope.source_id] >= self._options.max_records_per_source:
            raise history_full(self._options.max_records_per_source)
        content = (prepared.run_id, prepared.envelope.sha256)
        original = self._originals.get(content) if may_be_revisit(prepared) else None
        span = encode_span(
            prepared,
            warcinfo_id=derive_record_id("warcinfo", "memory"),
            gzip_level=self._options.gzip_level,
            original=original,
        )
        if self._size_bytes + len(span) > self._options.max_bytes:
            raise StoreFailed(Code.ARCHIVE_FULL, "the archive in memory has reached archive.max_bytes")
        self._size_bytes += len(span)
        self._counts[prepared.envelope.source_id] += 1
        self._spans[prepared.record_sha256] = (prepared, span)
        if original is None and may_be_revisit(prepared):
            self._originals[content] = as_original(prepared)
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
        snapshot = self._read(ref.record).snapshot
        if snapshot.source_ref != source_ref:
            raise _mismatch()
        return snapshot

    async def latest(self, source_id: str) -> Snapshot:
        """The newest snapshot of a source."""
        self._require_open()
        history = self._history(source_id)
        if not history:
            raise _missing()
        return self._read(history[0][-1]).snapshot

    async def list(self, source_id: str) -> tuple[StoredSnapshot, ...]:
        """All snapshots of a source, newest first."""
        self._require_open()
        return tuple(self._stored(key) for *_, key in self._history(source_id))

    async def find_in_run(self, run_id: str, source_id: str) -> tuple[StoredSnapshot, ...]:
        """What a run took of a source, oldest first."""
        self._require_open()
        return tuple(
            self._stored(key)
            for *_, key in reversed(self._history(source_id))
            if self._spans[key][0].run_id == run_id
        )

    async def iterate_run(self, run_id: str) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        """All that a run took, in order of time."""
        self._require_open()
        mine = [prepared for prepared, _ in self._spans.values() if prepared.run_id == run_id]
        for prepared in sorted(mine, key=lambda one: one.envelope.fetched_at):
            yield self._read(prepared.record_sha256)

    async def iterate_all(self) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        """All records in the order in which they were kept."""
        self._require_open()
        for record_sha256 in list(self._spans):
            yield self._read(record_sha256)

    async def list_run_ids(self) -> tuple[str, ...]:
        """The runs that any record is of, in order of their ids."""
        self._require_open()
        return tuple(sorted({prepared.run_id for prepared, _ in self._spans.values()}))

    async def prune(self, rule: PruneRule) -> PruneReport:
        """Remove what the rule gives up."""
        self._require_open()
        doomed = self._choose(rule)
        gone_bytes = sum(len(self._spans[key][1]) for key in doomed)
        retained = len(self._spans) - len(doomed)
        if not rule.is_dry_run:
            for key in doomed:
                prepared, span = self._spans.pop(key)
                self._counts[prepared.envelope.source_id] -= 1
                self._size_bytes -= len(span)
            kept = {
                content: one for content, one in self._originals.items() if one.record_sha256 in self._spans
            }
            self._originals = kept
        return PruneReport(
            removed=len(doomed),
            retained=retained,
            removed_bytes=gone_bytes,
            freed_bytes=0 if rule.is_dry_run else gone_bytes,
            is_dry_run=rule.is_dry_run,
        )

    def _choose(self, rule: PruneRule) -> set[str]:
        """The records that the rule gives up."""
        kept = {parse_source_ref(ref).record for ref in rule.keep}
        older_than = None if rule.older_than is None else format_time(rule.older_than)
        doomed: set[str] = set()
        for source_id in self._counts if rule.source_ids is None else set(rule.source_ids):
            for taken, _, key in self._history(source_id)[max(1, rule.keep_last) :]:
                is_of_run = rule.run_ids is None or self._spans[key][0].run_id in rule.run_ids
                if key not in kept and is_of_run and (older_than is None or taken < older_than):
                    doomed.add(key)
        needed = {self._parse(key).original_sha256 for key in self._spans if key not in doomed}
        return doomed - needed

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

    def _stored(self, record_sha256: str) -> StoredSnapshot:
        return stored_from(self._read(record_sha256).snapshot, record_sha256)

    def _read(self, record_sha256: str) -> ArchivedRecord:
        span = self._parse(record_sha256)
        original = None if span.original_sha256 is None else self._parse(span.original_sha256)
        return ArchivedRecord(
            snapshot=verify_span(span, original),
            record_sha256=record_sha256,
            content=span.content,
            metadata=span.metadata,
            original_sha256=span.original_sha256,
        )

    def _parse(self, record_sha256: str) -> ParsedSpan:
        return read_span(self._spans[record_sha256][1], self._options.max_record_bytes)

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive was closed")


def _missing() -> NotFound:
    return NotFound(Code.SNAPSHOT_MISSING, "the archive holds no such snapshot")


def _mismatch() -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_MISMATCH, "the archive holds another snapshot than the reference names")
