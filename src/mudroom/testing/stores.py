"""The stores that live in memory, under the roof where the other fakes are."""

from mudroom.corpus import MemoryCorpus
from mudroom.snapshot import MemorySnapshotStore

__all__ = ["MemoryCorpus", "MemorySnapshotStore"]
