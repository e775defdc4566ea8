"""robots.txt of each origin, read once a run through the same guarded way as a page.

    2xx               its rules hold (the first 512 KiB of them)
    429               back off, ask again; if that stays, as any 4xx
    4xx               there are no rules: all is allowed
    redirects         up to five, each guarded; a loop or a longer chain counts as 4xx
    5xx, unreachable  all is refused with ROBOTS_UNAVAILABLE, which can be tried again later

Source: RFC 9309 section 2.3.1 (access results), 2.5 (limits).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Protocol

from mudroom.address import ExceptionScope, ParsedUrl
from mudroom.clock import Clock
from mudroom.corpus import SourceRecord
from mudroom.errors import Code, EgressRefused, MudroomError, Reason, StoreFailed
from mudroom.fetch import FetchRequest, RedirectRule, Streamed, find_retry_after
from mudroom.intake.robots_record import RecordSource, record_answer, record_failure
from mudroom.model import WarningCode
from mudroom.robots import AGENT_TOKEN, ALLOW_ALL, RobotsRules, parse_robots
from mudroom.snapshot import SnapshotInput, SnapshotStore, SourceKind, StoredSnapshot

__all__ = [
    "RobotsFetcher",
    "RobotsGate",
    "RobotsGates",
    "RobotsMode",
    "RobotsNotice",
    "RobotsOptions",
    "RobotsReader",
]

_REFUSED_ITSELF = frozenset({Reason.SSRF, Reason.UNSUPPORTED_SCHEME, Reason.INVALID_INPUT})
_ENDLESS_REDIRECTS = frozenset({Code.REDIRECT_LIMIT, Code.REDIRECT_LOOP})
_TOO_MANY_REQUESTS = 429
_SUCCESS = 2
_CLIENT_ERROR = 4
_MAX_NOTICES = 100


@unique
class RobotsMode(StrEnum):
    """Whether robots.txt binds a run; IGNORE is a person's decision and is written into the record."""

    OBEY = "obey"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsOptions:
    """How robots.txt files are read."""

    max_redirects: int = 5
    max_parsed_bytes: int = 512 * 1024
    """Of a longer file, what stands behind them is neither read nor kept."""
    max_origins: int = 1000
    """Files remembered in one run; the one not asked for longest is forgotten first."""
    retries_on_429: int = 2
    back_off_seconds: float = 5.0
    """The wait after a 429 that names none."""
    max_back_off_seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsNotice:
    """Something to warn of in the record of a run."""

    code: WarningCode
    url: str
    """The address of the robots.txt."""
    message: str


class RobotsFetcher(Protocol):
    """One URL to its answer, read as far as wanted. The real one is `fetch.Fetcher`."""

    def stream(self, request: FetchRequest) -> AbstractAsyncContextManager[Streamed]:
        """The answer, entered at its headers. Raises EgressRefused, FetchFailed, ContentRefused."""
        ...


class RobotsReader(Protocol):
    """What a run asks about robots.txt. The real one is `RobotsGate`."""

    @property
    def notices(self) -> tuple[RobotsNotice, ...]:
        """What there is to warn of so far."""
        ...

    async def check(self, url: ParsedUrl, scope: ExceptionScope) -> None:
        """Nothing, when the URL may be asked for; a `HopCheck`. Raises EgressRefused."""
        ...

    async def list_sitemaps(self, url: ParsedUrl, scope: ExceptionScope) -> tuple[str, ...]:
        """The sitemaps that the file of the URL's origin names, as written."""
        ...

    def crawl_delay_seconds(self, origin: str) -> float | None:
        """The Crawl-delay of an origin, once its file was read."""
        ...

    @property
    def received_bytes(self) -> int:
        """Body bytes that robots.txt files have cost so far."""
        ...

    async def aclose(self) -> None:
        """End what is still being read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What one origin's file says: rules, or the code with which all is refused."""

    rules: RobotsRules
    code: Code | None = None
    message: str = ""
    is_of_scope: bool = False
    """The origin itself was refused; with other exceptions it may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A robots.txt as far as it was read."""

    answer: Streamed
    untrusted_body: bytes
    """As received; this is what is archived."""
    untrusted_text: bytes
    """Without content codings."""
    is_truncated: bool


@dataclass(slots=True)
class _Cost:
    """What a file has cost, all tries together."""

    wire_bytes: int = 0


@dataclass(slots=True)
class _Reading:
    """A file that is being read, by one for all who wait for it."""

    task: asyncio.Task[_Answer]
    waiters: int = 0


