"""The index made again from the segments, which are the truth."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mudroom.clock import Clock, SystemClock
from mudroom.errors import Code, StoreFailed
from mudroom.snapshot.disk import SystemDisk, map_faults
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.options import SnapshotOptions

__all__ = ["RebuildReport", "rebuild_index"]

_INDEX_FILES = ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """What was found."""

    segment_count: int
    record_count: int
    damaged: tuple[str, ...]
    """Segments that hold bytes which are no record; what is whole in them is indexed."""


def rebuild_index(
    root: Path, options: SnapshotOptions | None = None, clock: Clock | None = None
) -> RebuildReport:
    """Put the index aside and read every segment from its start. Blocks; nobody may be writing.

    The old index is kept as `index.sqlite.old`, and replaced by the next one that is put aside.
    Raises: StoreFailed STORE_UNAVAILABLE when a writer holds a segment, and as the store itself does.
    """
    options, clock = options or SnapshotOptions(), clock or SystemClock()
    with map_faults(root):
        if not root.is_dir():
            raise StoreFailed(Code.STORE_UNAVAILABLE, f"there is no archive in {root}")
        for name in _INDEX_FILES:
            path = root / name
            if os.path.lexists(path):
                path.replace(root / name.replace("index.sqlite", "index.sqlite.old"))
        folder = ArchiveFolder(root, options, clock, SystemDisk(), os.urandom)
        try:
            folder.recover()
            segments = folder.index.segments()
            if len(segments) != len(folder.segment_names()):
                raise StoreFailed(
                    Code.STORE_UNAVAILABLE,
                    f"the archive {root} is being written to; stop other mudroom processes and try again",
                )
            return RebuildReport(
                segment_count=len(segments),
                record_count=folder.index.count(),
                damaged=tuple(sorted(name for name, row in segments.items() if row.is_damaged)),
            )
        finally:
            folder.close()
