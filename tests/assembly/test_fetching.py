"""The fetcher of programs: settings read, exceptions for what they name, nothing left when it is closed."""

# A host takes what its seam brings, whatever of it a method needs.
# ruff: noqa: ARG002

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

import mudroom
from mudroom.address import ParsedUrl, parse_url
from mudroom.assembly import Network
from mudroom.errors import Code, EgressRefused, InvalidConfig
from mudroom.fetch import FetchEvent, FetchLabel, FetchObserver
from mudroom.settings import Settings, load_settings
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Route, Stall
from mudroom.testing.server import SiteServer


@pytest.fixture
async def site() -> AsyncIterator[SiteServer]:
    routes = (
        Route(path="/", body="hello"),
        Route(path="/slow", body=(b"half", Stall()), content_length=99),
        Route(path="/away", status=302, headers=(("Location", "http://192.0.2.7/"),)),
    )
    async with SiteServer(*routes) as site:
        yield site


@pytest.fixture
def settings(site: SiteServer) -> Settings:
    return load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})


async def test_a_program_fetches_and_streams_what_it_names(site: SiteServer, settings: Settings) -> None:
    async with mudroom.Fetcher(settings) as fetcher:
        request = mudroom.FetchRequest("GET", site.url("/"), priority=mudroom.Priority.HIGH)
        assert (await fetcher.fetch(request)).body == b"hello"
        assert (await fetcher.fetch(site.url("/"))).body == b"hello"
        async with fetcher.stream(site.url("/")) as answer:
            assert [chunk async for chunk in answer.chunks()] == [b"hello"]
    await site.wait_for_close()


async def test_an_exception_holds_for_what_the_program_wrote_and_not_for_what_it_read(
    site: SiteServer, settings: Settings
) -> None:
    page = parse_url("https://example.org/page")
    async with mudroom.Fetcher(settings) as fetcher:
        read = mudroom.FetchRequest("GET", site.url("/"), base=page)
        for refused in (fetcher.fetch(read), fetcher.fetch(site.url("/"), is_named=False)):
            with pytest.raises(EgressRefused) as caught:
                await refused
            assert caught.value.code is Code.INVALID_PORT
    assert site.requests == []


async def test_the_network_of_a_test_can_stand_in(site: SiteServer, settings: Settings) -> None:
    resolver = ScriptedResolver({"inside.test": "10.0.0.1"})
    async with mudroom.Fetcher(settings, network=Network(resolver=resolver)) as fetcher:
        with pytest.raises(EgressRefused) as caught:
            await fetcher.fetch("http://inside.test/")
    assert caught.value.code is Code.DENIED_ADDRESS


async def test_leaving_closes_what_is_still_on_its_way(site: SiteServer, settings: Settings) -> None:
    async with mudroom.Fetcher(settings) as fetcher:
        task = asyncio.ensure_future(fetcher.fetch(site.url("/slow")))
        await site.wait_for_requests(1)
    with pytest.raises(mudroom.errors.FetchFailed):
        await task
    await site.wait_for_close()


async def test_what_is_under_way_can_be_counted(site: SiteServer, settings: Settings) -> None:
    fetcher = mudroom.Fetcher(settings)
    assert fetcher.in_flight == 0
    async with fetcher:
        task = asyncio.ensure_future(fetcher.submit(site.url("/slow")))
        await site.wait_for_requests(1)
        assert fetcher.in_flight == 1
    assert fetcher.in_flight == 0
    with pytest.raises(mudroom.errors.FetchFailed):
        await task


async def test_one_that_is_not_open_says_how_it_is_opened(settings: Settings) -> None:
    fetcher = mudroom.Fetcher(settings)
    with pytest.raises(RuntimeError, match="async with"):
        await fetcher.fetch("https://example.org/")
    async with fetcher:
        pass
    with pytest.raises(RuntimeError, match="async with"):
        await fetcher.submit("https://example.org/")
    with pytest.raises(RuntimeError, match="async with"):
        async with fetcher.stream("https://example.org/"):
            raise AssertionError("it was open")


