"""Whether what a run recorded of a page is what comes of its bytes again: the first stage that differs.

    bytes ─▶ record ─▶ extraction ─▶ scan ─▶ decision ─▶ file

A stage is looked at only when all before it agree, since what differs early differs in everything behind it.
What another version of the program, its rules or its policy reads otherwise is named as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any

from mudroom.errors import Code
from mudroom.model import OutcomeKind, format_document_id
from mudroom.replay.compare import compare_versions

__all__ = ["PageProof", "Stage", "prove_page"]


@unique
class Stage(StrEnum):
    """A link of the chain from bytes to what lies in a run's folder."""

    BYTES = "bytes"
    """The archive has them, whole, under the reference that was recorded."""
    RECORD = "record"
    """Digest, size, status, type and URLs in the run's record are those of the bytes, its names those of the page."""
    EXTRACTION = "extraction"
    """What was read of them has the digests that were recorded, form by form."""
    SCAN = "scan"
    DECISION = "decision"
    FILE = "file"
    """The text in pages/ is the one that was scanned."""
    ORDER = "order"
    """The crawl comes to the same pages in the same order, with the same warnings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageProof:
    """What became of checking one page again."""

    run_id: str
    number: int
    url: str
    source_ref: str | None
    stage: Stage | None = None
    """The first that differs; None: all hold."""
    message: str = ""
    code: Code | None = None
    """What the archive answered, where that is what differs."""
    versions: Mapping[str, tuple[str | None, str | None]]
    """What is of another version now than when the page was read: part to the version then and now."""

    @property
    def holds(self) -> bool:
        """Whether everything agrees."""
        return self.stage is None

    @property
    def is_other_version(self) -> bool:
        """Whether the difference is what another version may make of the same bytes."""
        return self.stage in _OF_VERSIONS and bool(self.versions)


_OF_VERSIONS = frozenset({Stage.EXTRACTION, Stage.SCAN, Stage.DECISION, Stage.ORDER})
_OF_BYTES = frozenset(
    {Code.SNAPSHOT_CORRUPT, Code.SNAPSHOT_MISSING, Code.SNAPSHOT_MISMATCH, Code.INVALID_REFERENCE}
)
_OF_READING = frozenset(
    {
        Code.EXTRACTION_FAILED,
        Code.EXTRACTION_LIMIT,
        Code.GUEST_CRASHED,
        Code.GUEST_MEMORY,
        Code.GUEST_PROTOCOL,
        Code.GUEST_TIMEOUT,
        Code.NEEDS_RENDER,
        Code.UNSUPPORTED_CONTENT_TYPE,
    }
)
_FACTS = ("sha256", "bytes", "http_status", "final_url")
_VERDICT = ("outcome", "decision", "code")


def prove_page(run_id: str, recorded: Mapping[str, Any], again: Mapping[str, Any]) -> PageProof:
    """How far what was recorded of a page is what came of its bytes this time.

    Shapes: both are mudroom.document/1; `again` was made of the bytes that `recorded` names.
    """
    stage, message = next(_find_differences(run_id, recorded, again), (None, ""))
    return PageProof(
        run_id=run_id,
        number=int(recorded["n"]),
        url=str(recorded["url"]),
        source_ref=recorded.get("source_ref"),
        stage=stage,
        message=message,
        code=Code(again["code"]) if stage is Stage.BYTES else None,
        versions=compare_versions(recorded.get("versions") or {}, again["versions"]),
    )


def _find_differences(
    run_id: str, recorded: Mapping[str, Any], again: Mapping[str, Any]
) -> Iterator[tuple[Stage, str]]:
    """Every stage that differs, in order."""
    if again["code"] in _OF_BYTES and recorded["code"] != again["code"]:
        yield Stage.BYTES, f"the archive cannot give the bytes ({again['code']})"
    yield from _compare_names(run_id, recorded, again)
    if recorded.get("source_ref") is not None:
        for name in _FACTS:
            if recorded[name] != again[name]:
                yield Stage.RECORD, f"{name} was recorded as {recorded[name]}, and is {again[name]}"
    yield from _compare_readings(recorded, again)
    if recorded["finding_ids"] != again["finding_ids"]:
        yield Stage.SCAN, _describe_findings(recorded["finding_ids"], again["finding_ids"])
    for name in _VERDICT:
        if recorded[name] != again[name]:
            yield Stage.DECISION, f"{name} was {recorded[name] or 'none'}, and is {again[name] or 'none'}"


def _compare_names(
    run_id: str, recorded: Mapping[str, Any], again: Mapping[str, Any]
) -> Iterator[tuple[Stage, str]]:
    """What a record calls itself and its document, whatever the bytes say."""
    names = {
        "schema": again["schema"],
        "document_id": format_document_id(run_id, int(recorded["n"])),
    }
    if all(recorded[name] == again[name] for name in _VERDICT):  # else what was read may be no document
        names["content_type"] = again["content_type"]
    for name, right in names.items():
        if recorded.get(name) != right:
            yield Stage.RECORD, f"{name} was recorded as {recorded.get(name)}, and is {right}"


def _compare_readings(recorded: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[tuple[Stage, str]]:
    if again["code"] in _OF_READING and recorded["code"] != again["code"]:
        yield Stage.EXTRACTION, f"the document cannot be read this time ({again['code']})"
    if recorded["code"] in _OF_READING and recorded["code"] != again["code"]:
        yield Stage.EXTRACTION, f"the document could not be read ({recorded['code']}), and can be this time"
    before, after = recorded.get("exposed_sha256") or {}, again["exposed_sha256"]
    if before and after:
        names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        if names:
            yield Stage.EXTRACTION, f"{', '.join(names)} {'reads' if len(names) == 1 else 'read'} otherwise"
    kept = OutcomeKind.QUARANTINED
    if (
        recorded["outcome"] == again["outcome"] == kept
        and recorded["markdown_sha256"] != again["markdown_sha256"]
    ):
        yield Stage.EXTRACTION, "markdown reads otherwise"


def _describe_findings(recorded: list[str], again: list[str]) -> str:
    gone = sorted(set(recorded) - set(again))
    new = sorted(set(again) - set(recorded))
    told = [f"found only then: {', '.join(gone)}"] if gone else []
    told += [f"found only now: {', '.join(new)}"] if new else []
    return "; ".join(told)
