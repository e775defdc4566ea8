"""A crawl that was killed or stopped: whether it can go on, and what it had recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from mudroom.address import parse_url
from mudroom.corpus import RecordedPage, RunSummary
from mudroom.crawl.frontier import Recorded
from mudroom.crawl.seed import Seed
from mudroom.errors import Code, InvalidConfig, StoreFailed
from mudroom.model import CrawlState, OutcomeKind, RunKind

__all__ = ["GIVEN_UP", "check_not_begun", "check_resumable", "find_recorded", "read_seed"]

GIVEN_UP = frozenset({Code.CANCELLED, Code.CRAWL_LIMIT_REACHED})
"""The codes of pages that were on their way when a crawl was stopped: they are tried again."""


def check_resumable(run: RunSummary) -> None:
    """Nothing, when the run may go on, as far as its summary says. Raises: InvalidConfig, StoreFailed."""
    run_id = run.run_id
    if run.state is None:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"the manifest of {run_id} is damaged, so it cannot go on")
    if run.kind is not RunKind.CRAWL:
        _refuse(f"{run_id} is no crawl, so there is nothing to go on with")
    if run.is_live:
        _refuse(f"{run_id} is being written at this moment; wait until it has ended, or stop its program")
    if run.state is CrawlState.COMPLETE:
        _refuse(f"{run_id} is complete; crawl the site again with: mudroom crawl")


def check_not_begun(run: RunSummary) -> None:
    """Nothing, when a run without a frontier may begin with its seed. Raises: InvalidConfig, StoreFailed."""
    if run.state is CrawlState.LIMIT_REACHED:
        _refuse(
            f"{run.run_id} reached max_pages or max_total_bytes of its policy, under which it cannot go on; "
            "crawl again with more of them"
        )
    if run.state is CrawlState.FAILED:
        _refuse(f"{run.run_id} has failed, so there is nothing to go on with; crawl again")
    if run.totals.get("attempted"):
        raise StoreFailed(
            Code.SNAPSHOT_MISSING, f"{run.run_id} has no frontier any more, so it cannot go on; crawl again"
        )


def find_recorded(pages: Sequence[RecordedPage]) -> Sequence[Recorded]:
    """The pages of a run as its frontier asks for them."""
    return [
        Recorded(
            number=page.number, url=page.url, depth=page.depth, has_links=page.outcome is OutcomeKind.STORED
        )
        for page in pages
    ]


def read_seed(root_url: str, notes: Mapping[str, str]) -> Seed:
    """Where the crawl began. Raises: StoreFailed SNAPSHOT_CORRUPT."""
    url = parse_url(root_url)
    try:
        if url is not None:
            return Seed.restore(url, notes)
    except ValueError as fault:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the frontier of the run is damaged") from fault
    raise StoreFailed(Code.SNAPSHOT_CORRUPT, "the run's manifest names no seed")


def _refuse(fault: str) -> NoReturn:
    raise InvalidConfig(fault, is_of_run=True)
