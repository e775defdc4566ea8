"""The pages of a run as they came in, from the archive: no name is resolved and nothing is dialled.

What was kept is read by the run's own reference, never by whatever is newest. What was not kept (a timeout,
a refused address, a body that was too large) fails again with the code that the run recorded.
"""

from __future__ import annotations

from dataclasses import replace

from mudroom.address import parse_url
from mudroom.errors import Code, FetchFailed, MudroomError, StoreFailed
from mudroom.fetch import FetchRequest
from mudroom.intake import Recalled, recall_answer
from mudroom.replay.record import PageRecord, RunRecord, missing_page
from mudroom.replay.walk import Walk
from mudroom.snapshot import Snapshot, SnapshotStore

__all__ = ["ArchiveFetcher"]


class ArchiveFetcher:
    """A `PageFetcher` that holds one run's answers."""

    def __init__(self, run: RunRecord, archive: SnapshotStore, *, max_decoded_bytes: int) -> None:
        self._run = run
        self._archive = archive
        self._max_decoded_bytes = max_decoded_bytes
        self.unreadable: list[tuple[int, MudroomError]] = []
        """Pages whose record in the archive cannot be read, and why."""

    async def fetch(self, request: FetchRequest) -> Recalled:
        """The answer that the run had.

        Raises: what the run recorded; NotFound SNAPSHOT_MISSING where the archive, or the run, has nothing;
            StoreFailed SNAPSHOT_CORRUPT where what it has is damaged. What `hop_check` raises passes through.
        """
        walk = Walk.of(request)
        page = await self._run.find_page(walk.url.normalized)
        if page is None:
            raise missing_page(self._run.run_id, walk.url.host)
        walk = replace(walk, wire_bytes=page.wire_bytes)
        if page.source_ref is None:
            raise await self._fail_again(walk, page)
        snapshot = await self._read(page)
        hops = snapshot.envelope.redirects
        revalidated_at = page.metadata.get("revalidated_at")
        if revalidated_at is not None:
            hops = page.hops  # the bytes are another run's, and so are the requests that brought them
        await walk.pass_all(hops)
        final = parse_url(snapshot.envelope.url)
        if final is None or not hops:
            raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the record of page {page.number} names no request")
        fetched = recall_answer(
            snapshot,
            final,
            requested_url=walk.url.normalized,
            hops=hops,
            wire_bytes=page.wire_bytes,
            duration_seconds=0.0,
            max_decoded_bytes=self._max_decoded_bytes,
        )
        return Recalled(fetched=fetched, snapshot=snapshot, revalidated_at=revalidated_at)

    async def _read(self, page: PageRecord) -> Snapshot:
        try:
            return await self._archive.get(page.source_ref or "")
        except MudroomError as error:
            self.unreadable.append((page.number, error))
            raise

    async def _fail_again(self, walk: Walk, page: PageRecord) -> MudroomError:
        """The failure that the run recorded, after the checks that came before it. Raises what those raise."""
        hops = page.hops
        await walk.pass_all(hops)
        reached = page.metadata.get("stopped_at") or walk.url.normalized
        if not hops or reached != hops[-1].url:
            await walk.pass_one(reached, hops)
        code = page.code
        if code is None:  # it was taken in, so bytes came, and yet none were kept
            return StoreFailed(
                Code.SNAPSHOT_MISSING, f"{self._run.run_id} did not keep the bytes of this page"
            )
        error = FetchFailed(code, page.metadata.get("message") or code.value)
        error.hops, error.wire_bytes = hops, page.wire_bytes
        return error
