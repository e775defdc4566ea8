"""What the runs of a workspace refer to, so that a prune leaves it alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from mudroom.clock import format_time
from mudroom.corpus import CorpusStore, RunSummary
from mudroom.errors import Code, MudroomError, NotFound, StoreFailed

__all__ = ["Citations", "gather_citations"]

_ALL_RUNS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Citations:
    """Which runs count, and which records they refer to."""

    run_ids: frozenset[str]
    """Their own records stay, robots.txt and sitemaps with them: a replay needs all."""
    source_refs: frozenset[str]
    """Records of any run that stand in their manifests: a page that had not changed refers to an older one."""


async def gather_citations(corpus: CorpusStore, *, runs_since: datetime | None) -> Citations:
    """The references of all runs, or of those that began since then and those that still run.

    Raises: StoreFailed SNAPSHOT_CORRUPT when a manifest that counts cannot be read: what it refers to is then
    not known, and nothing may be pruned on a guess.
    """
    run_ids: set[str] = set()
    refs: set[str] = set()
    async for run in _counting_runs(corpus, runs_since):
        run_ids.add(run.run_id)
        try:
            manifest = await corpus.read_manifest(run.run_id)
        except NotFound:
            continue  # it was deleted meanwhile, or never had a manifest; its own records stay all the same
        except MudroomError as failure:
            raise _unknown(run, failure) from failure
        refs.update(ref for page in manifest.get("pages", ()) if (ref := page.get("source_ref")))
    return Citations(run_ids=frozenset(run_ids), source_refs=frozenset(refs))


async def _counting_runs(corpus: CorpusStore, runs_since: datetime | None) -> AsyncIterator[RunSummary]:
    since = None if runs_since is None else format_time(runs_since)
    for run in await corpus.list_runs(limit=_ALL_RUNS):
        is_old = since is not None and run.started_at is not None and run.started_at < since
        if not is_old or run.is_live:
            yield run


def _unknown(run: RunSummary, failure: MudroomError) -> MudroomError:
    if failure.code is not Code.SNAPSHOT_CORRUPT:
        return failure
    return StoreFailed(
        Code.SNAPSHOT_CORRUPT,
        f"the manifest of {run.run_id} is damaged, so what it refers to is not known and nothing was pruned; "
        "put a whole copy of that run in its place, or delete its folder",
    )
