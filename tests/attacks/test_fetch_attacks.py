"""Attacks on what callers share: none gets another's answer, another's reach or another's memory."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Self

import pytest

from mudroom.address import EgressPolicy, ExceptionScope, IPAddress, ParsedUrl, parse_url
from mudroom.errors import Code, ContentRefused, EgressRefused, MudroomError, StoreFailed
from mudroom.fetch import (
    CookieJar,
    Fetcher,
    FetchOptions,
    FetchRequest,
    FileSink,
    Pump,
    RedirectRule,
    RedirectScope,
)
from mudroom.fetch.context import FetchLabel, FetchObserver, NullContext
from mudroom.fetch.events import FetchEvent, FinishedEvent
from mudroom.fetch.hsts import Hsts, HstsEntry, MemoryHstsStore
from mudroom.fetch.hsts_file import FileHstsStore
from mudroom.fetch.telling import Telling, open_telling
from mudroom.net import NetLimits
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

URL = "http://site.test/"
ELSEWHERE = "http://evil.test/"


def build(transport: ScriptedTransport, telling: Telling | None = None, **options: Any) -> Fetcher:
    resolver = ScriptedResolver({"site.test": "93.184.215.14", "evil.test": "93.184.215.15"})
    return Fetcher(
        transport, resolver, EgressPolicy(), FetchOptions(**options), FixedClock(), telling=telling
    )


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def turn() -> None:
    """Let everything run that can run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_crawls_is_not_led_off_the_host_by_one_who_only_opens() -> None:
    """Both ask the same URL at the same time; the answer leads to another host."""
    away = PaperAnswer(status=302, headers=(("Location", ELSEWHERE),))
    transport = ScriptedTransport({URL: away, ELSEWHERE: PaperAnswer(body=b"evil")})
    fetcher = build(transport)
    stays = RedirectRule(max_hops=5, scope=RedirectScope.SAME_HOST)
    opens = FetchRequest("GET", URL)
    crawls = FetchRequest("GET", URL, redirects=stays)
    opened, crawled = await asyncio.gather(*map(fetcher.submit, (opens, crawls)), return_exceptions=True)
    assert not isinstance(opened, BaseException)
    assert opened.body == b"evil"
    assert isinstance(crawled, EgressRefused)
    assert crawled.code is Code.REDIRECT_CROSS_HOST
    assert transport.dialled.count(URL) == 2
    assert transport.dialled.count(ELSEWHERE) == 1


async def test_each_hop_of_a_shared_exchange_is_checked_by_a_check_of_all_who_share_it() -> None:
    """Two callers with checks of their own never share, so nobody passes by another's check."""
    away = PaperAnswer(status=302, headers=(("Location", ELSEWHERE),))
    transport = ScriptedTransport({URL: away, ELSEWHERE: PaperAnswer(body=b"x")})
    fetcher = build(transport)
    checked: list[list[str]] = [[], []]

    def check_for(number: int) -> Any:
        async def check(url: ParsedUrl, _scope: ExceptionScope) -> None:
            checked[number].append(url.host)

        return check

    await asyncio.gather(
        *(fetcher.submit(FetchRequest("GET", URL, hop_check=check_for(number))) for number in range(2))
    )
    assert checked == [["site.test", "evil.test"]] * 2


class ChangingEgress:
    """What this machine may reach, until a test changes it."""

    def __init__(self) -> None:
        self.policy = EgressPolicy()

    def current(self) -> EgressPolicy:
        return self.policy

    def is_due(self, addresses: Sequence[IPAddress] = ()) -> bool:
        del addresses
        return False

    async def refresh(self, addresses: Sequence[IPAddress] = ()) -> None:
        del addresses


async def test_an_answer_on_its_way_is_given_to_nobody_whom_a_newer_policy_keeps_from_it() -> None:
    gate, egress = asyncio.Event(), ChangingEgress()
    transport = ScriptedTransport({URL: PaperAnswer(body=b"inside", gate=gate)})
    resolver = ScriptedResolver({"site.test": "93.184.215.14"})
    fetcher = Fetcher(transport, resolver, egress, FetchOptions(), FixedClock())
    before = asyncio.create_task(fetcher.submit(FetchRequest("GET", URL)))
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(transport.dials) == 1
    egress.policy = EgressPolicy(deny_networks=(ip_network("93.184.215.0/24"),))
    after = asyncio.create_task(fetcher.submit(FetchRequest("GET", URL)))
    with pytest.raises(EgressRefused) as caught:
        await after
    assert caught.value.code is Code.DENIED_ADDRESS
    gate.set()
    assert (await before).body == b"inside"
    assert len(transport.dials) == 1


