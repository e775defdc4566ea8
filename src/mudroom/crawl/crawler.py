"""Crawls: one seed, one run, one manifest."""

from __future__ import annotations

from mudroom.address import ExceptionScope, parse_url
from mudroom.crawl.cancel import CancelToken
from mudroom.crawl.events import CrawlEvent
from mudroom.crawl.policy import CrawlPolicy
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.run import CrawlRun
from mudroom.crawl.seed import Seed
from mudroom.errors import InvalidConfig
from mudroom.model import CrawlState, Initiator, RunKind

__all__ = ["Crawler"]


class Crawler:
    """Makes crawls of the parts it was given; several may run at once."""

    def __init__(self, parts: CrawlParts) -> None:
        self._parts = parts

    async def crawl(
        self,
        untrusted_seed: str,
        policy: CrawlPolicy | None = None,
        *,
        initiator: Initiator = Initiator.OPERATOR,
        scope: ExceptionScope | None = None,
        cancel: CancelToken | None = None,
    ) -> dict[str, object]:
        """The manifest of one crawl, whatever came of it.

        Shapes: `scope` is None for all that the operator's own URLs may use.
        Raises: InvalidConfig with every fault of policy and seed, before anything is written or fetched;
            StoreFailed when the run's own record cannot be written; asyncio.CancelledError when the task is
            cancelled, after the manifest was written.
        """
        policy = policy or CrawlPolicy()
        seed = _check(untrusted_seed, policy, initiator, scope or ExceptionScope.operator())
        writer = await self._parts.corpus.begin_run(RunKind.CRAWL, seed.url.normalized, policy.describe())
        self._parts.observer.on_crawl(CrawlEvent(run_id=writer.run_id, state=CrawlState.CREATED))
        run = CrawlRun(self._parts, policy, seed, writer, cancel or CancelToken())
        try:
            await run.work()
        finally:
            manifest = await run.finish()
        return manifest


def _check(
    untrusted_seed: str, policy: CrawlPolicy, initiator: Initiator, scope: ExceptionScope
) -> Seed:
    faults = policy.list_faults()
    url = parse_url(untrusted_seed)
    if url is None:
        faults = (*faults, "the seed is no URL; expected an absolute one that begins with http:// or https://")
    if faults or url is None:
        raise InvalidConfig(faults)
    return Seed(untrusted_url=untrusted_seed, url=url, initiator=initiator, scope=scope)
