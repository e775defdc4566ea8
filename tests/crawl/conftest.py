"""A web of scripted pages, a time that jumps when nothing else can happen, a run kept in memory."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ParsedUrl, RefusedUrl, judge_url, parse_url
from mudroom.corpus import FailedRecord, RunWriter
from mudroom.crawl import CancelToken, Crawler, CrawlEvent, CrawlParts, CrawlPolicy
from mudroom.errors import Code, EgressRefused, MudroomError, StoreFailed
from mudroom.fetch import RedirectScope
from mudroom.intake import (
    Blocked,
    Failed,
    Outcome,
    PageEvent,
    PageFacts,
    PageRequest,
    Quarantined,
    RobotsMode,
    RobotsNotice,
    Stored,
)
from mudroom.model import CrawlState, Decision, Link, OutcomeKind, RunKind


class VirtualTime:
    """A clock whose sleeps end at once, in order, as soon as nothing else is left to run."""

    def __init__(self) -> None:
        self._seconds = 1000.0
        self._waiters: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._jumper: asyncio.Task[None] | None = None

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiters, (self._seconds + max(seconds, 0.0), next(self._order), future))
        if self._jumper is None or self._jumper.done():
            self._jumper = asyncio.create_task(self._jump())
        await future

    async def _jump(self) -> None:
        while True:
            for _ in range(40):
                await asyncio.sleep(0)
            while self._waiters and self._waiters[0][2].done():
                heapq.heappop(self._waiters)
            if not self._waiters:
                return
            moment, _, future = heapq.heappop(self._waiters)
            self._seconds = max(self._seconds, moment)
            future.set_result(None)


@dataclass(kw_only=True)
class Page:
    """What one address answers."""

    links: tuple[str | Link, ...] = ()
    redirect: str | None = None
    base: str | None = None
    """What the page says its links are relative to."""
    size: int = 100
    seconds: float = 0.01
    kind: OutcomeKind = OutcomeKind.STORED
    code: Code = Code.HTTP_STATUS
    status: int = 200
    retry_after: float | None = None
    retryable: bool = False
    fails_first: int = 0
    """Tries that fail before one does not."""
    failing_status: int = 502
    sha256: str | None = None
    fault: BaseException | None = None


Site = Mapping[str, Page] | Callable[[str], Page | None]


@dataclass
class ScriptedIntake:
    """A way in that reads its pages from a script, and keeps the rules that a crawl relies on."""

    site: Site
    time: VirtualTime
    egress: EgressPolicy
    corpus: MemoryRuns
    tries: Counter[str] = field(default_factory=Counter)
    requests: list[PageRequest] = field(default_factory=list)
    starts: list[tuple[float, str]] = field(default_factory=list)
    running: Counter[str] = field(default_factory=Counter)
    most_running: int = 0
    most_running_of_host: Counter[str] = field(default_factory=Counter)
    most_tasks: int = 0
    cancelled: int = 0
    third_request: asyncio.Event = field(default_factory=asyncio.Event)

    async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
        self.requests.append(request)
        if len(self.requests) == 3:
            self.third_request.set()
        facts = PageFacts(
            number=request.number,
            document_id=f"{run.run_id}/{request.number:06d}",
            run_id=run.run_id,
            requested_url=request.untrusted_url,
            depth=request.depth,
        )
        host = request.untrusted_url.split("/")[2]
        self.running[host] += 1
        self.most_running = max(self.most_running, self.running.total())
        self.most_running_of_host[host] = max(self.most_running_of_host[host], self.running[host])
        self.most_tasks = max(self.most_tasks, len(asyncio.all_tasks()))
        try:
            outcome = await self._visit(request, facts)
        except MudroomError as error:
            outcome = Failed(facts=facts, code=error.code, message=error.message, retryable=error.retryable)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running[host] -= 1
        if isinstance(outcome, Failed):
            await run.record_failed(
                FailedRecord(
                    number=request.number,
                    requested_url=request.untrusted_url,
                    code=outcome.code,
                    message=outcome.message,
                    depth=request.depth,
                )
            )
        else:
            self.corpus.runs[-1].outcomes[request.number] = outcome
        return outcome

    async def _visit(self, request: PageRequest, facts: PageFacts) -> Outcome:
        verdict = judge_url(request.untrusted_url, self.egress, request.scope)
        if isinstance(verdict, RefusedUrl):
            raise EgressRefused(verdict.code, verdict.message)
        first = verdict.url
        url, page = await self._arrive(request, first)
        if page.fault is not None:
            raise page.fault
        self.tries[url.normalized] += 1
        if self.tries[url.normalized] <= page.fails_first:
            page = replace(page, kind=OutcomeKind.FAILED, status=page.failing_status, retryable=True)
        known = PageFacts(
            number=facts.number,
            document_id=facts.document_id,
            run_id=facts.run_id,
            requested_url=first.href,
            depth=facts.depth,
            final_url=url.href,
            http_status=page.status,
            sha256=page.sha256,
            retry_after_seconds=page.retry_after,
            wire_bytes=min(page.size, request.max_body_bytes or page.size),
            size_bytes=page.size,
        )
        if request.max_body_bytes is not None and page.size > request.max_body_bytes:
            code = Code.CRAWL_LIMIT_REACHED if request.is_reserved else Code.BODY_TOO_LARGE
            kind = Failed if request.is_reserved else Blocked
            return kind(facts=known, code=code, message="too large", retryable=False)
        return self._end(request, page, known, url)

    async def _arrive(self, request: PageRequest, first: ParsedUrl) -> tuple[ParsedUrl, Page]:
        """Where the redirects end, and what is there."""
        url = first
        while True:
            assert request.gate is not None
            await request.gate(url, request.scope)
            self.starts.append((self.time.monotonic(), url.normalized))
            page = self.site(url.normalized) if callable(self.site) else self.site.get(url.normalized)
            page = page or Page(kind=OutcomeKind.FAILED, status=404)
            await self.time.sleep(page.seconds)
            if page.redirect is None:
                return url, page
            target = parse_url(page.redirect, base=url)
            assert target is not None
            if request.redirects.scope is RedirectScope.SAME_HOST and target.host != first.host:
                raise EgressRefused(Code.REDIRECT_CROSS_HOST, f"{url.host} redirects to another host")
            url = target

    def _end(self, request: PageRequest, page: Page, facts: PageFacts, base: ParsedUrl) -> Outcome:
        match page.kind:
            case OutcomeKind.QUARANTINED:
                return Quarantined(facts=facts, findings=())
            case OutcomeKind.BLOCKED:
                return Blocked(facts=facts, code=Code.PROMPT_INJECTION, message="withheld")
            case OutcomeKind.FAILED:
                return Failed(facts=facts, code=page.code, message="failed", retryable=page.retryable)
        links = tuple(link if isinstance(link, Link) else Link(untrusted_href=link) for link in page.links)
        return Stored(
            facts=facts,
            page=cast("Any", None),
            provenance=cast("Any", None),
            decision=Decision.SAFE,
            findings=(),
            text=None,
            links=links,
            base=parse_url(page.base) if page.base else base,
            link_scope=request.scope,
        )


@dataclass
class MemoryRun:
    """A run's record in memory."""

    root_url: str
    options: Mapping[str, object]
    fails_with: MudroomError | None = None
    run_id: str = "crawl_01TEST"
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    checkpoints: int = 0
    _last: int = 0

    def next_number(self) -> int:
        self._last += 1
        return self._last

    async def record_failed(self, failed: FailedRecord) -> None:
        assert failed.number not in self.outcomes, "a page is recorded once"
        facts = PageFacts(
            number=failed.number,
            document_id="",
            run_id=self.run_id,
            requested_url=failed.requested_url,
            depth=failed.depth,
        )
        self.outcomes[failed.number] = Failed(
            facts=facts, code=failed.code, message=failed.message, retryable=False
        )

    async def record_source(self, source: object) -> None:
        del source
        raise AssertionError("a table asks for no file")

    async def checkpoint(self) -> None:
        self.checkpoints += 1

    async def finish(self, state: CrawlState, **more: Any) -> dict[str, Any]:
        if self.fails_with is not None:
            raise self.fails_with
        pages = [
            {
                "n": number,
                "url": outcome.facts.requested_url,
                "depth": outcome.facts.depth,
                "outcome": outcome.kind.value,
                "code": getattr(outcome, "code", None),
            }
            for number, outcome in sorted(self.outcomes.items())
        ]
        return {"state": state.value, "pages": pages, "run_id": self.run_id, **more}


