"""Raw bytes kept so that they can be cited: what was fetched, when, from where, and the proof of it."""

from mudroom.snapshot.envelope import (
    Envelope,
    PreparedSnapshot,
    Snapshot,
    SnapshotInput,
    StoredSnapshot,
    prepare_snapshot,
)
from mudroom.snapshot.file_store import FileSnapshotStore
from mudroom.snapshot.memory_store import MemorySnapshotStore
from mudroom.snapshot.options import KeepRule, SnapshotOptions
from mudroom.snapshot.pruning import PruneReport, PruneRule
from mudroom.snapshot.reading import ArchivedRecord, DamagedRecord
from mudroom.snapshot.rebuild import RebuildReport, rebuild_index
from mudroom.snapshot.reference import (
    SourceKind,
    SourceRef,
    build_source_id,
    build_source_ref,
    parse_source_ref,
)
from mudroom.snapshot.store import SnapshotStore
from mudroom.snapshot.witness import HeadState, HeadWitness, VerifiedHead, WitnessLimits, WitnessState

__all__ = [
    "ArchivedRecord",
    "DamagedRecord",
    "Envelope",
    "FileSnapshotStore",
    "HeadState",
    "HeadWitness",
    "KeepRule",
    "MemorySnapshotStore",
    "PreparedSnapshot",
    "PruneReport",
    "PruneRule",
    "RebuildReport",
    "Snapshot",
    "SnapshotInput",
    "SnapshotOptions",
    "SnapshotStore",
    "SourceKind",
    "SourceRef",
    "StoredSnapshot",
    "VerifiedHead",
    "WitnessLimits",
    "WitnessState",
    "build_source_id",
    "build_source_ref",
    "parse_source_ref",
    "prepare_snapshot",
    "rebuild_index",
]
