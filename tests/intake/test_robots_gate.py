from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from mudroom.address import ExceptionScope, ParsedUrl, parse_url
from mudroom.corpus import SourceRecord
from mudroom.errors import Code, EgressRefused, FetchFailed, MudroomError, StoreFailed
from mudroom.fetch import FetchRequest, RedirectScope, Streamed
from mudroom.intake import RobotsGates, RobotsMode, RobotsOptions
from mudroom.media import BodyDecoder
from mudroom.model import Hop, WarningCode
from mudroom.snapshot import SnapshotInput, SourceKind, StoredSnapshot, prepare_snapshot
from mudroom.snapshot.writer import stored_of

NONE, OPERATOR = ExceptionScope.none(), ExceptionScope.operator()
RULES = b"User-agent: *\nDisallow: /private\n"


def url(text: str) -> ParsedUrl:
    parsed = parse_url(text)
    assert parsed is not None
    return parsed


@dataclass(kw_only=True)
class Answer:
    body: bytes = RULES
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    coding: str | None = None
    chunk: int = 1000
    error: MudroomError | None = None
    moment: asyncio.Event | None = None


@dataclass
class ScriptedBody:
    body: bytes
    chunk: int
    read: int = 0

    @property
    def received_bytes(self) -> int:
        return min(self.read, len(self.body))

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.body), self.chunk):
            self.read += self.chunk
            yield self.body[start : start + self.chunk]


@dataclass
class ScriptedFetcher:
    answers: list[Answer]
    requests: list[FetchRequest] = field(default_factory=list)
    bodies: list[ScriptedBody] = field(default_factory=list)
    cancelled: int = 0

    @asynccontextmanager
    async def stream(self, request: FetchRequest) -> AsyncIterator[Streamed]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer.moment is not None:
            try:
                await answer.moment.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if answer.error is not None:
            raise answer.error
        self.bodies.append(ScriptedBody(answer.body, answer.chunk))
        final = url(request.url)
        yield Streamed(
            requested_url=final.normalized,
            final=final,
            hops=(
                Hop(url=final.normalized, address="203.0.113.9", status=answer.status, protocol="HTTP/1.1"),
            ),
            status=answer.status,
            reason="",
            protocol="HTTP/1.1",
            headers=answer.headers,
            raw_header=b"HTTP/1.1 200 OK\r\n\r\n",
            exception=None,
            response=cast("Any", self.bodies[-1]),
            decoder=BodyDecoder(answer.coding, 10 << 20),
        )


@dataclass
class KeptSnapshots:
    kept: list[SnapshotInput] = field(default_factory=list)
    error: StoreFailed | None = None

    async def put(self, snapshot: SnapshotInput) -> StoredSnapshot:
        if self.error is not None:
            raise self.error
        self.kept.append(snapshot)
        return stored_of(prepare_snapshot(snapshot), is_new=True)


class StillClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


@dataclass
class House:
    fetcher: ScriptedFetcher
    archive: KeptSnapshots
    gates: RobotsGates
    slept: list[float]


@pytest.fixture
def house() -> Callable[..., House]:
    def build(*answers: Answer, **options: Any) -> House:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        fetcher, archive = ScriptedFetcher(list(answers)), KeptSnapshots()
        gates = RobotsGates(
            fetcher, cast("Any", archive), StillClock(), sleep, RobotsOptions(**options) if options else None
        )
        return House(fetcher, archive, gates, slept)

    return build


async def judge(house: House, *targets: str, scope: ExceptionScope = NONE) -> list[str]:
    """The code with which each target is refused, or 'allowed', from one gate."""
    gate = house.gates.open_gate("crawl_1", RobotsMode.OBEY)
    verdicts = []
    for target in targets:
        try:
            await gate.check(url(target), scope)
        except EgressRefused as refusal:
            verdicts.append(refusal.code.value)
        else:
            verdicts.append("allowed")
    return verdicts


