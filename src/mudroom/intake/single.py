"""A run of exactly one page or file: begun, taken in, finished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from mudroom.corpus import CorpusStore, RunWriter
from mudroom.intake.outcome import Outcome
from mudroom.model import CrawlState, RunKind

__all__ = ["take_single"]


async def take_single(
    corpus: CorpusStore,
    kind: RunKind,
    root_url: str,
    options: Mapping[str, object],
    take: Callable[[RunWriter], Awaitable[Outcome]],
) -> Outcome:
    """One page or file in a run of its own. Cancelled, the run still gets its manifest.

    Raises: StoreFailed where the run cannot be begun or ended.
    """
    run = await corpus.begin_run(kind, root_url, options)
    state = CrawlState.FAILED
    try:
        outcome = await take(run)
        state = CrawlState.COMPLETE
    except asyncio.CancelledError:
        state = CrawlState.CANCELLED
        raise
    finally:
        await run.finish(state)
    return outcome
