"""Runs and references checked again, from the bytes in the archive to what lies in pages/."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mudroom.corpus import CorpusStore, MemoryCorpus, RunVersions
from mudroom.crawl import SilentObserver
from mudroom.errors import Code, InvalidConfig, MudroomError, NotFound, StoreFailed
from mudroom.intake import Parts
from mudroom.model import OutcomeKind, RunKind
from mudroom.replay.compare import Difference
from mudroom.replay.proof import PageProof, Stage, prove_page
from mudroom.replay.record import PageRecord, RunRecord, read_run, run_has_no_page
from mudroom.replay.replayer import Replayer, check_replayable
from mudroom.replay.rereader import open_reread
from mudroom.snapshot import SourceKind, parse_source_ref

__all__ = ["RefProof", "RunProof", "Verifier"]

_PAGE_FIELDS = frozenset({"page", "n", "url", "depth"})
"""Fields of a page in which a difference is one of the crawl's order, and of no page's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProof:
    """What became of checking a run again."""

    run_id: str
    checked: int
    """Pages."""
    failures: tuple[PageProof, ...]
    """Pages that do not hold, in order."""
    order: tuple[Difference, ...] = ()
    """What differs of the crawl as a whole."""
    order_skipped: str = ""
    """Why the order was not checked; empty where it was, or where there is none."""

    @property
    def holds(self) -> bool:
        """Whether everything agrees."""
        return not self.failures and not self.order


@dataclass(frozen=True, slots=True, kw_only=True)
class RefProof:
    """What became of checking a reference: its bytes, and what its run made of them."""

    source_ref: str
    pages: tuple[PageProof, ...] = ()
    """As its run recorded it; empty where no run of this workspace speaks of it, or it is no page's."""
    error: MudroomError | None = None
    """Why the archive cannot give the bytes."""

    @property
    def holds(self) -> bool:
        """Whether everything agrees."""
        return self.error is None and all(page.holds for page in self.pages)


