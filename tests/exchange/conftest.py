"""Archives on paper: a run with pages of every outcome, and what writes foreign ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mudroom.exchange import ExportRule, ExportSummary, Importer, ImportLimits, export_wacz, export_warc
from mudroom.model import Channel, CrawlState, Finding, Hiding, Severity
from mudroom.snapshot import KeepRule
from mudroom.testing.guests import Scan, ScriptedGuests
from mudroom.testing.paper import PaperHouse, ask
from mudroom.testing.transports import PaperAnswer

SITE = "https://site.example"
HTML = (("Content-Type", "text/html"),)
BAD = Finding(
    id="ROLE-001",
    severity=Severity.CRITICAL,
    category="role-override",
    channel=Channel.COMMENT,
    hiding=Hiding.NOT_RENDERED,
    line=1,
)


def response(
    url: str = f"{SITE}/",
    body: bytes = b"<p>Kept by somebody.",
    *,
    status: str = "200 OK",
    headers: tuple[tuple[str, str], ...] = HTML,
    date: str = "2020-02-02T20:20:20Z",
    kind: str = "response",
    more: tuple[tuple[str, str], ...] = (),
    length: int | None = None,
) -> bytes:
    """A record as some other program writes it, one gzip member."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    block = f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body if kind != "resource" else body
    if kind == "revisit":
        block = f"HTTP/1.1 {status}\r\n{head}\r\n".encode()
    digest = hashlib.sha256(f"{url} {date}".encode()).hexdigest()
    fields = (
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<urn:uuid:{digest[:32]}>"),
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("Content-Type", "text/html" if kind == "resource" else "application/http; msgtype=response"),
        *more,
        ("Content-Length", str(len(block) if length is None else length)),
    )
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return gzip.compress(f"WARC/1.0\r\n{lines}\r\n".encode() + block + b"\r\n\r\n", mtime=0)


def zip_of(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file of these entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as container:
        for name, content in entries:
            container.writestr(name, content)
    return out.getvalue()


@dataclass
class Desk:
    """A house on paper, and what goes out of it and comes in."""

    folder: Path
    answers: dict[str, PaperAnswer] = field(default_factory=dict)
    scans: list[Scan] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.house = PaperHouse(self.answers, guests=ScriptedGuests(scans=self.scans))

    async def take_run(self, keep: KeepRule = KeepRule.ALL) -> str:
        """A run of all answers, in order."""
        self.house = PaperHouse(self.answers, guests=ScriptedGuests(scans=self.scans), keep=keep)
        run = await self.house.begin()
        for number, url in enumerate(self.answers, start=1):
            await self.house.intake.take_page(ask(url, number=number), run)
        await run.finish(state=CrawlState.COMPLETE)
        return run.run_id

    async def write_warc(self, run_id: str, **rule: bool) -> bytes:
        chunks = export_warc(
            self.house.corpus,
            self.house.archive,
            run_id,
            ExportRule(**rule),
            software="test",
            summary=ExportSummary(),
        )
        return b"".join([chunk async for chunk in chunks])

    async def write_wacz(self, run_id: str, **rule: bool) -> bytes:
        out = io.BytesIO()
        await export_wacz(
            out,
            self.house.corpus,
            self.house.archive,
            run_id,
            ExportRule(**rule),
            software="test",
            summary=ExportSummary(),
        )
        return out.getvalue()

    async def take_in(self, archive: bytes, **limits: Any) -> dict[str, Any]:
        """The manifest of an import of these bytes."""
        path = self.folder / "foreign"
        path.write_bytes(archive)
        importer = Importer(self.house.intake, self.house.corpus, self.house.archive, ImportLimits(**limits))
        return await importer.take(path, path.name, {})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
