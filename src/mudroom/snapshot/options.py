"""What can be set of the archive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

from mudroom.warc import DEFAULT_GZIP_LEVEL

__all__ = ["KeepRule", "SnapshotOptions"]


@unique
class KeepRule(StrEnum):
    """Which bodies are kept; `intake` acts on it: commits at once, after acceptance, or never."""

    ALL = "all"
    ACCEPTED = "accepted"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions:
    """Limits and costs of an archive."""

    max_bytes: int = 10 * 1024**3
    """All segments together; a record that does not fit is refused with ARCHIVE_FULL."""
    max_segment_bytes: int = 1024**3
    """A segment that has reached this is not written to again."""
    max_record_bytes: int = 1024**3 + 1024**2
    """One record, unpacked; more is refused, and read as corrupt."""
    max_records_per_source: int = 10_000
    """Of one source; the next is refused with SNAPSHOT_HISTORY_FULL until some are pruned."""
    gzip_level: int = DEFAULT_GZIP_LEVEL
    """0 to 3 on ISA-L's scale."""
    is_synced: bool = True
    """Whether a record is on the disk itself before it is acknowledged; off only for scratch archives."""
    software: str = "mudroom"
    """Name and version, as each segment's first record states them."""
