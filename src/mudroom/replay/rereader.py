"""A page or file read again from the bytes that its run kept, along the same way in, into a record in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mudroom.address import ExceptionScope, parse_url
from mudroom.corpus import MemoryCorpus, RunVersions, RunWriter
from mudroom.errors import Code, MudroomError, StoreFailed
from mudroom.intake import (
    IMPORTED_OPTION,
    FileRequest,
    Intake,
    NullObserver,
    PageRequest,
    Parts,
    RecordRequest,
)
from mudroom.model import ExposedForm, Initiator, RobotsState, RunKind, View
from mudroom.replay.egress import find_egress
from mudroom.replay.fetcher import ArchiveFetcher
from mudroom.replay.record import PageRecord, RunRecord
from mudroom.snapshot import KeepRule, Snapshot

__all__ = ["RereadRun", "open_reread"]


_EPOCH = datetime.fromtimestamp(0, UTC)


class RereadRun:
    """The pages of one run, read again; what comes of them lies in memory, without their text."""

    def __init__(
        self, parts: Parts, run: RunRecord, corpus: MemoryCorpus, writer: RunWriter, max_decoded_bytes: int
    ) -> None:
        self._parts = parts
        self._run = run
        self._corpus = corpus
        self._writer = writer
        self._max_decoded_bytes = max_decoded_bytes

    async def read(self, page: PageRecord) -> Mapping[str, Any]:
        """mudroom.document/1 of a page, as it comes out under the settings, rules and versions of now.

        Raises: StoreFailed STORE_UNAVAILABLE where the archive cannot be asked.
        """
        if IMPORTED_OPTION in self._run.options:
            await self._read_imported(page)
        elif self._run.manifest["kind"] == RunKind.FILE and page.source_ref is not None:
            await self._read_file(page, page.source_ref)
        else:
            await self._read_page(page)
        again = await self._corpus.read_metadata(self._writer.run_id, page.number)
        if again["code"] == Code.STORE_UNAVAILABLE != page.code:
            raise StoreFailed(Code.STORE_UNAVAILABLE, again["message"])
        return again

    async def find_findings(self, number: int) -> tuple[Mapping[str, Any], ...]:
        """What was found in a page that was read: ids and severities, as findings.json holds them."""
        for each in await self._corpus.read_findings(self._writer.run_id):
            if each["n"] == number:
                return tuple(each["findings"])
        return ()

    async def _read_page(self, page: PageRecord) -> None:
        egress = find_egress(self._run.options, [hop.exception for hop in page.hops if hop.exception])
        fetcher = ArchiveFetcher(self._run, self._parts.archive, max_decoded_bytes=self._max_decoded_bytes)
        intake = Intake(replace(self._parts, fetcher=fetcher, egress=egress, keep=KeepRule.ALL))
        metadata = page.metadata
        request = PageRequest(
            untrusted_url=metadata["url"],
            number=page.number,
            depth=metadata["depth"],
            initiator=Initiator(metadata.get("initiator") or Initiator.OPERATOR),
            scope=ExceptionScope.operator(),
            robots=RobotsState(metadata["robots"]),
            views=_find_views(page),
        )
        await intake.take_page(request, self._writer)

    async def _read_imported(self, page: PageRecord) -> None:
        """A record of somebody's archive; one of which nothing was kept ends again as it did."""
        intake = Intake(replace(self._parts, keep=KeepRule.NONE))
        metadata = page.metadata
        kept: dict[str, Any] = {"retrieved_at": _EPOCH, "status": None}
        try:
            if page.source_ref is None:
                raise StoreFailed(Code(metadata["code"]), metadata["message"])
            snapshot = await self._parts.archive.get(page.source_ref)
            kept = {
                "retrieved_at": datetime.fromisoformat(snapshot.envelope.fetched_at),
                "status": snapshot.envelope.status,
                "untrusted_body": snapshot.body,
                "headers": snapshot.headers,
                "raw_header": snapshot.http_block,
            }
        except MudroomError as error:
            kept["refusal"] = error
        request = RecordRequest(url=metadata["url"], number=page.number, views=_find_views(page), **kept)
        await intake.take_record(request, self._writer)

    async def _read_file(self, page: PageRecord, source_ref: str) -> None:
        intake = Intake(replace(self._parts, keep=KeepRule.NONE))  # the archive has it, under another moment
        name = str(page.metadata["url"])
        url = name if parse_url(name) is not None else None
        try:
            snapshot = await self._parts.archive.get(source_ref)
        except MudroomError as error:
            await intake.refuse_file(error, name, page.number, self._writer)
            return
        request = FileRequest(
            name=name.rpartition("/")[2] if url else name,
            number=page.number,
            untrusted_body=snapshot.body,
            content_type=_content_type(snapshot),
            url=url,
            views=_find_views(page),
        )
        await intake.take_file(request, self._writer)


async def open_reread(
    parts: Parts, run: RunRecord, versions: RunVersions, *, max_decoded_bytes: int
) -> RereadRun:
    """Begin to read pages of a run again; nothing is written anywhere."""
    parts = replace(parts, observer=NullObserver(), priors=None)
    corpus = MemoryCorpus(versions, parts.clock, keeps_text=False)
    writer = await corpus.begin_run(RunKind(run.manifest["kind"]), run.manifest["root_url"], {})
    return RereadRun(parts, run, corpus, writer, max_decoded_bytes)


def _find_views(page: PageRecord) -> frozenset[View]:
    """The views that were asked for: the text too, where it was scanned."""
    exposed = page.metadata.get("exposed_sha256") or {}
    return frozenset({View.MARKDOWN, View.TEXT} if ExposedForm.TEXT in exposed else {View.MARKDOWN})


def _content_type(snapshot: Snapshot) -> str:
    return next((value for name, value in snapshot.headers if name.lower() == "content-type"), "")
