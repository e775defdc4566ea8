"""Crawls: one seed, one run, one manifest."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from mudroom.address import ExceptionScope, parse_url
from mudroom.clock import format_time
from mudroom.crawl.cancel import CancelToken
from mudroom.crawl.events import CrawlEvent
from mudroom.crawl.order import TakeOrder
from mudroom.crawl.policy import CrawlPolicy
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.run import CrawlRun
from mudroom.crawl.seed import Seed
from mudroom.errors import InvalidConfig, MudroomError
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
    ) -> dict[str, Any]:
        """The manifest of one crawl, whatever came of it.

        Shapes: `scope` is None for all that the operator's own URLs may use; `order` for a live crawl's. Where the run's own record
            cannot be written, the manifest says so and names no run, or one without a record.
        Raises: InvalidConfig with every fault of policy and seed, before anything is written or fetched;
            asyncio.CancelledError when the task is cancelled, after the manifest was written.
        """
        policy = policy or CrawlPolicy()
        seed = _check(untrusted_seed, policy, initiator, scope or ExceptionScope.operator())
        started_at = self._parts.clock.now()
        try:
            writer = await self._parts.corpus.begin_run(
                RunKind.CRAWL, seed.name, {**policy.describe(), **self._parts.options}
            )
        except MudroomError as error:
            return self._build_failed(None, seed, policy, started_at, error)
        self._parts.observer.on_crawl(CrawlEvent(run_id=writer.run_id, state=CrawlState.CREATED))
        run = CrawlRun(self._parts, policy, seed, writer, cancel or CancelToken(), order)
        try:
            await run.work()
        finally:
            try:
                manifest = await run.finish()
            except MudroomError as error:
                manifest = await self._recover(writer.run_id, seed, policy, started_at, error)
        return manifest

    async def crawl_to_end(self, untrusted_seed: str, policy: CrawlPolicy | None = None) -> dict[str, Any]:
        """As `crawl`, but cancelling the task is a person's word to stop: the manifest is still the result.

        However often the task is cancelled: nothing is fetched after the first time, and what is left to do
        is the record. Raises: InvalidConfig.
        """
        cancel = CancelToken()
        work = asyncio.ensure_future(self.crawl(untrusted_seed, policy, cancel=cancel))
        while not work.done():
            try:
                await asyncio.wait({work})
            except asyncio.CancelledError:
                cancel.cancel()
        return work.result()

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