async def test_a_body_asked_for_with_a_secret_is_given_to_nobody_without_it() -> None:
    transport = ScriptedTransport({URL: [PaperAnswer(body=b"secret"), PaperAnswer(body=b"public")]})
    fetcher = build(transport)
    secret, public = await asyncio.gather(
        fetcher.submit(FetchRequest("GET", URL, headers=(("X-Api-Key", "k"),), is_streaming=True)),
        fetcher.submit(FetchRequest("GET", URL)),
    )
    assert (await secret.read(), public.body) == (b"secret", b"public")
    sent = [dict(dial.headers).get("X-Api-Key") for dial in transport.dials]
    assert sorted(map(str, sent)) == ["None", "k"]


async def test_a_peer_that_cannot_be_stopped_fills_no_more_than_the_queue_of_who_does_not_read() -> None:
    chunk = bytes(16_384)
    transport = ScriptedTransport({URL: PaperAnswer(body=(chunk,) * 5000)})
    fetcher = build(transport, limits=NetLimits(max_body_bytes=1 << 40), max_decoded_bytes=1 << 40)
    reply = await fetcher.submit(FetchRequest("GET", URL, is_streaming=True))
    for _ in range(200):
        await asyncio.sleep(0)
    assert reply.wire_bytes <= 40 * len(chunk)
    reply.close()
    await fetcher.aclose()
    assert transport.open_exchanges == 0


@pytest.mark.parametrize("is_streaming", [True, False])
async def test_a_bomb_is_stopped_at_the_limit_for_all_who_share_it(*, is_streaming: bool) -> None:
    bomb = gzip.compress(bytes(64 << 20))
    coded = (("Content-Encoding", "gzip"),)
    transport = ScriptedTransport({URL: PaperAnswer(headers=coded, body=bomb)})
    fetcher = build(transport)

    async def read() -> int:
        size = 0
        async with await fetcher.submit(FetchRequest("GET", URL, is_streaming=is_streaming)) as reply:
            async for chunk in reply.chunks():
                size += len(chunk)
                assert len(chunk) <= 256 * 1024
        return size

    for error in await asyncio.gather(*(read() for _ in range(3)), return_exceptions=True):
        assert isinstance(error, ContentRefused)
        assert error.code is Code.DECODED_TOO_LARGE
    assert len(transport.dials) == 1


async def test_who_asks_for_raw_bytes_gets_a_bomb_as_it_is_sent_and_shares_it_with_nobody_who_decodes() -> (
    None
):
    packed = gzip.compress(b"x" * 100_000)
    coded = (("Content-Encoding", "gzip"),)
    transport = ScriptedTransport({URL: PaperAnswer(headers=coded, body=packed)})
    fetcher = build(transport)
    raw, decoded = await asyncio.gather(
        fetcher.submit(FetchRequest("GET", URL, decode=False)), fetcher.submit(FetchRequest("GET", URL))
    )
    assert (raw.body, decoded.body) == (packed, b"x" * 100_000)
    assert len(transport.dials) == 2


async def test_a_damaged_coding_is_an_error_and_not_a_short_body() -> None:
    coded = (("Content-Encoding", "gzip"),)
    transport = ScriptedTransport({URL: PaperAnswer(headers=coded, body=gzip.compress(b"x" * 100_000)[:-9])})
    reply = await build(transport).submit(FetchRequest("GET", URL, is_streaming=True))
    with pytest.raises(MudroomError) as caught:
        await reply.read()
    assert caught.value.code is Code.DECODE_FAILED


@dataclass(frozen=True)
class FrozenError(Exception):
    """An error that lets nobody set anything on it, a cause included."""

    why: str


class UnmadeError(Exception):
    """An error of which no other can be made from its arguments."""

    def __new__(cls, *, code: int) -> Self:
        made = super().__new__(cls)
        made.args = (code, "more")
        return made

    def __init__(self, *, code: int) -> None:
        super().__init__()
        self.code = code


