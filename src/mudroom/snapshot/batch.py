"""One batch of snapshots into one segment: packed, appended, synced, indexed; each gets its own answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.envelope import PreparedSnapshot, StoredSnapshot
from mudroom.snapshot.folder import ArchiveFolder, OpenSegment
from mudroom.snapshot.index import AddRefusal, IndexRow
from mudroom.snapshot.options import SnapshotOptions
from mudroom.snapshot.reading import read_parsed
from mudroom.snapshot.records import Original, encode_span, verify_span

__all__ = ["Answer", "as_original", "history_full", "may_be_revisit", "stored_of", "write_batch"]

Answer = StoredSnapshot | StoreFailed

_FIELDS_ROOM_BYTES = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A snapshot as it will stand in the segment."""

    prepared: PreparedSnapshot
    data: bytes
    original: Original | None


def write_batch(
    folder: ArchiveFolder,
    segment: OpenSegment,
    options: SnapshotOptions,
    batch: Mapping[str, PreparedSnapshot],
) -> dict[str, Answer]:
    """The answer for each record of the batch, by its digest; none of them is indexed yet.

    Raises: OSError, sqlite3.Error; then nothing of the batch that has no answer is kept.
    """
    writing = _Writing(folder, segment, options)
    left = writing.without_refused(batch)
    while left:
        left = writing.write(left)
    return writing.answers


class _Writing:
    """What one batch has come to."""

    def __init__(self, folder: ArchiveFolder, segment: OpenSegment, options: SnapshotOptions) -> None:
        self._folder = folder
        self._segment = segment
        self._options = options
        self._whole: set[str] = set()
        """Records that are written whole, since their original was pruned while we wrote."""
        self.answers: dict[str, Answer] = {}

    def without_refused(self, batch: Mapping[str, PreparedSnapshot]) -> dict[str, PreparedSnapshot]:
        """Those that can be known to fit before anything is written; the others are answered."""
        left: dict[str, PreparedSnapshot] = {}
        limit = self._options.max_record_bytes
        for record, prepared in batch.items():
            source_id = prepared.envelope.source_id
            if len(prepared.body) + len(prepared.raw_header) > limit - _FIELDS_ROOM_BYTES:
                self.answers[record] = StoreFailed(Code.ARCHIVE_FULL, f"one record may hold {limit} bytes")
            elif self._folder.index.count_of(source_id) >= self._options.max_records_per_source:
                self.answers[record] = history_full(self._options.max_records_per_source)
            else:
                left[record] = prepared
        return left

    def write(self, batch: Mapping[str, PreparedSnapshot]) -> dict[str, PreparedSnapshot]:
        """What is still to be written: nothing, or what another process left no room or original for."""
        spans = self._fitting(self._encode(batch))
        if not spans:
            return {}
        offset = self._segment.file.end
        self._segment.file.append([span.data for span in spans], is_synced=self._options.is_synced)
        rows: list[IndexRow] = []
        for span in spans:
            rows.append(_index_row(span, offset))
            offset += len(span.data)
        refusal = self._index_or_cut(rows, offset)
        if refusal is None:
            self.answers.update((s.prepared.record_sha256, stored_of(s.prepared, is_new=True)) for s in spans)
            return {}
        limit = self._options.max_records_per_source
        self.answers.update((record, history_full(limit)) for record in refusal.over_limit)
        self._whole |= refusal.without_original
        return {
            span.prepared.record_sha256: span.prepared
            for span in spans
            if span.prepared.record_sha256 not in refusal.over_limit
        }

    def _encode(self, batch: Mapping[str, PreparedSnapshot]) -> list[_Span]:
        """The spans to write, each that repeats a body of its run as a revisit."""
        spans: list[_Span] = []
        mine: dict[tuple[str, str], Original] = {}
        for record, prepared in batch.items():
            content = (prepared.run_id, prepared.envelope.sha256)
            original = None
            if may_be_revisit(prepared) and record not in self._whole:
                original = mine.get(content) or self._find_original(prepared)
                if original is None:
                    mine[content] = as_original(prepared)
            data = encode_span(
                prepared,
                warcinfo_id=self._segment.warcinfo_id,
                gzip_level=self._options.gzip_level,
                original=original,
            )
            spans.append(_Span(prepared=prepared, data=data, original=original))
        return spans

    def _find_original(self, prepared: PreparedSnapshot) -> Original | None:
        """A record of this run that holds this body, read to see that it does; a damaged one is none."""
        row = self._folder.index.find_original(prepared.run_id, prepared.envelope.sha256)
        if row is None:
            return None
        try:
            span = read_parsed(self._folder, row)
            snapshot = verify_span(span)
        except StoreFailed:
            return None
        if span.envelope.status is None or snapshot.body != prepared.body:
            return None
        return Original(
            record_sha256=row.record_sha256, url=span.envelope.url, fetched_at=span.envelope.fetched_at
        )

    def _fitting(self, spans: list[_Span]) -> list[_Span]:
        """Those that archive.max_bytes has room for; the others are answered, and what repeats them too."""
        fitting: list[_Span] = []
        refused: dict[str, StoreFailed] = {}
        end = self._segment.file.end
        for span in spans:
            failure = refused.get(span.original.record_sha256) if span.original else None
            failure = failure or self._reserve(end + len(span.data))
            if failure is not None:
                record = span.prepared.record_sha256
                self.answers[record] = refused[record] = failure
                continue
            fitting.append(span)
            end += len(span.data)
        return fitting

    def _reserve(self, size_bytes: int) -> StoreFailed | None:
        try:
            self._folder.reserve(self._segment, size_bytes)
        except StoreFailed as failure:
            return failure
        return None

    def _index_or_cut(self, rows: list[IndexRow], end: int) -> AddRefusal | None:
        """Index what was appended. What the index refuses, or has no room for, is cut off again.

        After any other fault it stays: whether it was indexed is not known, and what is whole is found later.
        """
        start = rows[0].offset
        limit = self._options.max_records_per_source
        try:
            refusal = self._folder.index.add(self._segment.key, rows, end=end, max_records_per_source=limit)
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode == sqlite3.SQLITE_FULL:
                self._segment.file.cut(start)
            raise
        if refusal is not None:
            self._segment.file.cut(start)
        return refusal


