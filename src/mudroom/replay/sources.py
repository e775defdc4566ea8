"""The robots.txt files of a run as it read them, from the archive, in the order in which it asked for them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mudroom.address import parse_url
from mudroom.errors import Code, FetchFailed, StoreFailed
from mudroom.fetch import FetchRequest, Streamed
from mudroom.media import BodyDecoder, header_values
from mudroom.replay.record import RunRecord, missing_page, read_code, read_hops
from mudroom.snapshot import Snapshot, SnapshotStore, SourceKind

__all__ = ["ArchiveSources"]


class ArchiveSources:
    """A `RobotsFetcher` that holds one run's files; the last answer to a URL is given as often as it is asked."""

    def __init__(self, run: RunRecord, archive: SnapshotStore, *, max_decoded_bytes: int) -> None:
        self._run_id = run.run_id
        self._archive = archive
        self._max_decoded_bytes = max_decoded_bytes
        self._left: dict[str, deque[Mapping[str, Any]]] = defaultdict(deque)
        for source in run.sources:
            if source.get("kind") == SourceKind.ROBOTS:
                self._left[str(source.get("url"))].append(source)
        self._charged: set[int] = set()

    @asynccontextmanager
    async def stream(self, request: FetchRequest) -> AsyncIterator[Streamed]:
        """The answer that the run had. Raises what it recorded; NotFound, StoreFailed."""
        url = parse_url(request.url) if isinstance(request.url, str) else request.url.url
        if url is None:
            raise FetchFailed(Code.INVALID_URL, "the URL cannot be parsed")
        line = self._left.get(url.normalized)
        if not line:
            raise missing_page(self._run_id, url.host)
        source = line.popleft() if len(line) > 1 else line[0]
        wire_bytes = self._charge(source)
        code = read_code(source.get("code"))
        if code is not None:
            error = FetchFailed(code, source.get("message") or code.value)
            error.hops, error.wire_bytes = read_hops(source.get("hops", ())), wire_bytes
            raise error
        if source.get("source_ref") is None:
            raise StoreFailed(Code.SNAPSHOT_MISSING, f"{self._run_id} did not keep robots.txt of {url.host}")
        yield self._answer(await self._archive.get(source["source_ref"]), wire_bytes)

    def _charge(self, source: Mapping[str, Any]) -> int:
        """What a file cost; it was paid for once, tries that were turned away included."""
        if id(source) in self._charged:
            return 0
        self._charged.add(id(source))
        return int(source.get("wire_bytes") or 0)

    def _answer(self, snapshot: Snapshot, wire_bytes: int) -> Streamed:
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
            decoder=BodyDecoder(codings or None, self._max_decoded_bytes),
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

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, in one piece."""
        if self._body:
            yield self._body

    async def read(self) -> bytes:
        """The body."""
        return self._body