@pytest.mark.parametrize(
    "error", [FrozenError("no"), UnmadeError(code=3)], ids=lambda error: type(error).__name__
)
@pytest.mark.parametrize("is_streaming", [True, False])
async def test_whoever_waits_hears_of_an_error_that_cannot_be_told_twice(
    error: Exception, *, is_streaming: bool
) -> None:
    """What a program's own check raises is handed to each caller anew, whatever the class of it allows."""

    async def check(_url: ParsedUrl, _scope: ExceptionScope) -> None:
        raise error

    fetcher = build(ScriptedTransport())
    request = FetchRequest("GET", URL, hop_check=check, is_streaming=is_streaming)
    async with asyncio.timeout(5):
        ends = await asyncio.gather(*(fetcher.submit(request) for _ in range(3)), return_exceptions=True)
    assert [type(end) for end in ends] == [type(error)] * 3
    assert fetcher.in_flight == 0


async def test_a_note_that_one_caller_adds_to_his_error_is_read_by_no_other() -> None:
    async def check(_url: ParsedUrl, _scope: ExceptionScope) -> None:
        error = ValueError("no")
        error.add_note("for all")
        raise error

    fetcher = build(ScriptedTransport())
    request = FetchRequest("GET", URL, hop_check=check)
    first, second = await asyncio.gather(*(fetcher.submit(request) for _ in range(2)), return_exceptions=True)
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    first.add_note("mine")
    assert second.__notes__ == ["for all"]


async def test_a_link_in_the_place_of_a_temporary_file_opens_nobodys_secret(tmp_path: Path) -> None:
    """In a folder that others write to: the mode of a file of ours is for that file, whatever has its name."""
    secret, folder = tmp_path / "secret", tmp_path / "shared"
    secret.write_text("key")
    secret.chmod(0o600)
    folder.mkdir()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"body"
        (temporary,) = folder.iterdir()
        temporary.unlink()
        temporary.symlink_to(secret)

    with pytest.raises(StoreFailed) as caught:
        await FileSink(folder / "page.bin").take(chunks())
    assert caught.value.code is Code.STORE_UNAVAILABLE
    assert secret.stat().st_mode & 0o777 == 0o600
    assert names(folder) == set()


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_who_is_cancelled_twice_leaves_nobody_behind_who_still_writes(
    tmp_path: Path, turns: int
) -> None:
    """As a timeout and a Ctrl-C that meet: the file must be gone, or be there, when the pump has returned."""
    transport = ScriptedTransport({URL: PaperAnswer(body=(bytes(8192),) * 40)})
    fetcher = build(transport)
    request = FetchRequest("GET", URL, is_streaming=True)
    pump = Pump(await fetcher.submit(request), FileSink(tmp_path / "page.bin"))
    running = asyncio.create_task(pump.run())
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert [task for task in asyncio.all_tasks() if "Pump" in repr(task.get_coro())] == []
    assert names(tmp_path) <= {"page.bin"}
    await fetcher.aclose()


class CookieHost(NullContext):
    """Has the cookie that it was given last."""

    cookie: Any = ""

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """The cookie."""
        del url, partition
        return self.cookie  # type: ignore[no-any-return] - hosts in plain Python return what they like


async def test_who_has_logged_in_does_not_get_what_was_asked_for_before() -> None:
    """The same request by the same principal, and yet not the same: the host has another cookie for it by now."""
    gate, host = asyncio.Event(), CookieHost()
    stranger = PaperAnswer(body=b"who are you?", gate=gate)
    transport = ScriptedTransport({URL: [stranger, PaperAnswer(body=b"welcome")]})
    fetcher = build(transport, telling=open_telling(host))
    asked = [asyncio.create_task(fetcher.submit(FetchRequest("GET", URL)))]
    await turn()
    host.cookie = "session=1"
    asked += [asyncio.create_task(fetcher.submit(FetchRequest("GET", URL))) for _ in range(2)]
    await turn()
    gate.set()
    assert [reply.body for reply in await asyncio.gather(*asked)] == [b"who are you?", b"welcome", b"welcome"]
    assert [dict(dial.headers).get("Cookie") for dial in transport.dials] == [None, "session=1"]


@pytest.mark.parametrize("cookie", [None, 3, b"a=1"])
async def test_a_host_whose_cookie_is_no_text_sends_none(cookie: object) -> None:
    host = CookieHost()
    host.cookie = cookie
    transport = ScriptedTransport({URL: PaperAnswer(body=b"x")})
    fetcher = build(transport, telling=open_telling(host))
    assert (await fetcher.submit(FetchRequest("GET", URL))).body == b"x"
    assert "Cookie" not in dict(transport.dials[0].headers)