FAILED = Code.ROBOTS_UNAVAILABLE.value


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(), ["allowed", "ROBOTS_DENIED"]),
        (Answer(body=b""), ["allowed", "allowed"]),
        (Answer(body=b"\xef\xbb\xbf" + RULES), ["allowed", "ROBOTS_DENIED"]),
        (Answer(body=gzip.compress(RULES), coding="gzip"), ["allowed", "ROBOTS_DENIED"]),
        (Answer(body=gzip.compress(RULES), coding="gzip", chunk=3), ["allowed", "ROBOTS_DENIED"]),
        (Answer(status=404), ["allowed", "allowed"]),
        (Answer(status=401), ["allowed", "allowed"]),
        (Answer(status=403), ["allowed", "allowed"]),
        (Answer(status=410), ["allowed", "allowed"]),
        (Answer(status=500), [FAILED, FAILED]),
        (Answer(status=503), [FAILED, FAILED]),
        (Answer(status=304), [FAILED, FAILED]),
        (Answer(error=FetchFailed(Code.DNS_FAILURE, "no such name")), [FAILED, FAILED]),
        (Answer(error=FetchFailed(Code.RESPONSE_TIMEOUT, "no answer")), [FAILED, FAILED]),
        (Answer(body=b"not gzip", coding="gzip"), [FAILED, FAILED]),
        (Answer(error=EgressRefused(Code.REDIRECT_LIMIT, "too many")), ["allowed", "allowed"]),
        (Answer(error=EgressRefused(Code.REDIRECT_LOOP, "a circle")), ["allowed", "allowed"]),
        (Answer(error=EgressRefused(Code.REDIRECT_DOWNGRADE, "to http")), [FAILED, FAILED]),
        (Answer(error=EgressRefused(Code.DENIED_ADDRESS, "inside")), ["DENIED_ADDRESS", "DENIED_ADDRESS"]),
    ],
)
async def test_what_the_file_says_or_why_it_cannot_decides(
    house: Callable[..., House], answer: Answer, expected: list[str]
) -> None:
    built = house(answer)
    assert await judge(built, "https://a.example/", "https://a.example/private/x?y") == expected
    assert [request.url for request in built.fetcher.requests] == ["https://a.example/robots.txt"]


async def test_a_redirect_that_was_refused_is_no_refusal_of_the_origin(house: Callable[..., House]) -> None:
    error = EgressRefused(Code.DENIED_ADDRESS, "redirects to a refused target")
    error.hops = (Hop(url="x", address="203.0.113.9", status=302, protocol="HTTP/1.1"),)
    assert await judge(house(Answer(error=error)), "https://a.example/") == [FAILED]


async def test_an_unreadable_file_can_be_tried_again_and_its_message_names_only_the_host(
    house: Callable[..., House],
) -> None:
    gate = house(Answer(status=503)).gates.open_gate("crawl_1", RobotsMode.OBEY)
    with pytest.raises(EgressRefused) as caught:
        await gate.check(url("https://a.example/secret?token=1"), NONE)
    assert caught.value.retryable
    assert "a.example" in caught.value.message
    assert "secret" not in caught.value.message
    assert [notice.code for notice in gate.notices] == [WarningCode.ROBOTS_UNREACHABLE]


