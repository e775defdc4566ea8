"""The robots.txt files and sitemaps of a run as it read them, from the archive, in the order of its asking."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mudroom.address import parse_url
from mudroom.errors import Code, FetchFailed, StoreFailed
from mudroom.fetch import FetchRequest, Streamed
from mudroom.media import BodyDecoder, header_values
from mudroom.replay.record import RunRecord, missing_page, read_code, read_hops
from mudroom.replay.walk import Walk
from mudroom.snapshot import Snapshot, SnapshotStore, SourceKind

__all__ = ["ArchiveSources"]

_PIECE_BYTES = 512
"""At most a megabyte, unpacked (deflate packs 1032 to one)."""


class ArchiveSources:
    """A `RobotsFetcher` and `SitemapFetcher` that holds one run's files of a kind.

    Of what was asked for several times the last answer is given: sittings that had one before it were stopped
    before they used it. (Of robots.txt files each sitting has its answer: see `RecordedRobots`.)
    """

    def __init__(
        self,
        run: RunRecord,
        archive: SnapshotStore,
        kind: SourceKind,
        *,
        max_decoded_bytes: int,
        is_cut: bool = False,
    ) -> None:
        """Those of `run`.

        Shapes: `is_cut` where the run was stopped, and so may have been while it asked: who asks for what it never
            had is then stopped too.
        """
        self._run_id = run.run_id
        self._archive = archive
        self._kind = kind
        self._max_decoded_bytes = max_decoded_bytes
        self._is_cut = is_cut
        self._answers: dict[str, Mapping[str, Any]] = {}
        self._unpaid: dict[str, int] = defaultdict(int)
        for source in run.sources:
            if source.get("kind") == kind:
                url = str(source.get("url"))
                self._answers[url] = source
                self._unpaid[url] += int(source.get("wire_bytes") or 0)

    @asynccontextmanager
    async def stream(self, request: FetchRequest) -> AsyncIterator[Streamed]:
        """The answer that the run had. Raises what it recorded, what `hop_check` raises; NotFound, StoreFailed."""
        walk = Walk.of(request)
        source = self._answers.get(walk.url.normalized)
        if source is None and self._is_cut:
            raise asyncio.CancelledError
        if source is None:
            raise missing_page(self._run_id, walk.url.host)
        hops = read_hops(source.get("hops", ()))
        walk = replace(walk, wire_bytes=self._charge(walk.url.normalized))
        await walk.pass_all(hops)
        code = read_code(source.get("code"))
        if code is not None:
            if not hops:
                await walk.pass_one(walk.url.normalized, ())
            error = FetchFailed(code, source.get("message") or code.value)
            error.hops, error.wire_bytes = hops, walk.wire_bytes
            raise error
        if source.get("source_ref") is None:
            what = f"{self._run_id} did not keep the {self._kind} file of {walk.url.host}"
            raise StoreFailed(Code.SNAPSHOT_MISSING, what)
        limit = request.max_decoded_bytes or self._max_decoded_bytes
        yield _answer(await self._archive.get(source["source_ref"]), walk.wire_bytes, limit)

    def _charge(self, url: str) -> int:
        """What a file cost, however often the run asked for it: a run that was gone on with asks again.

        All of it is paid for at once, tries that were turned away included.
        """
        return self._unpaid.pop(url, 0)


def _answer(snapshot: Snapshot, wire_bytes: int, max_decoded_bytes: int) -> Streamed:
    """A file as it came."""
    envelope = snapshot.envelope
    final = parse_url(envelope.url)
    if final is None or not envelope.redirects:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the record of a robots.txt names no request")
    codings = ",".join(header_values(snapshot.headers, "content-encoding"))
    last = envelope.redirects[-1]
    return Streamed(
        requested_url=envelope.source_id.partition("::")[2],
        final=final,
        hops=envelope.redirects,
        status=envelope.status or 0,
        reason="",
        protocol=last.protocol,
        headers=snapshot.headers,
        raw_header=snapshot.http_block,
        exception=last.exception,
        response=_KeptResponse(snapshot),
        decoder=BodyDecoder(codings or None, max_decoded_bytes, host=final.host),
        earlier_bytes=wire_bytes - len(snapshot.body),
    )


class _KeptResponse:
    """A `WireResponse` whose bytes lie in the archive."""

    def __init__(self, snapshot: Snapshot) -> None:
        envelope, last = snapshot.envelope, snapshot.envelope.redirects[-1]
        self._body = snapshot.body
        self.status = envelope.status or 0
        self.reason = ""
        self.protocol = last.protocol
        self.raw_header = snapshot.http_block
        self.headers = snapshot.headers
        self.address = last.address
        self.received_bytes = len(snapshot.body)
        self.is_complete = True

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, in pieces so small that none unpacks to more than a reader may give up at."""
        for start in range(0, len(self._body), _PIECE_BYTES):
            yield self._body[start : start + _PIECE_BYTES]

    async def read(self) -> bytes:
        """The body."""
        return self._body
