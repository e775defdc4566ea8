"""One URL in one call: bytes or an error, wherever it is called from, and nothing left behind."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import mudroom
from mudroom import simple
from mudroom.errors import Code, ContentRefused, EgressRefused, FetchFailed, MudroomError
from mudroom.settings import Settings, load_settings
from mudroom.testing.routes import Drop, Endless, Framing, Route, Stall
from mudroom.testing.seen import SeenRequest
from mudroom.testing.server import SiteServer
from mudroom.testing.threads import serve_in_thread

MIB = 1024 * 1024
ROUTES = (
    Route(path="/", body="hello", content_type="text/plain", headers=(("X-Two", "a"), ("X-Two", "b"))),
    Route(path="/moved", status=302, headers=(("Location", "/"),)),
    Route(path="/missing", status=404, body="not here"),
    Route(path="/choices", status=300),
    Route(path="/fits", body=b"x" * (10 * MIB)),
    Route(path="/larger", body=(Endless(max_bytes=10 * MIB + 1),), framing=Framing.CHUNKED),
    Route(path="/claims", body=b"x", content_length=10 * MIB + 1),
    Route(path="/drops", body=(b"half", Drop()), content_length=9),
    Route(path="/echo", answer=lambda seen: Route(path="", body=seen.header("x-mine") or "")),
)


@pytest.fixture(scope="module")
def site() -> Iterator[SiteServer]:
    with serve_in_thread(*ROUTES) as site:
        yield site


@pytest.fixture(scope="module")
def settings(site: SiteServer) -> Settings:
    return load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})


def test_get_gives_the_bytes_and_fetch_the_answer(site: SiteServer, settings: Settings) -> None:
    assert mudroom.simple.get(site.url("/moved"), settings=settings) == b"hello"
    response = mudroom.simple.fetch(site.url("/moved"), settings=settings)
    assert (response.url, response.status, response.body) == (site.url("/"), 200, b"hello")
    assert (response.header("x-two"), response.header("absent")) == ("b", None)


def test_a_caller_may_send_fields_of_his_own(site: SiteServer, settings: Settings) -> None:
    assert simple.get(site.url("/echo"), headers=(("X-Mine", "yes"),), settings=settings) == b"yes"


async def test_the_asynchronous_ones_do_the_same(site: SiteServer, settings: Settings) -> None:
    assert await simple.aget(site.url("/"), settings=settings) == b"hello"
    assert (await simple.afetch(site.url("/missing"), settings=settings)).status == 404


async def test_the_blocking_ones_work_inside_a_running_loop(site: SiteServer, settings: Settings) -> None:
    before = threading.enumerate()
    assert simple.get(site.url("/"), settings=settings) == b"hello"
    assert simple.fetch(site.url("/missing"), settings=settings).status == 404
    with pytest.raises(FetchFailed):
        simple.get(site.url("/drops"), settings=settings)
    assert threading.enumerate() == before


@pytest.mark.parametrize(
    ("path", "kind", "code"),
    [
        ("/missing", FetchFailed, Code.HTTP_STATUS),
        ("/choices", FetchFailed, Code.HTTP_STATUS),
        ("/larger", ContentRefused, Code.BODY_TOO_LARGE),
        ("/claims", ContentRefused, Code.BODY_TOO_LARGE),
        ("/drops", FetchFailed, Code.CONNECTION_LOST),
    ],
)
def test_what_is_no_whole_good_answer_is_an_error_with_its_code(
    site: SiteServer, settings: Settings, path: str, kind: type[MudroomError], code: Code
) -> None:
    with pytest.raises(kind) as caught:
        simple.get(site.url(path), settings=settings)
    assert caught.value.code is code
    assert path not in caught.value.message
    assert "127.0.0.1" in caught.value.message
    assert "event loop" not in "".join(traceback.format_exception(caught.value))


def test_ten_mebibytes_fit(site: SiteServer, settings: Settings) -> None:
    assert len(simple.get(site.url("/fits"), settings=settings)) == 10 * MIB


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:1/", Code.INVALID_PORT),
        ("http://169.254.169.254/", Code.DENIED_ADDRESS),
        ("http://[::ffff:10.0.0.1]/", Code.DENIED_ADDRESS),
        ("file:///etc/passwd", Code.INVALID_SCHEME),
    ],
)
def test_the_guard_stands_before_it(url: str, code: Code) -> None:
    with pytest.raises(EgressRefused) as caught:
        simple.get(url, settings=load_settings({}))
    assert caught.value.code is code


def test_its_times_are_its_own_whatever_the_settings_say() -> None:
    patient = load_settings({}, overrides={("fetch", "total_timeout_seconds"): 900.0})
    fetching = simple._tighten(patient).fetch
    assert fetching.connect_timeout_seconds == 10
    times = (
        fetching.response_timeout_seconds,
        fetching.chain_timeout_seconds,
        fetching.total_timeout_seconds,
    )
    assert times == (30, 30, 30)


async def test_the_whole_call_has_a_limit_that_no_part_of_it_can_stretch() -> None:
    """The limits of its one request are far longer here, and the peer never ends."""
    slowly = (b"x", Stall())
    async with SiteServer(Route(path="/", body=slowly, content_length=5)) as site:
        local = load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
        with pytest.raises(FetchFailed) as caught:
            await simple._ask(site.url("/?secret"), (), local, total_seconds=0.25)
        assert caught.value.code is Code.TOTAL_TIMEOUT
        told = "127.0.0.1 had not sent its whole answer after the 0.25 seconds that mudroom.simple waits"
        assert caught.value.message == told
        await site.wait_for_close()


def test_the_limit_of_the_whole_call_is_thirty_seconds() -> None:
    assert inspect.signature(simple._ask).parameters["total_seconds"].default == 30


def test_nothing_is_left_behind(site: SiteServer, settings: Settings) -> None:
    simple.get(site.url("/"), settings=settings)
    threads, descriptors = threading.enumerate(), count_descriptors()
    for path in ("/", "/moved", "/missing", "/drops", "/larger"):
        try:
            simple.get(site.url(path), settings=settings)
        except MudroomError as error:
            assert error.code  # noqa: PT017 - some of them fail, which is not what this is about
    assert threading.enumerate() == threads
    # The other end lies in this process too, and notices a moment later; ours is closed when the call returns.
    assert count_descriptors() <= descriptors + site.open_connections


async def test_giving_up_on_the_asynchronous_one_closes_its_socket(settings: Settings) -> None:
    async with SiteServer(Route(path="/", body=(Stall(),), content_length=5)) as site:
        local = load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
        task = asyncio.ensure_future(simple.aget(site.url("/"), settings=local))
        await site.wait_for_requests(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await site.wait_for_close()


@pytest.mark.timeout(10)  # before the idle time of the body would end it
async def test_an_interrupt_ends_a_call_that_blocks_a_running_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: SeenRequest) -> Route:
        os.kill(os.getpid(), signal.SIGINT)
        return Route(path="", body=(Stall(),), content_length=5)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with serve_in_thread(Route(path="/", answer=interrupt)) as site:
            local = load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
            with pytest.raises(KeyboardInterrupt):
                simple.get(site.url("/"), settings=local)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [thread for thread in threading.enumerate() if thread.name == "mudroom-simple"]


def test_importing_mudroom_loads_none_of_it() -> None:
    code = "import sys, mudroom; assert 'asyncio' not in sys.modules; mudroom.simple.get"
    environment = os.environ | {"PYTHONPATH": str(Path(mudroom.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def count_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
