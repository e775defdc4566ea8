"""A run on its way out: no guest is started and nothing is fetched."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO

from mudroom import __version__
from mudroom.assembly.build import build_archive, build_reading_corpus
from mudroom.clock import SystemClock
from mudroom.errors import Code, NotFound
from mudroom.exchange import ExportRule, ExportSummary, export_wacz, export_warc
from mudroom.settings import Settings

__all__ = ["ship_run"]

_CHUNK_BYTES = 1 << 20
_SOFTWARE = f"mudroom {__version__}"


async def ship_run(
    settings: Settings, run: str, rule: ExportRule, *, is_wacz: bool, summary: ExportSummary
) -> AsyncIterator[bytes]:
    """The bytes of a WARC or WACZ file of a run; `summary` counts what is in it.

    Shapes: `run` is an id, the beginning of one, or @last.
    Raises: NotFound RUN_NOT_FOUND, or SNAPSHOT_MISSING where there is nothing to write; StoreFailed.
    """
    corpus = build_reading_corpus(settings)
    archive = build_archive(settings, SystemClock())
    try:
        run_id = await corpus.resolve_run(run)
        if is_wacz:
            with tempfile.TemporaryFile() as spool:
                await export_wacz(spool, corpus, archive, run_id, rule, software=_SOFTWARE, summary=summary)
                _refuse_nothing(run_id, summary)
                async for chunk in _read_again(spool):
                    yield chunk
        else:
            async for chunk in export_warc(
                corpus, archive, run_id, rule, software=_SOFTWARE, summary=summary
            ):
                yield chunk
            _refuse_nothing(run_id, summary)
    finally:
        await archive.aclose()
        await corpus.aclose()


def _refuse_nothing(run_id: str, summary: ExportSummary) -> None:
    if not summary.pages and not summary.others:
        raise NotFound(
            Code.SNAPSHOT_MISSING, f"{run_id} has no page that is written out; --all takes the rest"
        )


async def _read_again(spool: IO[bytes]) -> AsyncIterator[bytes]:
    spool.seek(0)
    while chunk := await asyncio.to_thread(spool.read, _CHUNK_BYTES):
        yield chunk
