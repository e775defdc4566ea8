"""Crawls: one seed, one run, one manifest; begun, or gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any

from mudroom.address import ExceptionScope, parse_url
from mudroom.clock import format_time
from mudroom.corpus import CorpusStore, ReopenedRun, RunWriter
from mudroom.crawl.cancel import CancelToken
from mudroom.crawl.events import CrawlEvent
from mudroom.crawl.order import LiveOrder, TakeOrder
from mudroom.crawl.orders import Outlet, RunOrders, give_to_nobody
from mudroom.crawl.policy import CrawlPolicy, ShouldFollow
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.resuming import GIVEN_UP, check_not_begun, check_resumable, find_recorded, read_seed
from mudroom.crawl.run import CrawlRun
from mudroom.crawl.seed import Seed
from mudroom.errors import Code, InvalidConfig, MudroomError, StoreFailed
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
        order: TakeOrder | None = None,
        outlet: Outlet = give_to_nobody,
    ) -> dict[str, Any]:
        """The manifest of one crawl, whatever came of it.

        Shapes: `scope` is None for all that the operator's own URLs may use; `order` for a live crawl's;
            `outlet` is given each page when it has ended. Where the run's own record cannot be written, the
            manifest says so and names no run, or one without a record.
        Raises: InvalidConfig with every fault of policy and seed, before anything is written or fetched;
            asyncio.CancelledError when the task is cancelled, after the manifest was written.
        """
        policy = policy or CrawlPolicy()
        seed = _check(untrusted_seed, policy, initiator, scope or ExceptionScope.operator())
        orders = RunOrders(
            began_at=self._parts.clock.now(),
            cancel=cancel or CancelToken(),
            order=order or LiveOrder(),
            outlet=outlet,
        )
        writer: RunWriter | None = None
        try:
            options = {**policy.describe(), **self._parts.options}
            writer = await self._parts.corpus.begin_run(RunKind.CRAWL, seed.name, options)
            self._parts.observer.on_crawl(CrawlEvent(run_id=writer.run_id, state=CrawlState.CREATED))
            frontier = self._parts.frontiers.create(writer.run_id, policy.frontier_cap)
        except MudroomError as error:
            if writer is not None:
                return await self._end_at_once(writer, seed, policy, orders.began_at, error)
            return self._build_failed(None, seed, policy, orders.began_at, error)
        run = CrawlRun(self._parts, policy, seed, writer, frontier, orders)
        return await self._work(run, writer, seed, policy, orders.began_at)

    async def resume(
        self,
        untrusted_run: str,
        *,
        seed_headers: tuple[tuple[str, str], ...] = (),
        should_follow: ShouldFollow | None = None,
        cancel: CancelToken | None = None,
        outlet: Outlet = give_to_nobody,
    ) -> dict[str, Any]:
        """The manifest of a crawl that was killed or stopped, gone on with under its own policy and id.

        Shapes: a run is named by its id, `@last`, or a prefix; `seed_headers` and `should_follow` stand in no
            record, and so are given again. The time that a crawl may take counts for each sitting.
        Raises: InvalidConfig for a run that has come to its end, or that somebody writes at this moment;
            NotFound; StoreFailed when its record or its frontier is damaged.
        """
        corpus, parts = self._parts.corpus, self._parts
        summary = await corpus.summarise_run(await corpus.resolve_run(untrusted_run))
        check_resumable(summary)
        run_id = summary.run_id
        policy = CrawlPolicy.from_options(
            summary.options, seed_headers=seed_headers, should_follow=should_follow
        )
        frontier = parts.frontiers.reopen(run_id, policy.frontier_cap)
        if frontier is None:
            check_not_begun(summary)
        reopened: ReopenedRun | None = None
        is_restored = False
        try:
            reopened = await _reopen(corpus, run_id)
            if frontier is None:
                frontier = parts.frontiers.create(run_id, policy.frontier_cap)
            left = frontier.restore(find_recorded(reopened.pages))
            seed = read_seed(reopened.root_url, left.notes)
            began_at = datetime.fromisoformat(reopened.started_at)
            orders = RunOrders(began_at=began_at, cancel=cancel or CancelToken(), outlet=outlet)
            run = CrawlRun(parts, policy, seed, reopened.writer, frontier, orders)
            run.restore(reopened, left)
            is_restored = True
        finally:
            if not is_restored:
                if frontier is not None:
                    frontier.close(keeps=True)
                if reopened is not None:
                    await reopened.writer.abandon()
        parts.observer.on_crawl(CrawlEvent(run_id=run_id, state=CrawlState.CREATED))
        return await self._work(run, reopened.writer, seed, policy, began_at)

    async def crawl_to_end(
        self, untrusted_seed: str, policy: CrawlPolicy | None = None, *, outlet: Outlet = give_to_nobody
    ) -> dict[str, Any]:
        """As `crawl`, but cancelling the task is a person's word to stop: the manifest is still the result.

        However often the task is cancelled: nothing is fetched after the first time, and what is left to do
        is the record. Raises: InvalidConfig.
        """
        cancel = CancelToken()
        return await _to_end(self.crawl(untrusted_seed, policy, cancel=cancel, outlet=outlet), cancel)

    async def resume_to_end(self, untrusted_run: str, **more: Any) -> dict[str, Any]:
        """As `resume`, and cancelled as `crawl_to_end` is."""
        cancel = CancelToken()
        return await _to_end(self.resume(untrusted_run, cancel=cancel, **more), cancel)

    async def _work(
        self, run: CrawlRun, writer: RunWriter, seed: Seed, policy: CrawlPolicy, began_at: datetime
    ) -> dict[str, Any]:
        try:
            await run.work()
        finally:
            try:
                manifest = await run.finish()
            except MudroomError as error:
                manifest = await self._recover(writer.run_id, seed, policy, began_at, error)
        return manifest

    async def _end_at_once(
        self, writer: RunWriter, seed: Seed, policy: CrawlPolicy, began_at: datetime, error: MudroomError
    ) -> dict[str, Any]:
        """The manifest of a run that has nowhere to keep its queue."""
        warning = {"code": error.code.value, "url": seed.name, "message": error.message}
        try:
            return await writer.finish(CrawlState.FAILED, warnings=[warning])
        except MudroomError as worse:
            return await self._recover(writer.run_id, seed, policy, began_at, worse)

    async def _recover(
        self, run_id: str, seed: Seed, policy: CrawlPolicy, started_at: datetime, error: MudroomError
    ) -> dict[str, Any]:
        """The manifest of a run whose record could not be ended: with the pages that were recorded."""
        failed = self._build_failed(run_id, seed, policy, started_at, error)
        try:
            manifest = await self._parts.corpus.read_manifest(run_id)
        except MudroomError:
            return failed
        return manifest | {key: failed[key] for key in ("state", "finished_at", "warnings")}

    def _build_failed(
        self,
        run_id: str | None,
        seed: Seed,
        policy: CrawlPolicy,
        started_at: datetime,
        error: MudroomError,
    ) -> dict[str, Any]:
        """A manifest for a run whose record could not be written."""
        root = seed.name
        return {
            "schema": "mudroom.manifest/1",
            "run_id": run_id,
            "kind": RunKind.CRAWL.value,
            "state": CrawlState.FAILED.value,
            "root_url": root,
            "options": {**policy.describe(), **self._parts.options},
            "started_at": format_time(started_at),
            "finished_at": format_time(self._parts.clock.now()),
            "versions": {},
            "totals": dict.fromkeys(_TOTALS, 0),
            "pages": [],
            "warnings": [{"code": error.code.value, "url": root, "message": error.message}],
        }


_TOTALS = ("attempted", "stored", "warned", "quarantined", "blocked", "failed", "discovered", "bytes")


async def _reopen(corpus: CorpusStore, run_id: str) -> ReopenedRun:
    """The run's record. Raises: InvalidConfig while somebody writes it; StoreFailed."""
    try:
        return await corpus.reopen_run(run_id, given_up=GIVEN_UP)
    except StoreFailed as error:
        if error.code is Code.RUN_ACTIVE:
            raise InvalidConfig(f"{error.message}; {error.advice}", is_of_run=True) from error
        raise


async def _to_end(crawl: Coroutine[Any, Any, dict[str, Any]], cancel: CancelToken) -> dict[str, Any]:
    """The manifest, however often the task that waits for it is cancelled."""
    work = asyncio.ensure_future(crawl)
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            cancel.cancel()
    return work.result()


def _check(untrusted_seed: str, policy: CrawlPolicy, initiator: Initiator, scope: ExceptionScope) -> Seed:
    faults = policy.list_faults()
    url = parse_url(untrusted_seed)
    if url is None:
        faults = (
            *faults,
            "the seed is no URL; expected an absolute one that begins with http:// or https://",
        )
    if faults or url is None:
        raise InvalidConfig(faults)
    return Seed(untrusted_url=untrusted_seed, url=url, initiator=initiator, scope=scope)
