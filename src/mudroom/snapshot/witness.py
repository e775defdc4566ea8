"""Whether the newest record of a source is still the one that was verified: a witness, and its comparison.

A witness is made by reading and verifying the newest record between two looks at all that the index says of
the source and at which files hold it; a change between the two gives none. It is compared by another such
look, without reading a record. What it sees: a record put or pruned, an index or segment changed, moved or
replaced by another. What it does not see: bytes changed within a segment file, for which `verify` and `get`
are there. It is no signature: who can write the archive can also make a witness of what they wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Self

from mudroom.errors import Code, MudroomError, NotFound, StoreFailed
from mudroom.snapshot.folder import ArchiveFolder
from mudroom.snapshot.index import SpanRow
from mudroom.snapshot.reading import read_latest, require_whole_index
from mudroom.snapshot.reference import SourceKind, is_citable, parse_source_ref

__all__ = [
    "HeadState",
    "HeadWitness",
    "VerifiedHead",
    "WitnessLimits",
    "WitnessState",
    "compare_head",
    "failed_comparison",
    "failed_head",
    "is_source_id",
    "verify_head",
]

_FORMAT = "mudroom.source-head-witness/1"
_TOKEN = re.compile(r"[0-9a-f]{64}")
_ROW_BYTES = 256
"""What a row of the fence counts for, at least: its digests and numbers as text."""


@unique
class HeadState(StrEnum):
    """What `read_verified_head` found."""

    FOUND = "found"
    MISSING = "missing"
    UNAVAILABLE = "unavailable"
    CORRUPT = "corrupt"
    UNSUPPORTED = "unsupported"


@unique
class WitnessState(StrEnum):
    """What `compare_head_witness` found."""

    MATCHES = "matches"
    CHANGED = "changed"
    MISSING = "missing"
    UNAVAILABLE = "unavailable"
    CORRUPT = "corrupt"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessLimits:
    """What one look may cost. Each can be lowered and none raised; more than it allows is `unavailable`."""

    max_entries: int = 10_000
    """Records of the source."""
    max_index_bytes: int = 16 * 1024**2
    """Of what the index says of them, both looks together."""
    max_body_bytes: int = 1024**3
    """Of the body that is read and verified."""

    def is_supported(self) -> bool:
        """Whether each is a whole number from 0 to its default."""
        most = _DEFAULTS
        return all(
            type(value) is int and 0 <= value <= limit
            for value, limit in (
                (self.max_entries, most.max_entries),
                (self.max_index_bytes, most.max_index_bytes),
                (self.max_body_bytes, most.max_body_bytes),
            )
        )


_DEFAULTS = WitnessLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadWitness:
    """What was true of a source; the token is opaque, and valid for this archive in this place."""

    source_id: str
    source_ref: str
    """Of the newest record, which was verified."""
    token: str
    """64 hex digits."""
    format: str = _FORMAT

    def as_record(self) -> dict[str, str]:
        """As it can be kept in JSON."""
        return {
            "format": self.format,
            "source_id": self.source_id,
            "source_ref": self.source_ref,
            "token": self.token,
        }

    @classmethod
    def from_record(cls, untrusted_record: object) -> Self | None:
        """The witness that this is; None when a key is missing, too many, or not as it must be."""
        if isinstance(untrusted_record, cls):
            untrusted_record = untrusted_record.as_record()
        if not isinstance(untrusted_record, Mapping) or set(untrusted_record) != _KEYS:
            return None
        values = {key: untrusted_record[key] for key in _KEYS}
        if not all(isinstance(value, str) for value in values.values()):
            return None
        witness = cls(**values)
        try:
            ref = parse_source_ref(witness.source_ref)
        except NotFound:
            return None
        is_sound = (
            witness.format == _FORMAT
            and ref.source_id == witness.source_id
            and _TOKEN.fullmatch(witness.token) is not None
        )
        return witness if is_sound else None


_KEYS = frozenset({"format", "source_id", "source_ref", "token"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedHead:
    """The newest record of a source, verified, or why there is none."""

    state: HeadState
    source_ref: str | None = None
    witness: HeadWitness | None = None


def is_source_id(untrusted_id: object) -> bool:
    """Whether this can be the id of a source."""
    if not isinstance(untrusted_id, str):
        return False
    kind, separator, url = untrusted_id.partition("::")
    return bool(separator) and kind in frozenset(SourceKind) and is_citable(url)


def verify_head(folder: ArchiveFolder, source_id: str, limits: WitnessLimits) -> VerifiedHead:
    """The newest record of the source, read and verified, and its witness.

    Raises: StoreFailed, NotFound; `failed_head` says what each means.
    """
    before = _look(folder, source_id, limits, passes=2)
    if before is None:
        return VerifiedHead(state=HeadState.MISSING)
    snapshot = read_latest(folder, source_id, max_body_bytes=limits.max_body_bytes)
    if _look(folder, source_id, limits, passes=2) != before:
        raise StoreFailed(Code.STORE_UNAVAILABLE, "the source changed while it was looked at")
    witness = HeadWitness(source_id=source_id, source_ref=snapshot.source_ref, token=before)
    return VerifiedHead(state=HeadState.FOUND, source_ref=snapshot.source_ref, witness=witness)


def compare_head(folder: ArchiveFolder, witness: HeadWitness, limits: WitnessLimits) -> WitnessState:
    """Whether the source is as the witness says, by what the index and the file system say alone.

    Raises: StoreFailed; `failed_comparison` says what each means.
    """
    token = _look(folder, witness.source_id, limits, passes=1)
    if token is None:
        return WitnessState.MISSING
    return WitnessState.MATCHES if token == witness.token else WitnessState.CHANGED


def failed_head(failure: MudroomError) -> VerifiedHead:
    """What a failure says of a head."""
    return VerifiedHead(state=HeadState(_state_of(failure)))


def failed_comparison(failure: MudroomError) -> WitnessState:
    """What a failure says of a comparison."""
    return WitnessState(_state_of(failure))


def _state_of(failure: MudroomError) -> str:
    match failure.code:
        case Code.SNAPSHOT_MISSING:
            return "missing"
        case Code.SNAPSHOT_CORRUPT | Code.SNAPSHOT_MISMATCH:
            return "corrupt"
        case _:
            return "unavailable"


def _look(folder: ArchiveFolder, source_id: str, limits: WitnessLimits, *, passes: int) -> str | None:
    """The digest of all that the index says of the source and of which files hold it; None without records.

    Raises: StoreFailed STORE_UNAVAILABLE over a limit, or when the index has lost rows; SNAPSHOT_CORRUPT
    when folder, index or segment is not what it was, or a record lies behind the end of its file.
    """
    folder.check_place()
    require_whole_index(folder)
    counted = folder.index.count_of(source_id)
    _within(counted, limits.max_entries, "records")
    _within(counted * _ROW_BYTES * passes, limits.max_index_bytes, "bytes of the index")
    rows = folder.index.history(source_id)
    if len(rows) != counted:
        raise StoreFailed(Code.STORE_UNAVAILABLE, "the archive's index has lost records of the source")
    originals = [folder.index.find(row.original_sha256) for row in rows if row.original_sha256]
    spans = [*rows, *(row for row in originals if row is not None)]
    if not rows:
        return None
    facts = [source_id, [_describe(row) for row in spans], _segments(folder, spans)]
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()
    _within(len(text) * passes, limits.max_index_bytes, "bytes of the index")
    return hashlib.sha256(text).hexdigest()


def _describe(row: SpanRow) -> tuple[object, ...]:
    return (
        row.record_sha256,
        row.sha256,
        row.fetched_at,
        row.segment_name,
        row.offset,
        row.length,
        row.content_bytes,
        row.run_id,
        row.original_sha256,
    )


def _segments(folder: ArchiveFolder, rows: list[SpanRow]) -> list[tuple[str, int, int]]:
    """Which files hold the records. Not their sizes or times: other sources write to the same files."""
    ends: dict[str, int] = {}
    for row in rows:
        ends[row.segment_name] = max(ends.get(row.segment_name, 0), row.offset + row.length)
    return [(name, *_identify(folder, name, end)) for name, end in sorted(ends.items())]


def _identify(folder: ArchiveFolder, name: str, end: int) -> tuple[int, int]:
    try:
        facts = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
    except FileNotFoundError as gone:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the archive's segment {name} is gone") from gone
    if not stat.S_ISREG(facts.st_mode) or facts.st_size < end:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the archive's segment {name} is not what it was")
    return facts.st_dev, facts.st_ino


def _within(value: int, limit: int, what: str) -> None:
    if value > limit:
        raise StoreFailed(Code.STORE_UNAVAILABLE, f"the source has more {what} than may be looked at")
