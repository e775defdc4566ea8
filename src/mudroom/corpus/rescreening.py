"""A run whose accepted documents were screened again: what is no longer accepted leaves pages/.

Text first: whatever interrupts this, no document stays in pages/ that was found wanting before it. What held
until then stands in the page's metadata, with the moment at which it ended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mudroom.corpus.manifest import ManifestHead, Totals, encode_line, encode_record, render_manifest
from mudroom.corpus.reading import list_entries, parse_record, stored_path
from mudroom.corpus.recorder import FINDINGS_FILE, metadata_path
from mudroom.corpus.records import RunVersions
from mudroom.corpus.reopening import run_is_active
from mudroom.corpus.security import SUMMARY_SCHEMA, render_findings
from mudroom.errors import CODES, Code
from mudroom.model import CrawlState, Decision, OutcomeKind, RunKind, Severity

__all__ = ["Rescreening", "RunFiles", "apply_rescreening"]

_VERDICT = ("outcome", "decision", "code", "path", "finding_ids", "versions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescreening:
    """What holds now of a document that was accepted."""

    number: int
    versions: RunVersions
    outcome: OutcomeKind
    """STORED, QUARANTINED or BLOCKED."""
    decision: Decision
    code: Code | None = None
    """Why it is withheld; None unless it is BLOCKED."""
    findings: tuple[Mapping[str, Any], ...] = ()
    """As findings.json holds them."""


class RunFiles(Protocol):
    """The files of a run that has ended."""

    def read(self, path: str) -> bytes:
        """A file. Raises StoreFailed, NotFound."""
        ...

    def put(self, path: str, content: bytes) -> None:
        """A file, whole. Raises StoreFailed."""
        ...

    def remove(self, path: str) -> None:
        """Take a file away, if it is there."""
        ...


def apply_rescreening(files: RunFiles, run_id: str, pages: Iterable[Rescreening], at: str) -> None:
    """Record new verdicts on accepted documents; a page that was not accepted stays as it is.

    Shapes: `at` is the moment, as records hold it.
    Raises: StoreFailed RUN_ACTIVE while the run is written, SNAPSHOT_CORRUPT.
    """
    manifest = parse_record(files.read("manifest.json"))
    if manifest["state"] == CrawlState.RUNNING:
        raise run_is_active(run_id)
    rows = {int(row["n"]): row for row in manifest["pages"]}
    found = {int(each["n"]): each for each in list_entries(files.read(FINDINGS_FILE), "documents")}
    for page in pages:
        metadata = parse_record(files.read(metadata_path(page.number)))
        if metadata["outcome"] != OutcomeKind.STORED:
            continue
        changed = _change(files, metadata, page, at)
        files.put(metadata_path(page.number), encode_record(changed))
        row = rows[page.number]
        row |= {key: changed[key] for key in row}
        found[page.number] = {**_name(changed), "findings": list(page.findings)}
    _save(files, run_id, manifest, [each for _, each in sorted(found.items()) if each["findings"]])


def _change(files: RunFiles, metadata: dict[str, Any], page: Rescreening, at: str) -> dict[str, Any]:
    """The new metadata, and the text where it belongs now."""
    path = stored_path(metadata)
    former = {key: metadata[key] for key in _VERDICT} | {"until": at}
    changed = metadata | {
        "outcome": page.outcome.value,
        "decision": page.decision.value,
        "finding_ids": sorted({str(finding["id"]) for finding in page.findings}),
        "versions": page.versions.as_record(),
        "rescreened": [*metadata.get("rescreened", []), former],
    }
    if page.outcome is OutcomeKind.STORED:
        return changed
    if page.outcome is OutcomeKind.QUARANTINED:
        place = f"quarantine/{page.number:06d}.md"
        files.put(place, files.read(path))
        changed |= {"path": place}
    else:
        code = page.code or Code.POLICY_VIOLATION
        reason = CODES[code].reason.value
        changed |= {
            "path": None,
            "code": code.value,
            "reason": reason,
            "retryable": False,
            "markdown_sha256": None,
        }
    files.remove(path)
    changed.pop("title", None)
    return changed | {"exposed_sha256": {}}


def _name(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: metadata[key] for key in ("n", "document_id", "outcome", "decision")}


def _save(files: RunFiles, run_id: str, manifest: dict[str, Any], found: Sequence[Mapping[str, Any]]) -> None:
    """Findings and summary first, as their writer does: whoever sees the manifest finds what it speaks of."""
    files.put(FINDINGS_FILE, b"".join(render_findings(run_id, map(encode_line, found))))
    files.put("security/summary.json", _summarise(run_id, manifest, found))
    totals = Totals()
    for row in manifest["pages"]:
        totals.count(row)
    old = manifest["totals"]
    head = ManifestHead(
        run_id=run_id,
        kind=RunKind(manifest["kind"]),
        root_url=manifest["root_url"],
        options=manifest["options"],
        started_at=manifest["started_at"],
        versions=manifest["versions"],
    )
    pieces = render_manifest(
        head,
        state=CrawlState(manifest["state"]),
        finished_at=manifest["finished_at"],
        totals=totals.as_record(discovered=old["discovered"], wire_bytes=old["bytes"]),
        rows=map(encode_line, manifest["pages"]),
        warnings=manifest["warnings"],
    )
    files.put("manifest.json", b"".join(pieces))


def _summarise(run_id: str, manifest: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> bytes:
    decisions = Counter(row["decision"] for row in manifest["pages"])
    findings = [finding for each in found for finding in each["findings"]]
    severities = Counter(finding["severity"] for finding in findings)
    rules = Counter(finding["id"] for finding in findings)
    value = {
        "schema": SUMMARY_SCHEMA,
        "run_id": run_id,
        "versions": dict(manifest["versions"]),
        "decisions": {decision.value: decisions[decision.value] for decision in Decision},
        "severities": {severity.name: severities[severity.name] for severity in Severity},
        "rules": dict(sorted(rules.items())),
    }
    return json.dumps(value, indent=2).encode() + b"\n"
