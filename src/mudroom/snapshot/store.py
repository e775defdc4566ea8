"""The seam of the archive: put, get, and what is known of a source."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from mudroom.snapshot.envelope import PreparedSnapshot, Snapshot, SnapshotInput, StoredSnapshot
from mudroom.snapshot.pruning import PruneReport, PruneRule
from mudroom.snapshot.reading import ArchivedRecord, DamagedRecord

__all__ = ["SnapshotStore"]


class SnapshotStore(Protocol):
    """Where raw bytes are kept. Every read checks what it returns and fails closed.

    Raises, everywhere: StoreFailed with SNAPSHOT_CORRUPT (what is there is damaged), SNAPSHOT_MISMATCH (what
    is there is not what was named), STORE_UNAVAILABLE (it cannot be known), NO_SPACE, ARCHIVE_FULL,
    SNAPSHOT_HISTORY_FULL (the source has as many records as it may); NotFound
    with SNAPSHOT_MISSING (it is not there) or INVALID_REFERENCE.
    """

    async def prepare(self, snapshot: SnapshotInput) -> PreparedSnapshot:
        """The snapshot with its reference, nothing written: for archive.keep = accepted."""
        ...

    async def commit(self, prepared: PreparedSnapshot) -> StoredSnapshot:
        """The snapshot, once it is kept for good. The same record a second time is a success."""
        ...

    async def put(self, snapshot: SnapshotInput) -> StoredSnapshot:
        """`prepare` and `commit` in one."""
        ...

    async def get(self, source_ref: str) -> Snapshot:
        """The one snapshot that the reference names."""
        ...

    async def latest(self, source_id: str) -> Snapshot:
        """The newest snapshot of a source; reads and judges no other."""
        ...

    async def list(self, source_id: str) -> tuple[StoredSnapshot, ...]:
        """All snapshots of a source, newest first; reads and judges each."""
        ...

    async def find_in_run(self, run_id: str, source_id: str) -> tuple[StoredSnapshot, ...]:
        """What a run took of a source, oldest first; reads and judges each."""
        ...

    def iterate_run(self, run_id: str) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        """All that a run took, in order of time, each read and judged; the damaged are told, never skipped."""
        ...

    def iterate_all(self) -> AsyncIterator[ArchivedRecord | DamagedRecord]:
        """All records in the order in which they were kept."""
        ...

    async def list_run_ids(self) -> tuple[str, ...]:
        """The runs that any record is of, in order of their ids."""
        ...

    async def prune(self, rule: PruneRule) -> PruneReport:
        """Remove what the rule gives up, and give the room back."""
        ...

    async def aclose(self) -> None:
        """Finish what waits and let go; a second call does nothing."""
        ...