class Ledger(mudroom.NullContext):
    """A context that notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        return self

    def on_event(self, event: FetchEvent) -> None:
        self.heard.append(type(event).__name__.removesuffix("Event"))


async def do_submit(fetcher: mudroom.Fetcher, url: str) -> None:
    assert (await fetcher.submit(url)).body == b"hello"


async def do_fetch(fetcher: mudroom.Fetcher, url: str) -> None:
    assert (await fetcher.fetch(url)).body == b"hello"


async def do_stream(fetcher: mudroom.Fetcher, url: str) -> None:
    async with fetcher.stream(url) as answer:
        assert [chunk async for chunk in answer.chunks()] == [b"hello"]


@pytest.mark.parametrize("do", [do_submit, do_fetch, do_stream])
async def test_a_host_hears_of_whatever_is_asked_and_of_its_end(
    site: SiteServer, settings: Settings, do: Callable[[mudroom.Fetcher, str], Awaitable[None]]
) -> None:
    ledger = Ledger()
    async with mudroom.Fetcher(settings, ledger) as fetcher:
        await do(fetcher, site.url("/"))
        with pytest.raises(EgressRefused):
            await do(fetcher, site.url("/away"))
        stalled = asyncio.ensure_future(do(fetcher, site.url("/slow")))
        await site.wait_for_requests(1, "/slow")
        stalled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stalled
    heard = [name for name in ledger.heard if name != "Progress"]
    assert heard[:3] == ["Started", "ResponseHeaders", "Finished"]
    assert heard[3:6] == ["Started", "Blocked", "Failed"]
    # The headers of the last one were under way when its caller gave up.
    assert [name for name in heard[6:] if name != "ResponseHeaders"] == ["Started", "Cancelled"]


@pytest.mark.parametrize("do", [do_submit, do_fetch, do_stream])
async def test_a_jar_keeps_cookies_however_is_asked(
    site: SiteServer, settings: Settings, do: Callable[[mudroom.Fetcher, str], Awaitable[None]]
) -> None:
    site.add(Route(path="/in", status=303, headers=(("Location", "/"), ("Set-Cookie", "session=1"))))
    async with mudroom.Fetcher(settings, mudroom.JarContext(mudroom.CookieJar())) as fetcher:
        for path in ("/", "/in", "/"):
            await do(fetcher, site.url(path))
    assert [request.header("cookie") for request in site.requests] == [None, None, "session=1", "session=1"]


async def test_a_url_that_the_host_refuses_is_not_asked_for(settings: Settings, site: SiteServer) -> None:
    class Nowhere(mudroom.NullContext):
        def is_url_allowed(self, url: ParsedUrl) -> bool:
            return url.path == "/"

    async with mudroom.Fetcher(settings, Nowhere()) as fetcher:
        await do_submit(fetcher, site.url("/"))
        for do in (do_submit, do_fetch, do_stream):
            with pytest.raises(EgressRefused) as caught:
                await do(fetcher, site.url("/slow"))
            assert caught.value.code is Code.POLICY_VIOLATION
    assert site.hit_count("/slow") == 0


class Stuck(Ledger):
    """Hears its first event until the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def on_event(self, event: FetchEvent) -> None:
        self.gate.wait()
        super().on_event(event)


async def test_an_observer_that_stands_still_holds_up_no_request(
    site: SiteServer, settings: Settings
) -> None:
    stuck = Stuck()
    async with mudroom.Fetcher(settings, stuck) as fetcher:
        for _ in range(20):
            assert (await fetcher.submit(site.url("/"))).body == b"hello"
        assert stuck.heard == []
        stuck.gate.set()
    assert stuck.heard.count("Finished") == 20


class Faulty(Ledger):
    """Fails in all that it is told and asked but one."""

    def __init__(self, *, filters: bool) -> None:
        super().__init__()
        self._filters = filters

    def on_event(self, event: FetchEvent) -> None:
        raise ValueError("never mind")

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        raise ValueError("never mind")

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        if self._filters:
            raise ValueError("never mind")
        return True


async def test_a_host_that_raises_costs_no_request_and_its_filter_says_no(
    site: SiteServer, settings: Settings
) -> None:
    async with mudroom.Fetcher(settings, Faulty(filters=False)) as fetcher:
        assert (await fetcher.submit(site.url("/"))).body == b"hello"
    hits = site.hit_count("/")
    async with mudroom.Fetcher(settings, Faulty(filters=True)) as fetcher:
        with pytest.raises(EgressRefused) as caught:
            await fetcher.submit(site.url("/"))
    assert (caught.value.code, site.hit_count("/")) == (Code.POLICY_VIOLATION, hits)


async def test_without_settings_those_of_the_user_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDROOM_CONFIG", str(tmp_path / "absent.toml"))
    with pytest.raises(InvalidConfig, match=r"absent\.toml"):
        async with mudroom.Fetcher():
            raise AssertionError("it opened")
