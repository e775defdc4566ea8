"""A run as its own record tells it: what a replay follows, and nothing that came later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mudroom.address import parse_url
from mudroom.corpus import CorpusStore
from mudroom.errors import Code, NotFound, StoreFailed
from mudroom.model import Hop
from mudroom.replay.shapes import check_manifest, check_metadata, check_source

__all__ = [
    "PageRecord",
    "RunRecord",
    "missing_page",
    "read_code",
    "read_hops",
    "read_page",
    "read_run",
    "run_has_no_page",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord:
    """One page of a run as its metadata tells it."""

    number: int
    metadata: Mapping[str, Any]
    """mudroom.document/1, as it was read."""

    @property
    def source_ref(self) -> str | None:
        """Of its bytes in the archive; None where none were kept."""
        reference: str | None = self.metadata.get("source_ref")
        return reference

    @property
    def code(self) -> Code | None:
        """How it failed or why it was withheld."""
        return read_code(self.metadata.get("code"))

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The requests that were made for it."""
        return read_hops(self.metadata.get("hops", ()))

    @property
    def wire_bytes(self) -> int:
        """What it cost its run."""
        return int(self.metadata.get("wire_bytes") or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run's manifest, what it asked for beside its pages, and the way to each page's metadata."""

    run_id: str
    manifest: Mapping[str, Any]
    sources: Sequence[Mapping[str, Any]]
    corpus: CorpusStore
    numbers: Mapping[str, int] = field(repr=False)
    """Of each page, by the URL that was asked for, in normal form."""

    @property
    def options(self) -> Mapping[str, Any]:
        """What it was begun with."""
        options: Mapping[str, Any] = self.manifest["options"]
        return options

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Its pages, in order of their numbers."""
        rows: Sequence[Mapping[str, Any]] = self.manifest["pages"]
        return rows

    async def read_page(self, number: int) -> PageRecord:
        """One page. Raises NotFound RUN_NOT_FOUND, StoreFailed SNAPSHOT_CORRUPT."""
        return await read_page(self.corpus, self.run_id, number)

    async def find_page(self, normal_url: str) -> PageRecord | None:
        """The page that was asked for under this URL; None when none was."""
        number = self.numbers.get(normal_url)
        return None if number is None else await self.read_page(number)


async def read_run(corpus: CorpusStore, run_id: str) -> RunRecord:
    """The record of a run. Raises: NotFound RUN_NOT_FOUND; StoreFailed SNAPSHOT_CORRUPT."""
    manifest = await corpus.read_manifest(run_id)
    check_manifest(manifest)
    sources = await corpus.read_sources(run_id)
    for source in sources:
        check_source(source)
    numbers: dict[str, int] = {}
    for row in manifest["pages"]:
        url = parse_url(row["url"])
        if url is not None:
            numbers[url.normalized] = int(row["n"])
    return RunRecord(run_id=run_id, manifest=manifest, sources=sources, corpus=corpus, numbers=numbers)


async def read_page(corpus: CorpusStore, run_id: str, number: int) -> PageRecord:
    """The record of one page. Raises: NotFound RUN_NOT_FOUND; StoreFailed SNAPSHOT_CORRUPT."""
    metadata = await corpus.read_metadata(run_id, number)
    check_metadata(metadata)
    if metadata["n"] != number:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT, f"the metadata of page {number} of {run_id} is another page's"
        )
    return PageRecord(number=number, metadata=metadata)


def read_hops(value: Any) -> tuple[Hop, ...]:
    """Hops as a record holds them. Raises StoreFailed SNAPSHOT_CORRUPT."""
    try:
        return tuple(Hop(**hop) for hop in value)
    except TypeError as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a run's record of a page's requests is damaged") from fault


def read_code(value: Any) -> Code | None:
    """A code as a record holds it. Raises StoreFailed SNAPSHOT_CORRUPT for a word that is none."""
    if value is None:
        return None
    try:
        return Code(value)
    except ValueError as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "a run's record names a code that does not exist") from fault


def missing_page(run_id: str, host: str) -> NotFound:
    """What a replay asks for and the run has no record of."""
    return NotFound(Code.SNAPSHOT_MISSING, f"{run_id} has no record of this page of {host}")


def run_has_no_page(run_id: str, number: int) -> NotFound:
    """A number that no page of the run has."""
    return NotFound(Code.RUN_NOT_FOUND, f"{run_id} has no page {number}")