def test_a_site_with_a_name_for_everybody_crowds_no_other_host_out() -> None:
    """One certificate with a star, and as many hosts that ask for https as it likes."""
    hsts = Hsts(MemoryHstsStore(), FixedClock())
    header = (("Strict-Transport-Security", "max-age=31536000"),)

    def learn(host: str) -> None:
        url = parse_url(f"https://{host}/")
        assert url is not None
        hsts.learn(url, header, "")

    def is_upgraded(host: str) -> bool:
        url = parse_url(f"http://{host}/")
        assert url is not None
        return hsts.upgrade_url(url, "") is not None

    for host in ("bank.test", "login.bank.test", "www.evil.test"):
        learn(host)
    for number in range(12_000):
        learn(f"n{number}.evil.test")
    assert is_upgraded("bank.test")
    assert is_upgraded("login.bank.test")
    assert is_upgraded("n11999.evil.test")
    assert not is_upgraded("www.evil.test")


async def test_nor_out_of_the_file_that_the_next_run_reads(tmp_path: Path) -> None:
    path = tmp_path / "state" / "hsts.json"
    entry = HstsEntry(expires_at=4e9, include_subdomains=False)
    async with FileHstsStore(path, FixedClock(), max_hosts=1000) as store:
        store.store("", "bank.test", entry)
        for number in range(2000):
            store.store("", f"n{number}.evil.test", entry)
    async with FileHstsStore(path, FixedClock(), max_hosts=1000) as store:
        assert store.load("", "bank.test") == entry
        assert store.load("", "n1999.evil.test") == entry
        assert store.load("", "n0.evil.test") is None


async def test_a_pipe_in_the_place_of_what_is_written_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = tmp_path / "state" / "hsts.json"
    path.parent.mkdir()
    os.mkfifo(path.with_suffix(".partial"))
    os.mkfifo(path)
    entry = HstsEntry(expires_at=4e9, include_subdomains=False)
    async with asyncio.timeout(5), FileHstsStore(path, FixedClock()) as store:
        store.store("", "bank.test", entry)
    async with FileHstsStore(path, FixedClock()) as store:
        assert store.load("", "bank.test") == entry


class Stop(BaseException):
    """As what ends a test, or a task, is raised."""


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, Stop, SystemExit]
)
async def test_an_observer_that_raises_what_ends_tasks_ends_nobody_elses(error: type[BaseException]) -> None:
    heard: list[FetchEvent] = []

    class Host(NullContext):
        def observer_for(self, label: FetchLabel) -> FetchObserver:
            del label
            return self  # type: ignore[return-value] - it is one, see below

        def on_event(self, event: FetchEvent) -> None:
            heard.append(event)
            raise error

        def on_reference_done(self, reference: str) -> None:
            del reference
            raise error

    telling = open_telling(Host())
    assert telling is not None
    fetcher = build(ScriptedTransport({URL: PaperAnswer(body=b"x")}), telling)
    for _ in range(3):
        assert (await fetcher.submit(FetchRequest("GET", URL, reference="tab"))).body == b"x"
    await telling.aclose()
    assert [type(event) for event in heard].count(FinishedEvent) == 3


async def test_a_filter_that_raises_what_ends_tasks_has_said_no() -> None:
    class Host(NullContext):
        def is_url_allowed(self, url: ParsedUrl) -> bool:
            del url
            raise asyncio.CancelledError

    fetcher = build(ScriptedTransport(), open_telling(Host()))
    with pytest.raises(EgressRefused) as caught:
        await fetcher.submit(FetchRequest("GET", URL))
    assert caught.value.code is Code.POLICY_VIOLATION


def test_of_a_flood_of_cookies_in_one_answer_the_first_count() -> None:
    jar, url = CookieJar(FixedClock(), max_per_site=1000), parse_url("https://evil.test/")
    assert url is not None
    jar.receive(url, "", [f"n{number}=" for number in range(15_000)])
    assert len(jar) == 200
    assert "n0=" in jar.cookies_for(url, "").split("; ")


@pytest.mark.parametrize("name", ["文" * 85, "x" * 255, "é" * 127, "\udcff" * 255])
async def test_a_name_as_long_as_names_may_be_is_written_under_a_shorter_one_first(
    tmp_path: Path, name: str
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"body"

    assert await FileSink(tmp_path / name).take(chunks()) == 4
    assert names(tmp_path) == {name}