class Verifier:
    """Checks what one workspace holds."""

    def __init__(
        self, parts: Parts, corpus: CorpusStore, versions: RunVersions, *, max_decoded_bytes: int
    ) -> None:
        self._parts = parts
        self._corpus = corpus
        self._versions = versions
        self._max_decoded_bytes = max_decoded_bytes

    async def verify_ref(self, source_ref: str) -> RefProof:
        """A reference checked again.

        Raises: NotFound INVALID_REFERENCE, SNAPSHOT_MISSING; StoreFailed STORE_UNAVAILABLE.
        """
        ref = parse_source_ref(source_ref)
        try:
            snapshot = await self._parts.archive.get(source_ref)
        except StoreFailed as error:
            if error.code is Code.STORE_UNAVAILABLE:
                raise
            return RefProof(source_ref=source_ref, error=error)
        if ref.kind not in (SourceKind.PAGE, SourceKind.FILE):
            return RefProof(source_ref=source_ref)
        try:
            run = await read_run(self._corpus, snapshot.run_id)
        except NotFound:
            return RefProof(source_ref=source_ref)
        numbers = [int(row["n"]) for row in run.rows if row["source_ref"] == source_ref]
        return RefProof(source_ref=source_ref, pages=await self._prove_each(run, numbers))

    async def verify_page(self, run_id: str, number: int) -> PageProof:
        """One page of a run checked again. Raises: NotFound RUN_NOT_FOUND; StoreFailed."""
        run = await read_run(self._corpus, run_id)
        (proof,) = await self._prove_each(run, [number])
        return proof

    async def verify_run(self, run_id: str) -> RunProof:
        """Every page of a run checked again, and of a crawl its order too.

        Raises: NotFound RUN_NOT_FOUND; StoreFailed STORE_UNAVAILABLE, or SNAPSHOT_CORRUPT for a manifest
            that cannot be read.
        """
        run = await read_run(self._corpus, run_id)
        if run.manifest["kind"] != RunKind.CRAWL:
            return await self._prove_pages(run, order_skipped="")
        try:
            check_replayable(run)
        except InvalidConfig as fault:
            return await self._prove_pages(run, order_skipped=fault.message)
        return await self._prove_crawl(run)

    async def _prove_pages(self, run: RunRecord, *, order_skipped: str) -> RunProof:
        proofs = await self._prove_each(run, [int(row["n"]) for row in run.rows])
        failures = tuple(proof for proof in proofs if not proof.holds)
        return RunProof(
            run_id=run.run_id, checked=len(proofs), failures=failures, order_skipped=order_skipped
        )

    async def _prove_each(self, run: RunRecord, numbers: list[int]) -> tuple[PageProof, ...]:
        reread = await open_reread(
            self._parts, run, self._versions, max_decoded_bytes=self._max_decoded_bytes
        )
        proofs: list[PageProof] = []
        for number in numbers:
            page = await _read_page(run, number)
            if isinstance(page, PageRecord):
                page = await self._prove(run, page, await reread.read(page))
            proofs.append(page)
        return tuple(proofs)

    async def _prove_crawl(self, run: RunRecord) -> RunProof:
        """One replay gives both: what each page comes to, and in which order."""
        scratch = MemoryCorpus(self._versions, self._parts.clock, keeps_text=False)
        replayer = Replayer(
            self._parts, self._corpus, SilentObserver(), max_decoded_bytes=self._max_decoded_bytes
        )
        report = await replayer.replay(run.run_id, corpus=scratch)
        for _, error in report.unreadable:
            if error.code is Code.STORE_UNAVAILABLE:
                raise error
        failures: list[PageProof] = []
        unreached: list[int] = []
        for row in run.rows:
            number = int(row["n"])
            page = await _read_page(run, number)
            if isinstance(page, PageRecord):
                try:
                    again = await scratch.read_metadata(report.manifest["run_id"], number)
                except NotFound:
                    unreached.append(number)  # no page led to it this time, which is a difference of order
                    continue
                page = await self._prove(run, page, again)
            if not page.holds:
                failures.append(page)
        if unreached:
            failures += [proof for proof in await self._prove_each(run, unreached) if not proof.holds]
            failures.sort(key=lambda proof: proof.number)
        told = {proof.number for proof in failures}
        order = tuple(each for each in report.differences if _is_of_order(each, told))
        return RunProof(run_id=run.run_id, checked=len(run.rows), failures=tuple(failures), order=order)

    async def _prove(self, run: RunRecord, page: PageRecord, again: Any) -> PageProof:
        proof = prove_page(run.run_id, page.metadata, again)
        if proof.stage in (Stage.BYTES, Stage.RECORD):
            return proof
        row = next((row for row in run.rows if int(row["n"]) == page.number), None)
        edited = [name for name, value in (row or {}).items() if page.metadata.get(name) != value]
        if row is None or edited:
            what = ", ".join(edited) or "the page"
            return replace(proof, stage=Stage.RECORD, message=f"manifest and metadata disagree on {what}")
        if proof.holds and page.metadata["outcome"] == OutcomeKind.STORED:
            return await self._prove_file(run, proof)
        return proof

    async def _prove_file(self, run: RunRecord, proof: PageProof) -> PageProof:
        try:
            await self._corpus.read_document(run.run_id, proof.number)
        except NotFound:
            return replace(proof, stage=Stage.FILE, message="its text is gone from the run's folder")
        except StoreFailed as error:
            if error.code is Code.STORE_UNAVAILABLE:
                raise
            return replace(
                proof,
                stage=Stage.FILE,
                message="its text in the run's folder is not the one that was scanned",
            )
        return proof


async def _read_page(run: RunRecord, number: int) -> PageRecord | PageProof:
    """A page as its record tells it, or what there is to say of a record that cannot be read."""
    try:
        return await run.read_page(number)
    except (NotFound, StoreFailed) as error:
        if error.code is Code.STORE_UNAVAILABLE:
            raise
    row = next((row for row in run.rows if int(row["n"]) == number), None)
    if row is None:
        raise run_has_no_page(run.run_id, number)
    return PageProof(
        run_id=run.run_id,
        number=number,
        url=row["url"],
        source_ref=row["source_ref"],
        stage=Stage.RECORD,
        message="its metadata in the run's folder is gone or damaged",
        versions={},
    )


def _is_of_order(difference: Difference, told: set[int]) -> bool:
    """Whether a difference is the crawl's: of a page, only where it stands; of the run, all but what pages add."""
    if difference.number is None:
        return not told
    return difference.field in _PAGE_FIELDS and difference.number not in told