@dataclass
class MemoryRuns:
    """A corpus that begins runs in memory."""

    runs: list[MemoryRun] = field(default_factory=list)
    begin_fails_with: MudroomError | None = None
    finish_fails_with: MudroomError | None = None
    is_readable: bool = False

    async def begin_run(self, kind: object, root_url: str, options: Mapping[str, object]) -> MemoryRun:
        if self.begin_fails_with is not None:
            raise self.begin_fails_with
        assert kind is RunKind.CRAWL
        self.runs.append(MemoryRun(root_url, options, self.finish_fails_with))
        return self.runs[-1]

    async def read_manifest(self, run_id: str) -> dict[str, Any]:
        if not self.is_readable:
            raise StoreFailed(Code.STORE_UNAVAILABLE, "the workspace is gone")
        return {"run_id": run_id, "state": "RUNNING", "pages": ["as recorded"], "warnings": []}


@dataclass
class ScriptedRobots:
    """robots.txt as a table: what is denied, and how slowly an origin wants to be asked."""

    denied: frozenset[str] = frozenset()
    unavailable: bool = False
    delays: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[RobotsNotice, ...] = ()
    sitemaps: tuple[str, ...] = ()
    modes: list[RobotsMode] = field(default_factory=list)
    scopes: list[object] = field(default_factory=list)
    closed: int = 0
    file_bytes: int = 0
    received_bytes: int = 0
    """Each check costs a file."""

    def open_gate(self, run_id: str, mode: RobotsMode, record: object = None) -> ScriptedRobots:
        del record  # a table asks for no file
        assert run_id.startswith("crawl_")
        self.modes.append(mode)
        return self

    async def check(self, url: Any, scope: object) -> None:
        self.scopes.append(scope)
        self.received_bytes += self.file_bytes
        if self.modes[-1] is RobotsMode.IGNORE:
            return
        if self.unavailable:
            raise EgressRefused(Code.ROBOTS_UNAVAILABLE, "robots.txt could not be read")
        if url.normalized in self.denied:
            raise EgressRefused(Code.ROBOTS_DENIED, "robots.txt asks robots to stay away")

    async def list_sitemaps(self, _url: ParsedUrl, scope: object) -> tuple[str, ...]:
        self.scopes.append(scope)
        return self.sitemaps

    def crawl_delay_seconds(self, origin: str) -> float | None:
        return self.delays.get(origin)

    async def aclose(self) -> None:
        self.closed += 1