@pytest.mark.parametrize(
    ("asked", "slept"),
    [
        ("3", 3.0),
        (None, 5.0),
        ("99999", 30.0),
        ("Thu, 01 Jan 2026 00:00:09 GMT", 9.0),
        ("soon", 5.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
    ],
)
async def test_too_many_requests_are_answered_with_patience_first(
    house: Callable[..., House], asked: str | None, slept: float
) -> None:
    headers = () if asked is None else (("Retry-After", asked),)
    built = house(Answer(status=429, headers=headers), Answer())
    assert await judge(built, "https://a.example/private") == ["ROBOTS_DENIED"]
    assert built.slept == [slept]


async def test_a_file_that_stays_refused_with_429_is_one_that_is_not_there(
    house: Callable[..., House],
) -> None:
    built = house(Answer(status=429))
    assert await judge(built, "https://a.example/private") == ["allowed"]
    assert built.slept == [5.0, 5.0]
    assert len(built.fetcher.requests) == 3


async def test_only_the_first_half_mebibyte_is_read_and_the_rest_is_left(house: Callable[..., House]) -> None:
    body = b"User-agent: *\nDisallow: /early\n" + b"#\n" * 600_000 + b"Disallow: /late\n"
    built = house(Answer(body=body, chunk=10_000))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    await gate.check(url("https://a.example/late"), NONE)
    with pytest.raises(EgressRefused):
        await gate.check(url("https://a.example/early"), NONE)
    assert built.fetcher.bodies[0].read < 540_000
    assert [notice.code for notice in gate.notices] == [WarningCode.ROBOTS_TRUNCATED]


async def test_a_bomb_is_stopped_at_the_same_size(house: Callable[..., House]) -> None:
    built = house(Answer(body=gzip.compress(RULES + b"\n" * 8_000_000), coding="gzip", chunk=200))
    assert await judge(built, "https://a.example/private") == ["ROBOTS_DENIED"]
    assert built.fetcher.bodies[0].read <= 1000


async def test_the_redirects_of_the_file_are_followed_five_times_anywhere(
    house: Callable[..., House],
) -> None:
    built = house(Answer())
    await judge(built, "https://a.example/")
    rule = built.fetcher.requests[0].redirects
    assert (rule.max_hops, rule.scope) == (5, RedirectScope.ANY)
    assert built.fetcher.requests[0].hop_check is None


async def test_one_file_is_read_once_per_origin_and_run(house: Callable[..., House]) -> None:
    built = house(Answer())
    await judge(
        built, "https://a.example/1", "https://a.example/2", "http://a.example/", "https://a.example:444/"
    )
    assert [request.url for request in built.fetcher.requests] == [
        "https://a.example/robots.txt",
        "http://a.example/robots.txt",
        "https://a.example:444/robots.txt",
    ]
    await judge(built, "https://a.example/1")
    assert len(built.fetcher.requests) == 4


async def test_what_was_read_holds_whichever_exceptions_a_page_comes_with(
    house: Callable[..., House],
) -> None:
    built = house(Answer())
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    await gate.check(url("https://a.example/"), OPERATOR)
    with pytest.raises(EgressRefused):
        await gate.check(url("https://a.example/private"), NONE)
    assert len(built.fetcher.requests) == 1


async def test_an_origin_that_was_refused_is_asked_again_for_a_page_with_other_exceptions(
    house: Callable[..., House],
) -> None:
    built = house(Answer(error=EgressRefused(Code.DENIED_ADDRESS, "inside")), Answer(body=b""))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    for _ in range(2):
        with pytest.raises(EgressRefused):
            await gate.check(url("http://10.0.0.1/"), NONE)
    await gate.check(url("http://10.0.0.1/"), OPERATOR)
    await gate.check(url("http://10.0.0.1/"), NONE)
    assert [request.initiator_scope for request in built.fetcher.requests] == [NONE, OPERATOR]


async def test_many_pages_that_wait_at_once_share_one_reading(house: Callable[..., House]) -> None:
    moment = asyncio.Event()
    built = house(Answer(moment=moment))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    checks = [asyncio.create_task(gate.check(url(f"https://a.example/{n}"), NONE)) for n in range(20)]
    await asyncio.sleep(0)
    checks[0].cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    moment.set()
    results = await asyncio.gather(*checks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == [None] * 19
    assert len(built.fetcher.requests) == 1


async def test_the_reading_ends_when_the_last_who_waits_is_cancelled(house: Callable[..., House]) -> None:
    built = house(Answer(moment=asyncio.Event()), Answer())
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    checks = [asyncio.create_task(gate.check(url("https://a.example/"), NONE)) for _ in range(2)]
    for _ in range(3):
        await asyncio.sleep(0)
    for check in checks:
        check.cancel()
    await asyncio.gather(*checks, return_exceptions=True)
    await asyncio.sleep(0)
    assert built.fetcher.cancelled == 1
    await gate.check(url("https://a.example/"), NONE)
    assert len(built.fetcher.requests) == 2


async def test_closing_a_gate_ends_what_it_still_reads(house: Callable[..., House]) -> None:
    built = house(Answer(moment=asyncio.Event()))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    check = asyncio.create_task(gate.check(url("https://a.example/"), NONE))
    for _ in range(3):
        await asyncio.sleep(0)
    await gate.aclose()
    assert built.fetcher.cancelled == 1
    await asyncio.gather(check, return_exceptions=True)


async def test_ignoring_robots_asks_for_nothing(house: Callable[..., House]) -> None:
    built = house(Answer())
    gate = built.gates.open_gate("crawl_1", RobotsMode.IGNORE)
    await gate.check(url("https://a.example/private"), NONE)
    assert built.fetcher.requests == []


async def test_each_file_is_kept_as_a_snapshot_of_its_own_kind(house: Callable[..., House]) -> None:
    built = house(Answer(status=404, body=b"none"))
    await judge(built, "https://a.example/x")
    (snapshot,) = built.archive.kept
    assert snapshot.kind is SourceKind.ROBOTS
    assert snapshot.requested_url == "https://a.example/robots.txt"
    assert (snapshot.status, snapshot.body, snapshot.run_id) == (404, b"none", "crawl_1")
    assert len(snapshot.redirects) == 1


async def test_a_file_that_cannot_be_kept_is_obeyed_and_told(house: Callable[..., House]) -> None:
    built = house(Answer())
    built.archive.error = StoreFailed(Code.ARCHIVE_FULL, "full")
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    with pytest.raises(EgressRefused):
        await gate.check(url("https://a.example/private"), NONE)
    assert [notice.code for notice in gate.notices] == [WarningCode.NOT_ARCHIVED]


async def test_the_crawl_delay_is_known_once_the_file_was_read(house: Callable[..., House]) -> None:
    built = house(Answer(body=b"User-agent: *\nCrawl-delay: 7\n"))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    assert gate.crawl_delay_seconds("https://a.example") is None
    await gate.check(url("https://a.example/"), NONE)
    assert gate.crawl_delay_seconds("https://a.example") == 7


async def test_the_origins_remembered_are_bounded(house: Callable[..., House]) -> None:
    built = house(Answer(), max_origins=3)
    hosts = [f"https://h{n}.example/" for n in range(5)]
    await judge(built, *hosts, hosts[4], hosts[0])
    assert len(built.fetcher.requests) == 6


async def test_what_files_cost_is_counted(house: Callable[..., House]) -> None:
    lost = FetchFailed(Code.CONNECTION_LOST, "gone")
    lost.wire_bytes = 30
    built = house(Answer(status=429, body=b"slow"), Answer(body=RULES), Answer(error=lost))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    await gate.check(url("https://a.example/"), NONE)
    with pytest.raises(EgressRefused):
        await gate.check(url("https://b.example/"), NONE)
    assert gate.received_bytes == 4 + len(RULES) + 30


async def test_a_file_is_asked_for_with_the_exceptions_of_its_hop(house: Callable[..., House]) -> None:
    built = house(Answer(body=b""))
    gate = built.gates.open_gate("crawl_1", RobotsMode.OBEY)
    inside = ExceptionScope.of("10.0.0.0/8")
    for target, scope in (
        ("http://a.example/", OPERATOR),
        ("http://b.intern.example/", inside),
        ("http://c.example/", NONE),
    ):
        await gate.check(url(target), scope)
    assert [(request.url, request.initiator_scope) for request in built.fetcher.requests] == [
        ("http://a.example/robots.txt", OPERATOR),
        ("http://b.intern.example/robots.txt", inside),
        ("http://c.example/robots.txt", NONE),
    ]


RECORDS = [
    # id, what the origin answers, (status, code, bytes, whether the archive has it)
    ("a-file", [Answer()], (200, None, len(RULES), True)),
    ("none", [Answer(status=404, body=b"gone")], (404, None, 4, True)),
    ("asked-twice", [Answer(status=429, body=b"slow"), Answer()], (200, None, 4 + len(RULES), True)),
    (
        "no-name",
        [Answer(error=FetchFailed(Code.DNS_FAILURE, "no such name"))],
        (None, "DNS_FAILURE", 0, False),
    ),
    (
        "refused",
        [Answer(error=EgressRefused(Code.DENIED_ADDRESS, "inside"))],
        (None, "DENIED_ADDRESS", 0, False),
    ),
]


@pytest.mark.parametrize(
    ("answers", "expected"), [row[1:] for row in RECORDS], ids=[row[0] for row in RECORDS]
)
async def test_each_file_asked_for_stands_in_the_runs_record(
    house: Callable[..., House], answers: list[Answer], expected: tuple[object, ...]
) -> None:
    records: list[SourceRecord] = []

    async def record(source: SourceRecord) -> None:
        records.append(source)

    gate = house(*answers).gates.open_gate("crawl_1", RobotsMode.OBEY, record)
    for _ in range(2):
        with contextlib.suppress(EgressRefused):
            await gate.check(url("https://a.example/"), NONE)
    (source,) = records
    code = source.code.value if source.code else None
    told = (source.http_status, code, source.wire_bytes, source.source_ref is not None)
    assert (source.kind, source.url, told) == ("robots", "https://a.example/robots.txt", expected)
    assert gate.received_bytes == source.wire_bytes


async def test_a_file_that_cannot_be_recorded_is_warned_of(house: Callable[..., House]) -> None:
    async def record(source: SourceRecord) -> None:
        raise StoreFailed(Code.NO_SPACE, f"no room for {source.kind}")

    gate = house(Answer()).gates.open_gate("crawl_1", RobotsMode.OBEY, record)
    await gate.check(url("https://a.example/"), NONE)
    assert [notice.code for notice in gate.notices] == [WarningCode.NOT_ARCHIVED]