def may_be_revisit(prepared: PreparedSnapshot) -> bool:
    """Whether a body that its run holds already need not be kept again: an HTTP answer of a run with a body."""
    return bool(prepared.run_id and prepared.body and prepared.envelope.status is not None)


def history_full(limit: int) -> StoreFailed:
    """What is said to the record of a source that has as many as it may."""
    return StoreFailed(
        Code.SNAPSHOT_HISTORY_FULL, f"the archive holds {limit} records of this source, as many as it may"
    )


def stored_of(prepared: PreparedSnapshot, *, is_new: bool) -> StoredSnapshot:
    """What the archive says of a snapshot that it holds."""
    return StoredSnapshot(
        source_ref=prepared.source_ref,
        source_id=prepared.envelope.source_id,
        record_sha256=prepared.record_sha256,
        sha256=prepared.envelope.sha256,
        fetched_at=prepared.envelope.fetched_at,
        size_bytes=len(prepared.body),
        is_new=is_new,
    )


def as_original(prepared: PreparedSnapshot) -> Original:
    """The record as one that a revisit can name."""
    return Original(
        record_sha256=prepared.record_sha256,
        url=prepared.envelope.url,
        fetched_at=prepared.envelope.fetched_at,
    )


def _index_row(span: _Span, offset: int) -> IndexRow:
    envelope = span.prepared.envelope
    return IndexRow(
        record_sha256=span.prepared.record_sha256,
        source_id=envelope.source_id,
        fetched_at=envelope.fetched_at,
        sha256=envelope.sha256,
        offset=offset,
        length=len(span.data),
        content_bytes=0 if span.original else len(span.prepared.body),
        run_id=span.prepared.run_id,
        original_sha256=span.original.record_sha256 if span.original else None,
    )