@dataclass
class Events:
    """What an observer saw."""

    pages: list[PageEvent] = field(default_factory=list)
    crawls: list[CrawlEvent] = field(default_factory=list)

    def on_page(self, event: PageEvent) -> None:
        self.pages.append(event)

    def on_crawl(self, event: CrawlEvent) -> None:
        self.crawls.append(event)


class Bench:
    """Everything a crawl is made with, scripted."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.corpus = MemoryRuns()
        self.robots = ScriptedRobots()
        self.events = Events()
        self.egress = EgressPolicy(allow_origins=(AllowedOrigin.parse("http://127.0.0.1:8000"),))
        self.intake = ScriptedIntake({}, self.time, self.egress, self.corpus)
        self.page = Page

    async def crawl(
        self,
        site: Site,
        seed: str = "http://a.example/",
        *,
        cancel: CancelToken | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        self.intake.site = site
        return await self.make_crawler().crawl(seed, CrawlPolicy(**options), cancel=cancel)

    def make_crawler(self) -> Crawler:
        return Crawler(
            CrawlParts(
                intake=self.intake,
                corpus=self.corpus,
                robots=self.robots,
                egress=self.egress,
                clock=self.time,
                sleep=self.time.sleep,
                observer=self.events,
                chance=lambda: 0.0,
            )
        )

    def fetched(self) -> list[str]:
        return [url for _, url in self.intake.starts]


@pytest.fixture
def bench() -> Bench:
    return Bench()
