"""A run's manifest as text: its head, then one line a page, then its warnings.

The head comes first so that a list of runs reads a few hundred bytes of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mudroom.corpus.records import RunSummary
from mudroom.errors import Code, StoreFailed
from mudroom.model import CrawlState, Decision, OutcomeKind, RunKind

__all__ = [
    "HEAD_BYTES",
    "ManifestHead",
    "Totals",
    "check_rows",
    "encode_line",
    "encode_record",
    "read_summary",
    "render_manifest",
    "render_sources",
    "summarise_damaged",
]

MANIFEST_SCHEMA = "mudroom.manifest/1"
SOURCES_SCHEMA = "mudroom.sources/1"
HEAD_BYTES = 256 * 1024
"""What is read of a manifest for a list; options are small, and a longer head is read whole."""

_CHECKED = frozenset({"n", "bytes", "outcome", "decision", "code", "source_ref"})
_PAGES_MARK = ',\n  "pages": ['


@dataclass(slots=True)
class Totals:
    """The counts of a run."""

    attempted: int = 0
    stored: int = 0
    warned: int = 0
    quarantined: int = 0
    blocked: int = 0
    failed: int = 0
    body_bytes: int = 0

    def count(self, row: Mapping[str, Any]) -> None:
        """Count one page."""
        self.attempted += 1
        self.body_bytes += row["bytes"]
        match row["outcome"]:
            case OutcomeKind.STORED:
                self.stored += 1
                self.warned += row["decision"] == Decision.WARN
            case OutcomeKind.QUARANTINED:
                self.quarantined += 1
            case OutcomeKind.BLOCKED:
                self.blocked += 1
            case _:
                self.failed += 1

    def as_record(self, *, discovered: int | None, wire_bytes: int | None) -> dict[str, int]:
        """As manifests hold them. A page that was attempted was discovered too."""
        return {
            "attempted": self.attempted,
            "stored": self.stored,
            "warned": self.warned,
            "quarantined": self.quarantined,
            "blocked": self.blocked,
            "failed": self.failed,
            "discovered": self.attempted if discovered is None else discovered,
            "bytes": self.body_bytes if wire_bytes is None else wire_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestHead:
    """What is known of a run from its start."""

    run_id: str
    kind: RunKind
    root_url: str
    options: Mapping[str, Any]
    started_at: str
    versions: Mapping[str, str] = field(default_factory=dict)


def encode_line(value: Mapping[str, Any]) -> bytes:
    """A value as JSON on one line, in ASCII, so that no character in it can end the line."""
    return json.dumps(value, separators=(", ", ": ")).encode()


def encode_record(value: Mapping[str, Any]) -> bytes:
    """A value as JSON with one line a key: fit for a person to read, at a third of what indenting costs."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items())
    return f"{{\n{lines}\n}}\n".encode()


def render_manifest(
    head: ManifestHead,
    *,
    state: CrawlState,
    finished_at: str | None,
    totals: Mapping[str, int],
    rows: Iterable[bytes],
    warnings: Sequence[Mapping[str, str | None]],
) -> Iterator[bytes]:
    """The manifest in pieces; never all rows at once."""
    record = {
        "schema": MANIFEST_SCHEMA,
        "run_id": head.run_id,
        "kind": head.kind.value,
        "state": state.value,
        "root_url": head.root_url,
        "options": dict(head.options),
        "started_at": head.started_at,
        "finished_at": finished_at,
        "versions": dict(head.versions),
        "totals": dict(totals),
    }
    yield json.dumps(record, indent=2).removesuffix("\n}").encode()
    yield _PAGES_MARK.encode()
    yield from join_lines(rows)
    yield b'],\n  "warnings": ['
    yield from join_lines(encode_line(warning) for warning in warnings)
    yield b"]\n}\n"


def check_rows(rows: Any) -> list[dict[str, Any]]:
    """The rows of a run's pages, which somebody may have edited: what is counted and referred to is as written.

    Raises: StoreFailed SNAPSHOT_CORRUPT.
    """
    if isinstance(rows, list) and all(_is_row(row) for row in rows):
        return rows
    raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a page in the record of a run is damaged")


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not _CHECKED.issubset(row):
        return False
    are_numbers = type(row["n"]) is int and type(row["bytes"]) is int
    are_names = all(isinstance(row[name], str | None) for name in ("decision", "code", "source_ref"))
    return are_numbers and are_names and isinstance(row["outcome"], str)


def render_sources(run_id: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """What a run asked for beside its pages as JSON, in pieces."""
    head = json.dumps({"schema": SOURCES_SCHEMA, "run_id": run_id}, indent=2).removesuffix("\n}")
    yield head.encode() + b',\n  "sources": ['
    yield from join_lines(lines)
    yield b"]\n}\n"


def join_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines as the inside of a JSON array."""
    separator = b"\n    "
    is_empty = True
    for line in lines:
        yield separator
        yield line
        separator = b",\n    "
        is_empty = False
    if not is_empty:
        yield b"\n  "


def summarise_damaged(run_id: str) -> RunSummary:
    """A run of which nothing can be read: it is listed all the same, never left out."""
    return RunSummary(
        run_id=run_id,
        kind=RunKind(run_id.partition("_")[0]),
        state=None,
        root_url="",
        started_at=None,
        finished_at=None,
        totals={},
    )


def read_summary(beginning: bytes, run_id: str) -> RunSummary:
    """The head of a run's manifest from its first bytes.

    Raises: StoreFailed SNAPSHOT_CORRUPT when they are not one, or another run's.
    """
    head, mark, _ = beginning.partition(_PAGES_MARK.encode())
    try:
        value = json.loads(head + b"}" if mark else beginning)
        summary = RunSummary(
            run_id=value["run_id"],
            kind=RunKind(value["kind"]),
            state=CrawlState(value["state"]),
            root_url=value["root_url"],
            started_at=value["started_at"],
            finished_at=value["finished_at"],
            totals=value["totals"],
            options=value["options"],
        )
        if _is_sound(summary, run_id):
            return summary
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a run's manifest is damaged") from fault
    raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a run's manifest is damaged")


def _is_sound(summary: RunSummary, run_id: str) -> bool:
    """Whether what others go by has its type, and the run is the one whose folder this is."""
    texts: tuple[Any, ...] = (summary.root_url, summary.started_at, summary.finished_at or "")
    maps: tuple[Any, ...] = (summary.totals, summary.options)
    are_right = all(isinstance(text, str) for text in texts) and all(isinstance(one, dict) for one in maps)
    return are_right and summary.run_id == run_id