class RobotsGates:
    """Opens one gate a run: what was read in one run is not taken for true in the next."""

    def __init__(
        self,
        fetcher: RobotsFetcher,
        archive: SnapshotStore | None,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]],
        options: RobotsOptions | None = None,
    ) -> None:
        """Shapes: `archive` is None where raw bytes are not all kept (archive.keep)."""
        self.fetcher = fetcher
        self.archive = archive
        self.clock = clock
        self.sleep = sleep
        self.options = options or RobotsOptions()

    def open_gate(self, run_id: str, mode: RobotsMode, record: RecordSource | None = None) -> RobotsGate:
        """The gate of one run, which has `record` note each file that was asked for."""
        return RobotsGate(self, run_id, mode, record)


class RobotsGate:
    """What robots.txt files say within one run: each read once, whoever asks and however many at once."""

    def __init__(
        self, parts: RobotsGates, run_id: str, mode: RobotsMode, record: RecordSource | None = None
    ) -> None:
        self._parts = parts
        self._run_id = run_id
        self._mode = mode
        self._record = record
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        """By origin: what holds whoever asks."""
        self._readings: OrderedDict[tuple[str, ExceptionScope], _Reading] = OrderedDict()
        """What is being read, and what was refused for the exceptions it came with."""
        self._delays: dict[str, float] = {}
        self._notices: list[RobotsNotice] = []
        self.received_bytes = 0

    @property
    def notices(self) -> tuple[RobotsNotice, ...]:
        """What there is to warn of so far; at most a hundred."""
        return tuple(self._notices)

    def crawl_delay_seconds(self, origin: str) -> float | None:
        """The Crawl-delay of an origin as written, unbounded; None when none was read."""
        return self._delays.get(origin)

    async def check(self, url: ParsedUrl, scope: ExceptionScope) -> None:
        """Nothing, when the URL may be asked for; to be awaited before each hop of a page.

        Shapes: `scope` is what that hop may use, and so the file's request goes where the page's may and
        nowhere else.
        Raises: EgressRefused with ROBOTS_DENIED, ROBOTS_UNAVAILABLE, or the code with which the origin
            itself is refused.
        """
        if self._mode is RobotsMode.IGNORE:
            return
        answer = await self._read(url, scope)
        if answer.code is not None:
            raise EgressRefused(answer.code, answer.message)
        if not answer.rules.may_fetch(url.request_target).is_allowed:
            raise EgressRefused(
                Code.ROBOTS_DENIED, f"robots.txt of {url.host} asks robots to stay away from this page"
            )

    async def list_sitemaps(self, url: ParsedUrl, scope: ExceptionScope) -> tuple[str, ...]:
        """The sitemaps that the file of the URL's origin names, as written and unjudged.

        None where the file was not read, or could not be.
        """
        if self._mode is RobotsMode.IGNORE:
            return ()
        return (await self._read(url, scope)).rules.sitemaps

    async def aclose(self) -> None:
        """End what is still being read, and wait for its end."""
        tasks = [reading.task for reading in self._readings.values() if not reading.task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, url: ParsedUrl, scope: ExceptionScope) -> _Answer:
        """The answer for an origin; the last who waits for it and is cancelled ends the reading."""
        answer = self._answers.get(url.origin)
        if answer is not None:
            self._answers.move_to_end(url.origin)
            return answer
        key = (url.origin, scope)
        reading = self._readings.get(key)
        if reading is None:
            reading = self._readings[key] = _Reading(asyncio.create_task(self._fetch(url, scope)))
            self._forget_refused()
        if reading.task.done():
            return reading.task.result()
        reading.waiters += 1
        try:
            return await asyncio.shield(reading.task)
        finally:
            reading.waiters -= 1
            if reading.waiters == 0 and not reading.task.done():
                reading.task.cancel()
                self._readings.pop(key, None)

    def _settle(self, url: ParsedUrl, scope: ExceptionScope, answer: _Answer) -> None:
        """Remember an answer for all, and forget the one not asked for longest."""
        self._answers[url.origin] = answer
        self._readings.pop((url.origin, scope), None)
        if len(self._answers) > self._parts.options.max_origins:
            origin, _ = self._answers.popitem(last=False)
            self._delays.pop(origin, None)

    def _forget_refused(self) -> None:
        if len(self._readings) > self._parts.options.max_origins:
            done = next((key for key, reading in self._readings.items() if reading.task.done()), None)
            if done is not None:
                del self._readings[done]

    async def _fetch(self, url: ParsedUrl, scope: ExceptionScope) -> _Answer:
        cost = _Cost()
        try:
            file = await self._ask(url, scope, cost)
        except MudroomError as error:
            cost.wire_bytes += error.wire_bytes
            answer = self._judge_failure(url, error)
            record = record_failure(_name_file(url), error, cost.wire_bytes)
        else:
            kept = await self._keep(url, file)
            answer = self._judge_answer(url, file)
            record = record_answer(_name_file(url), file.answer, kept, cost.wire_bytes)
        self.received_bytes += cost.wire_bytes
        await self._tell(url, record)
        if not answer.is_of_scope:
            self._settle(url, scope, answer)
        return answer

    async def _tell(self, url: ParsedUrl, record: SourceRecord) -> None:
        """Have the run's record say what came of it."""
        if self._record is None:
            return
        try:
            await self._record(record)
        except StoreFailed as error:
            self._note(WarningCode.NOT_ARCHIVED, url, f"it was read but not recorded ({error.code})")

    async def _ask(self, url: ParsedUrl, scope: ExceptionScope, cost: _Cost) -> _File:
        """The answer to a request for the file, after backing off where that was asked for."""
        options = self._parts.options
        request = FetchRequest(
            "GET",
            _name_file(url),
            initiator_scope=scope,
            redirects=RedirectRule(max_hops=options.max_redirects),
        )
        for _ in range(options.retries_on_429):
            file = await self._read_file(request, cost)
            if file.answer.status != _TOO_MANY_REQUESTS:
                return file
            asked = find_retry_after(file.answer.headers, self._parts.clock.now())
            pause = options.back_off_seconds if asked is None else asked
            await self._parts.sleep(min(pause, options.max_back_off_seconds))
        return await self._read_file(request, cost)

    async def _read_file(self, request: FetchRequest, cost: _Cost) -> _File:
        """The file up to the limit; what follows is left in the socket, which is closed."""
        limit = self._parts.options.max_parsed_bytes
        body, text = bytearray(), bytearray()
        async with self._parts.fetcher.stream(request) as answer:
            async for chunk in answer.raw_chunks():
                body += chunk
                text += answer.decoder.feed(chunk)
                if len(text) > limit or len(body) > limit:
                    break
            else:
                text += answer.decoder.finish() if body else b""
        cost.wire_bytes += answer.wire_bytes
        is_truncated = len(text) > limit or len(body) > limit
        return _File(
            answer=answer,
            untrusted_body=bytes(body),
            untrusted_text=bytes(text[:limit]),
            is_truncated=is_truncated,
        )

    def _judge_answer(self, url: ParsedUrl, file: _File) -> _Answer:
        family = file.answer.status // 100
        if family == _CLIENT_ERROR:
            return _Answer(rules=ALLOW_ALL)
        if family != _SUCCESS:
            return self._refuse_all(url, f"status {file.answer.status}")
        if file.is_truncated:
            self._note(WarningCode.ROBOTS_TRUNCATED, url, "only the first 512 KiB of it were read")
        rules = parse_robots(file.untrusted_text, AGENT_TOKEN)
        if rules.crawl_delay_seconds is not None:
            self._delays[url.origin] = rules.crawl_delay_seconds
        return _Answer(rules=rules)

    def _judge_failure(self, url: ParsedUrl, error: MudroomError) -> _Answer:
        is_behind = any(not hop.is_upgrade for hop in error.hops)
        if error.reason in _REFUSED_ITSELF and not is_behind:
            return _Answer(rules=ALLOW_ALL, code=error.code, message=error.message, is_of_scope=True)
        if error.code in _ENDLESS_REDIRECTS:
            self._note(WarningCode.ROBOTS_UNREACHABLE, url, "it redirects without end, so there is none")
            return _Answer(rules=ALLOW_ALL)
        return self._refuse_all(url, error.code.value)

    def _refuse_all(self, url: ParsedUrl, cause: str) -> _Answer:
        self._note(
            WarningCode.ROBOTS_UNREACHABLE, url, f"it could not be read ({cause}), so nothing was fetched"
        )
        message = f"robots.txt of {url.host} could not be read ({cause}), so its pages are left alone"
        return _Answer(rules=ALLOW_ALL, code=Code.ROBOTS_UNAVAILABLE, message=message)

    async def _keep(self, url: ParsedUrl, file: _File) -> StoredSnapshot | None:
        """The file's bytes into the archive; a crawl can be replayed only with them."""
        if self._parts.archive is None:
            return None
        snapshot = SnapshotInput(
            kind=SourceKind.ROBOTS,
            requested_url=_name_file(url),
            url=file.answer.final.normalized,
            status=file.answer.status,
            fetched_at=self._parts.clock.now(),
            body=file.untrusted_body,
            headers=file.answer.headers,
            raw_header=file.answer.raw_header,
            redirects=file.answer.hops,
            run_id=self._run_id,
        )
        try:
            return await self._parts.archive.put(snapshot)
        except StoreFailed as error:
            self._note(WarningCode.NOT_ARCHIVED, url, f"it was read but not kept ({error.code})")
            return None

    def _note(self, code: WarningCode, url: ParsedUrl, message: str) -> None:
        if len(self._notices) < _MAX_NOTICES:
            self._notices.append(
                RobotsNotice(code=code, url=_name_file(url), message=f"robots.txt: {message}")
            )


def _name_file(url: ParsedUrl) -> str:
    return f"{url.origin}/robots.txt"
