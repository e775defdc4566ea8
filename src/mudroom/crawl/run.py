"""One crawl from its seed to its end: a loop that starts pages, waits, and takes in what came back.

    frontier ─▶ budgets ─▶ manners ─▶ intake (at most `concurrency` at a time) ─▶ line ─▶ links ─▶ frontier

A page is a task only while it is on its way in; of a page that has ended nothing is kept here but counts
and keys, and its links until those of all pages before it have entered the frontier. The loop sleeps until a
page ends, a host may be asked again, the time is up or somebody cancels.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from mudroom.budget import ByteBudget, Reservation
from mudroom.corpus import FailedRecord, ReopenedRun, RunWriter
from mudroom.crawl.aside import run_aside
from mudroom.crawl.attempt import Attempt, Kept
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.faults import describe_fault
from mudroom.crawl.following import Follower
from mudroom.crawl.frontier import Frontier, FrontierEntry, Left
from mudroom.crawl.manners import HostManners
from mudroom.crawl.notices import Notices
from mudroom.crawl.orders import RunOrders
from mudroom.crawl.policy import CrawlPolicy
from mudroom.crawl.ports import CrawlParts
from mudroom.crawl.progress import BytesSpent, restore_progress, save_progress
from mudroom.crawl.recording import describe_failed, leave
from mudroom.crawl.reorder import ReorderBuffer
from mudroom.crawl.seed import Seed
from mudroom.crawl.sitemap_visits import SitemapVisitor
from mudroom.crawl.tally import Stop, Tally
from mudroom.crawl.telling import CrawlTeller
from mudroom.crawl.timer import Timer
from mudroom.crawl.visitor import PageVisitor
from mudroom.crawl.visits import VisitPlanner
from mudroom.errors import Code, StoreFailed
from mudroom.intake import Failed, Outcome
from mudroom.model import CrawlState, PageState, WarningCode

__all__ = ["CrawlRun"]

_log = logging.getLogger(__name__)


_SMALLEST_SHARE_BYTES = 1024 * 1024
"""While others are on their way, a page waits rather than start with a smaller share of the bytes."""
_CHECKPOINT_SECONDS = 10.0
_STORE_FAILURES_IN_A_ROW = 3
"""Pages that could not be written, after which no more are fetched."""
_MAX_HELD_LINKS = 100_000
"""Links of pages that have ended and wait for one before them; then no further page is started. 20 MB."""
_ABORTS = frozenset({Stop.TIME, Stop.CANCELLED})
_RESUMABLE = frozenset({Stop.TIME, Stop.CANCELLED, Stop.STORE})
"""Ends after which the same policy lets the crawl go on."""


class CrawlRun:
    """The state of one crawl. `work` does it, `finish` gives its manifest; each is called once."""

    def __init__(
        self,
        parts: CrawlParts,
        policy: CrawlPolicy,
        seed: Seed,
        writer: RunWriter,
        frontier: Frontier,
        orders: RunOrders,
    ) -> None:
        self._parts = parts
        self._policy = policy
        self._seed = seed
        self._writer = writer
        self._cancel = orders.cancel
        self._outlet = orders.outlet
        self._robots = parts.robots.open_gate(writer.run_id, policy.robots, writer.record_source)
        self._order = orders.order
        self._frontier = frontier
        self._line: ReorderBuffer[EndedPage] = ReorderBuffer()
        self._manners = HostManners(policy.concurrency, policy.per_host_concurrency)
        self._budget = ByteBudget(
            max_total_bytes=policy.max_total_bytes, max_page_bytes=policy.max_page_bytes
        )
        self._charged_bytes = self._told_notices = 0
        self._spent = BytesSpent()
        self._notices = Notices()
        self._tally = Tally()
        self._teller = CrawlTeller(observer=parts.observer, run_id=writer.run_id, count=self._count)
        self._follower = Follower(
            parts,
            policy,
            seed,
            frontier=frontier,
            notices=self._notices,
            began_at=orders.order.began_at or orders.began_at,
            on_queued=lambda entry: self._teller.tell_page(entry, PageState.DISCOVERED),
        )
        self._planner = VisitPlanner(
            parts,
            policy,
            seed.url,
            frontier=self._frontier,
            line=self._line,
            manners=self._manners,
            robots=self._robots,
            is_live=self._order.is_live,
        )
        self._visitor = PageVisitor(
            parts,
            policy,
            self._planner,
            frontier=frontier,
            manners=self._manners,
            budget=self._budget,
            order=self._order,
        )
        self._sitemaps = SitemapVisitor(
            parts=parts,
            policy=policy,
            writer=writer,
            robots=self._robots,
            manners=self._manners,
            budget=self._budget,
            choose_delay=self._planner.choose_delay,
            is_live=self._order.is_live,
        )
        self._in_flight: dict[asyncio.Task[Outcome], Attempt] = {}
        self._wake = asyncio.Event()
        self._pause = Timer(parts.sleep, self._wake)
        self._deadline = Timer(parts.sleep, self._wake)
        self._is_begun = False
        self._last_checkpoint = parts.clock.monotonic()

    def restore(self, reopened: ReopenedRun, left: Left) -> None:
        """Know of what earlier sittings did, before `work`. Raises: StoreFailed."""
        pages = reopened.pages
        for page in pages:
            self._tally.restore(page.outcome, page.code, is_seed=page.number == 1)
        waiting = {number for number, _ in left.line}
        if pages and pages[0].number == 1 and 1 not in waiting:
            self._follower.root_at(pages[0].final_url)
        page_bytes = restore_progress(left, self._notices, self._follower.sieve, self._spent)
        self._budget.charge(page_bytes + reopened.source_bytes)
        for number, ended in left.line:
            self._line.join_earlier(number)
            if ended is not None:
                self._line.end(ended)
        if left.lost:
            told = f"the links of {left.lost} pages were lost when the machine stopped, and with them what only they led to"
            self._notices.add(WarningCode.LINKS_LOST, self._seed.name, told)
        if reopened.has_other_versions:
            told = "the run was gone on with under another version of mudroom or other rules"
            self._notices.add(WarningCode.VERSIONS_CHANGED, self._seed.name, told)
        self._is_begun = bool(pages or left.line or len(self._frontier))

    async def work(self) -> None:
        """Everything from the seed on, until nothing waits or the crawl is stopped.

        Raises: asyncio.CancelledError when the task is cancelled, after what was on its way has ended.
        """
        self._teller.tell(CrawlState.RUNNING)
        self._deadline.set(self._policy.max_duration_seconds)
        watch = asyncio.create_task(self._watch_cancel())
        try:
            self._begin()
            await self._take_in_ready()
            await self._loop()
        except asyncio.CancelledError:
            self._tally.stop = Stop.CANCELLED
            raise
        except StoreFailed as error:
            self._notices.add(error.code, self._seed.name, error.message)
            self._end_for_store()
        finally:
            watch.cancel()
            await self._close()

    def _begin(self) -> None:
        """Queue the seed, unless an earlier sitting has."""
        if not self._is_begun:
            self._frontier.add(self._seed.make_entry())
            self._follower.sieve.discovered += 1
            for name, value in self._seed.list_notes():
                self._frontier.note(name, value)
            self._save_notes()

    async def _loop(self) -> None:
        while True:
            self._start_pages()
            pause = self._find_pause()
            if not self._in_flight and pause is None:
                if self._tally.stop is None and self._order.pass_over():
                    continue
                self._tally.stop = self._tally.stop or self._order.stop
                return
            self._pause.set(pause)
            await self._wake.wait()
            self._wake.clear()
            await self._take_in_ended()
            if self._must_abort():
                return
            await self._save_progress()

    # Starting pages.

    def _start_pages(self) -> None:
        self._charge_robots()
        now = self._parts.clock.monotonic()
        while self._tally.stop is None and len(self._in_flight) < self._policy.concurrency:
            if not self._frontier or self._line.weight > _MAX_HELD_LINKS:
                return
            if self._tally.attempted >= self._policy.max_pages:
                self._tally.stop = Stop.PAGES
                return
            reservation = self._reserve()
            if reservation is None:
                return
            entry = self._order.take(self._frontier, lambda host: self._manners.count_open(host, now))
            if entry is None:
                reservation.settle(0)
                return
            self._start(entry, reservation, now)

    def _charge_robots(self) -> None:
        """Charge the budget with what robots.txt files have cost since the last time; tell what was noticed."""
        received = self._robots.received_bytes
        self._budget.charge(received - self._charged_bytes)
        self._charged_bytes = received
        for notice in self._robots.notices[self._told_notices :]:
            self._told_notices += 1
            self._notices.add_once(notice.code, notice.url, notice.message)

    def _reserve(self) -> Reservation | None:
        """A share of the bytes, or None when there is none now; without others on their way, there never is."""
        budget = self._budget
        left = budget.max_total_bytes - budget.spent_bytes - budget.reserved_bytes
        if self._in_flight and left < min(budget.max_page_bytes, _SMALLEST_SHARE_BYTES):
            return None
        reservation = budget.reserve()
        if reservation is None:
            self._tally.stop = Stop.BYTES
        return reservation

    def _start(self, entry: FrontierEntry, reservation: Reservation, now: float) -> None:
        attempt = Attempt(entry=entry, number=entry.number, reservation=reservation)
        if not self._line.has(entry.number):
            self._line.join(entry.number)
        self._manners.begin(entry.host, now, self._planner.choose_delay(entry.origin))
        self._tally.attempted += 1
        task = asyncio.create_task(self._visitor.visit(attempt, self._follower.reach, self._writer))
        task.add_done_callback(self._note_end)
        self._in_flight[task] = attempt

    def _note_end(self, _task: asyncio.Task[Outcome]) -> None:
        self._wake.set()

    # Waiting.

    def _find_pause(self) -> float | None:
        """How long until a host may be asked again, where only that keeps pages from being started."""
        if self._tally.stop is not None or not self._frontier or not self._order.is_live:
            return None
        if len(self._in_flight) >= self._policy.concurrency:
            return None
        now = self._parts.clock.monotonic()
        moment = self._manners.next_moment(now)
        return None if moment is None else moment - now

    async def _watch_cancel(self) -> None:
        await self._cancel.wait()
        self._wake.set()

    def _must_abort(self) -> bool:
        if self._cancel.is_cancelled:
            self._tally.stop = Stop.CANCELLED
        elif self._deadline.is_over and (self._in_flight or self._frontier):
            self._tally.stop = Stop.TIME
        return self._tally.stop in _ABORTS

    # Taking in what ended.

    async def _take_in_ended(self) -> None:
        for task in [task for task in self._in_flight if task.done()]:
            attempt = self._in_flight.pop(task)
            self._manners.end(attempt.entry.host)
            for host in attempt.hop_hosts:
                self._manners.end_hop(host)
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is not None:
                await self._record_fault(attempt, error)
            else:
                self._note_outcome(attempt, task.result())
                await self._outlet(task.result())
            self._teller.tell(CrawlState.RUNNING)
        await self._take_in_ready()

    async def _take_in_ready(self) -> None:
        """The pages whose turn it is, though the crawl ends: a replay knows only that they were recorded.

        The seed then comes again at the next sitting, which reads the sitemaps that this one could not.
        """
        for page in self._line.take_ready():
            self._frontier.release(page.number)
            self._spent.pages += page.wire_bytes
            await self._follower.follow(page, self._sitemaps, self._run_aside)
            if page.number == 1 and self._must_abort():
                self._frontier.rollback()
            else:
                self._save_notes()

    def _save_notes(self) -> None:
        save_progress(self._frontier, self._notices, self._follower.sieve, self._spent)

    def _note_outcome(self, attempt: Attempt, outcome: Outcome) -> None:
        """What counts at once, whatever other pages are on their way."""
        attempt.reservation.settle(outcome.facts.wire_bytes)
        self._tally.count(outcome, is_seed=attempt.is_seed)
        is_limit = isinstance(outcome, Failed) and outcome.code is Code.CRAWL_LIMIT_REACHED
        if is_limit and self._order.is_live:  # a recorded crawl ends where its record does
            self._tally.stop = self._tally.stop or Stop.BYTES
        if self._tally.store_failures >= _STORE_FAILURES_IN_A_ROW:
            self._end_for_store()
        if not (isinstance(outcome, Failed) and self._order.was_given_up(outcome.code)):
            self._line.end(leave(attempt, outcome))

    async def _run_aside(self, work: Coroutine[Any, Any, None]) -> Exception | None:
        """The error of work that the crawl waits for and that ends with it, or None."""
        self._charge_robots()
        return await run_aside(work, self._wake, self._is_over)

    def _is_over(self) -> bool:
        return self._tally.stop is not None or self._cancel.is_cancelled or self._deadline.is_over

    async def _record_fault(self, attempt: Attempt, error: BaseException) -> None:
        """An error that no outcome foresees costs its page, is told in the log, and ends nothing else."""
        _log.error("%s page %d: unexpected %s", self._writer.run_id, attempt.number, describe_fault(error))
        self._notices.add(
            WarningCode.UNEXPECTED_ERROR,
            attempt.entry.url,
            f"page {attempt.number} was given up: {type(error).__name__}",
        )
        self._frontier.hold(leave(attempt))
        if await self._record_failed(attempt, Code.INTERNAL_ERROR, "mudroom failed on this page"):
            attempt.reservation.settle(attempt.reservation.limit_bytes)
            self._line.end(leave(attempt))

    async def _record_failed(self, attempt: Attempt, code: Code, message: str) -> bool:
        """Record a page that ended without an outcome; False where it was recorded before, which then holds."""
        failed = FailedRecord(
            number=attempt.number,
            requested_url=attempt.entry.url,
            code=code,
            message=message,
            depth=attempt.entry.depth,
            wire_bytes=attempt.spent_bytes,
        )
        try:
            await self._writer.record_failed(failed)
        except StoreFailed as error:
            if error.code is Code.SNAPSHOT_MISMATCH and attempt.kept is not None:
                self._take_as_recorded(attempt, attempt.kept)
                return False
            self._end_for_store()
        self._tally.count_fault(code, is_seed=attempt.is_seed)
        self._teller.tell_page(attempt.entry, PageState.FAILED, number=attempt.number, code=code)
        await self._outlet(describe_failed(self._writer.run_id, failed))
        return True

    def _take_as_recorded(self, attempt: Attempt, kept: Kept) -> None:
        """A page whose task ended between its record and its outcome counts as what the record says."""
        attempt.reservation.settle(kept.page.wire_bytes - attempt.spent_bytes)
        self._tally.count_recorded(kept.outcome, kept.code, is_seed=attempt.is_seed)
        self._frontier.hold(kept.page)
        self._line.end(kept.page)
        state = PageState(kept.outcome.value)
        self._teller.tell_page(attempt.entry, state, number=attempt.number, code=kept.code)

    def _end_for_store(self) -> None:
        self._tally.stop = self._tally.stop or Stop.STORE

    async def _save_progress(self) -> None:
        now = self._parts.clock.monotonic()
        if now - self._last_checkpoint < _CHECKPOINT_SECONDS:
            return
        self._last_checkpoint = now
        try:
            await self._writer.checkpoint()
            await self._frontier.sync()
        except StoreFailed:
            self._end_for_store()

    # The end.

    async def _close(self) -> None:
        """End what is on its way, and wait until it has ended."""
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)
        self._pause.stop()
        self._deadline.stop()
        is_timeout = self._tally.stop is Stop.TIME
        code = Code.CRAWL_LIMIT_REACHED if is_timeout else Code.CANCELLED
        message = "the crawl's time was up" if is_timeout else "the crawl was cancelled"
        for task, attempt in self._in_flight.items():
            if task.cancelled() and await self._record_failed(attempt, code, message):
                attempt.reservation.settle(0)
        for task in [task for task in self._in_flight if task.cancelled()]:
            del self._in_flight[task]
        try:
            await self._take_in_ended()
        except StoreFailed:
            self._end_for_store()
        await self._robots.aclose()
        self._charge_robots()

    async def finish(self) -> dict[str, Any]:
        """The manifest. Raises: StoreFailed."""
        state = self._tally.name_state(has_dropped=self._notices.has_dropped)
        self._add_last_notices()
        keeps = True
        try:
            manifest = await self._writer.finish(
                state,
                warnings=self._notices.list_all(self._seed.name),
                discovered=self._follower.sieve.discovered,
                wire_bytes=self._budget.spent_bytes,
            )
            keeps = self._tally.stop in _RESUMABLE
        finally:
            self._frontier.close(keeps=keeps)
        self._teller.tell(state)
        return manifest

    def _add_last_notices(self) -> None:
        root = self._seed.name
        told = self._tally.explain_stop(self._policy, remaining=len(self._frontier))
        if told is not None:
            self._notices.add(told[0], root, told[1])
        if not self._tally.stored:
            self._notices.add(WarningCode.NOTHING_STORED, root, self._tally.explain_nothing())

    def _count(self) -> tuple[int, int, int, int]:
        discovered, waiting = self._follower.sieve.discovered, len(self._frontier)
        return (self._tally.attempted, discovered, waiting, self._budget.spent_bytes)
