"""What a new policy or rule set would decide of pages that a run has decided on, and its taking effect.

The stored bytes go the way in again under the settings of now. To look changes nothing. To apply moves what is no
longer accepted out of pages/, and notes on what still is that it was accepted under the versions of now; what was
withheld stays withheld, whatever would be decided of it: it is taken in by opening it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mudroom.corpus import CorpusStore, Rescreening, RunVersions
from mudroom.errors import Code, GuestFailed, InvalidConfig, MudroomError, StoreFailed
from mudroom.intake import Parts
from mudroom.model import CrawlState, Decision, OutcomeKind
from mudroom.replay.compare import compare_versions
from mudroom.replay.record import PageRecord, read_run
from mudroom.replay.rereader import RereadRun, open_reread

__all__ = ["RescanReport", "Rescanner", "VerdictChange"]

_VERDICTS = frozenset({OutcomeKind.STORED, OutcomeKind.QUARANTINED, OutcomeKind.BLOCKED})
_OF_BYTES = frozenset({Code.SNAPSHOT_CORRUPT, Code.SNAPSHOT_MISSING, Code.SNAPSHOT_MISMATCH})
_FORM = "markdown_sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A page of which something else would be decided now."""

    number: int
    url: str
    source_ref: str | None
    recorded: tuple[str, str | None, str | None]
    """Outcome, decision and code, as the run holds them."""
    current: tuple[str, str | None, str | None]
    findings_gone: tuple[str, ...]
    findings_new: tuple[str, ...]

    @property
    def is_withdrawn(self) -> bool:
        """Whether an accepted document would no longer be."""
        return self.recorded[0] == OutcomeKind.STORED != self.current[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RescanReport:
    """What would be decided of a run's pages now."""

    run_id: str
    checked: int
    changes: tuple[VerdictChange, ...]
    unreadable: tuple[tuple[int, MudroomError], ...]
    """Pages whose bytes cannot be had or read, and why; nothing is decided of these, and nothing changed."""
    reread: tuple[int, ...]
    """Accepted documents whose text reads otherwise now; the text that was accepted stays, under its versions."""
    versions: Mapping[str, tuple[str | None, str | None]]
    """What is of another version now than when the run began."""
    is_applied: bool = False
    rescreened: int = 0
    """Accepted documents that hold under the versions of now, after they were applied."""


@dataclass(slots=True)
class _Found:
    """What a rescan has come upon so far."""

    changes: list[VerdictChange]
    unreadable: list[tuple[int, MudroomError]]
    reread: list[int]
    screened: list[Rescreening]
    checked: int = 0


class Rescanner:
    """Screens what one workspace holds again."""

    def __init__(
        self, parts: Parts, corpus: CorpusStore, versions: RunVersions, *, max_decoded_bytes: int
    ) -> None:
        self._parts = parts
        self._corpus = corpus
        self._versions = versions
        self._max_decoded_bytes = max_decoded_bytes

    async def rescan(self, run_id: str, *, is_applied: bool = False) -> RescanReport:
        """What would be decided now; with `is_applied` it holds from now on for what was accepted.

        Raises: NotFound RUN_NOT_FOUND; InvalidConfig for a run that has not ended; StoreFailed.
        """
        run = await read_run(self._corpus, run_id)
        if run.manifest["state"] == CrawlState.RUNNING:
            raise InvalidConfig(f"{run_id} has not ended; rescan it when it has", is_of_run=True)
        reread = await open_reread(
            self._parts, run, self._versions, max_decoded_bytes=self._max_decoded_bytes
        )
        found = _Found(changes=[], unreadable=[], reread=[], screened=[])
        for row in run.rows:
            if row["source_ref"] is not None:
                await self._judge(await run.read_page(int(row["n"])), reread, found)
        if is_applied:
            await self._corpus.rescreen(run_id, found.screened)
        return RescanReport(
            run_id=run_id,
            checked=found.checked,
            changes=tuple(found.changes),
            unreadable=tuple(found.unreadable),
            reread=tuple(found.reread),
            versions=compare_versions(run.manifest["versions"], self._versions.as_record()),
            is_applied=is_applied,
            rescreened=sum(page.outcome is OutcomeKind.STORED for page in found.screened)
            if is_applied
            else 0,
        )

    async def _judge(self, page: PageRecord, reread: RereadRun, found: _Found) -> None:
        """One page, decided on again."""
        again = await reread.read(page)
        code = Code(again["code"]) if again["code"] else None
        if code in _OF_BYTES and code is not page.code:
            found.unreadable.append((page.number, StoreFailed(code, again["message"] or code.value)))
            return
        found.checked += 1
        change = _compare(page, again)
        if change is not None:
            found.changes.append(change)
        if page.metadata["outcome"] == OutcomeKind.STORED:
            await self._screen(page, again, reread, found)

    async def _screen(
        self, page: PageRecord, again: Mapping[str, Any], reread: RereadRun, found: _Found
    ) -> None:
        """What holds now of an accepted document; one that reads otherwise was not accepted in this form."""
        outcome = OutcomeKind(again["outcome"])
        if outcome is OutcomeKind.STORED and again[_FORM] != page.metadata[_FORM]:
            found.reread.append(page.number)
            return
        if (
            outcome not in _VERDICTS
        ):  # it could not be read, which another time it may be: nothing was decided
            code = Code(again["code"])
            found.unreadable.append((page.number, GuestFailed(code, again["message"] or code.value)))
            return
        found.screened.append(
            Rescreening(
                number=page.number,
                versions=self._versions,
                outcome=outcome,
                decision=Decision(again["decision"] or Decision.BLOCK),
                code=Code(again["code"]) if again["code"] else None,
                findings=await reread.find_findings(page.number) if again["finding_ids"] else (),
            )
        )


def _compare(page: PageRecord, again: Mapping[str, Any]) -> VerdictChange | None:
    recorded, current = _verdict(page.metadata), _verdict(again)
    if recorded == current:
        return None
    before, after = set(page.metadata["finding_ids"]), set(again["finding_ids"])
    return VerdictChange(
        number=page.number,
        url=page.metadata["url"],
        source_ref=page.source_ref,
        recorded=recorded,
        current=current,
        findings_gone=tuple(sorted(before - after)),
        findings_new=tuple(sorted(after - before)),
    )


def _verdict(metadata: Mapping[str, Any]) -> tuple[str, str | None, str | None]:
    return metadata["outcome"], metadata["decision"], metadata["code"]
