"""What a fetcher and its scheduler do together, on paper and on real sockets."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from mudroom.address import EgressPolicy, ExceptionScope
from mudroom.errors import Code, ContentRefused, EgressRefused, FetchFailed
from mudroom.fetch import Fetched, Fetcher, FetchOptions, FetchRequest, Priority, Scheduler, SchedulerOptions
from mudroom.fetch.chain import Chain
from mudroom.net import CurlTransport, Transport
from mudroom.testing.authority import Authority
from mudroom.testing.clocks import RingingClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Endless, Route, Stall
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

HIGH, NORMAL, LOW, IDLE = Priority
NAMES = dict.fromkeys(("a.test", "b.test", "c.test"), "127.0.0.1")


class Desk:
    """A fetcher with its scheduler and a clock that rings."""

    def __init__(
        self, transport: Transport, *ports: int, fetch: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        self.clock = RingingClock()
        self.slots = Scheduler(SchedulerOptions(**options), self.clock, call_later=self.clock.call_later)
        policy = EgressPolicy(ports=frozenset({80, 443, *ports}), allow_networks=(ip_network("127.0.0.0/8"),))
        self.fetcher = Fetcher(
            transport,
            ScriptedResolver(NAMES),
            policy,
            FetchOptions(**fetch or {}),
            self.clock,
            slots=self.slots,
        )

    def ask(self, url: str, priority: Priority = NORMAL, **settings: Any) -> asyncio.Task[Fetched]:
        scope = ExceptionScope.operator()
        request = FetchRequest("GET", url, priority=priority, initiator_scope=scope, **settings)
        return asyncio.create_task(self.fetcher.fetch(request))

    def ask_all(self, urls: Sequence[str], priority: Priority = NORMAL) -> list[asyncio.Task[Fetched]]:
        return [self.ask(url, priority) for url in urls]

    async def all_waiting(self, count: int) -> None:
        """Return when so many wait for a slot; each has its name resolved by then."""
        for _ in range(10_000):
            if self.slots.waiting == count:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"{self.slots.waiting} wait, not {count}")


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def give_up(*tasks: asyncio.Task[Fetched]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# ---- on paper ----


async def test_high_after_500_low_is_among_the_next_four_dials() -> None:
    gate = asyncio.Event()
    low = [f"http://a.test/low/{number}" for number in range(500)]
    transport = ScriptedTransport({url: PaperAnswer(body_gate=gate) for url in low})
    transport.set_answers("http://a.test/high", PaperAnswer(body=b"high"))
    desk = Desk(transport, origin_slots=1)
    tasks = desk.ask_all(low, LOW)
    await desk.all_waiting(499)
    high = desk.ask("http://a.test/high", HIGH)
    await desk.all_waiting(500)
    gate.set()
    assert (await high).body == b"high"
    assert transport.dialled.index("http://a.test/high") <= 4
    await asyncio.gather(*tasks)
    assert (desk.slots.running, desk.slots.origins) == (0, 0)


async def test_a_stalled_body_holds_its_slot_and_40_of_them_leave_another_host_at_full_speed() -> None:
    gate = asyncio.Event()
    stalled = [f"http://a.test/{number}" for number in range(40)]
    quick = [f"http://b.test/{number}" for number in range(40)]
    transport = ScriptedTransport({url: PaperAnswer(body_gate=gate) for url in stalled})
    for url in quick:
        transport.set_answers(url, PaperAnswer())
    desk = Desk(transport)
    tasks = desk.ask_all(stalled)
    await desk.all_waiting(34)
    await asyncio.gather(*desk.ask_all(quick))
    assert (desk.slots.running, transport.open_exchanges) == (6, 6)
    gate.set()
    await asyncio.gather(*tasks)


async def test_a_streamed_body_holds_its_slot_until_it_is_left() -> None:
    transport = ScriptedTransport({"http://a.test/": PaperAnswer(body=(b"1", b"2"))})
    desk = Desk(transport)
    request = FetchRequest("GET", "http://a.test/", initiator_scope=ExceptionScope.operator())
    async with desk.fetcher.stream(request) as streamed:
        async for _ in streamed.chunks():
            assert desk.slots.running == 1
    assert desk.slots.running == 0


@pytest.mark.parametrize(
    ("answer", "settings", "error"),
    [
        (PaperAnswer(failure=FetchFailed(Code.CONNECT_FAILED, "no")), {}, FetchFailed),
        (PaperAnswer(body=b"x", break_off=FetchFailed(Code.IDLE_TIMEOUT, "no")), {}, FetchFailed),
        (PaperAnswer(body=b"xxx"), {"max_body_bytes": 2}, ContentRefused),
        (
            PaperAnswer(content_type="audio/mpeg"),
            {"accept_types": {"text/html"}.__contains__},
            ContentRefused,
        ),
        (PaperAnswer(status=302), {}, EgressRefused),
        (PaperAnswer(status=302, headers=(("Location", "http://10.0.0.1/"),)), {}, EgressRefused),
    ],
    ids=["no connection", "stalls", "too large", "wrong type", "no location", "refused target"],
)
async def test_whatever_a_hop_ends_with_its_slot_is_free_again(
    answer: PaperAnswer, settings: dict[str, Any], error: type[Exception]
) -> None:
    desk = Desk(ScriptedTransport({"http://a.test/": answer}))
    with pytest.raises(error):
        await desk.ask("http://a.test/", **settings)
    assert (desk.slots.running, desk.slots.waiting, desk.slots.origins) == (0, 0, 0)


async def test_each_hop_takes_a_slot_of_its_own_host_and_keeps_none_while_it_waits() -> None:
    gate = asyncio.Event()
    stalled = [f"http://a.test/{number}" for number in range(6)]
    transport = ScriptedTransport({url: PaperAnswer(body_gate=gate) for url in stalled})
    transport.set_answers("http://a.test/target", PaperAnswer(body=b"target"))
    there = PaperAnswer(status=302, headers=(("Location", "http://a.test/target"),))
    redirects = [f"http://b.test/{number}" for number in range(20)]
    for url in redirects:
        transport.set_answers(url, there)
    transport.set_answers("http://b.test/page", PaperAnswer(body=b"page"))
    desk = Desk(transport, global_slots=7)
    tasks = desk.ask_all(stalled)
    await settle()
    redirected = desk.ask_all(redirects)
    await desk.all_waiting(20)  # all of them for the host that they were led to
    assert (await desk.ask("http://b.test/page")).body == b"page"
    assert "http://a.test/target" not in transport.dialled
    gate.set()
    assert {fetched.body for fetched in await asyncio.gather(*redirected)} == {b"target"}
    await asyncio.gather(*tasks)


async def test_a_pause_of_a_host_holds_for_redirects_that_lead_to_it() -> None:
    refusal = PaperAnswer(status=429, headers=(("Retry-After", "30"),))
    transport = ScriptedTransport(
        {
            "http://a.test/": refusal,
            "http://a.test/target": PaperAnswer(body=b"target"),
            "http://b.test/": PaperAnswer(status=302, headers=(("Location", "http://a.test/target"),)),
        }
    )
    desk = Desk(transport)
    assert (await desk.ask("http://a.test/")).status == 429
    redirected = desk.ask("http://b.test/")
    await desk.all_waiting(1)
    assert transport.dialled == ("http://a.test/", "http://b.test/")
    desk.clock.advance(29)
    await settle()
    assert not redirected.done()
    desk.clock.advance(1)
    assert (await redirected).body == b"target"


async def test_a_redirect_that_is_refused_pauses_the_host_that_refused_it_and_not_the_one_asked() -> None:
    transport = ScriptedTransport(
        {
            "http://a.test/": PaperAnswer(status=503, headers=(("Retry-After", "30"),)),
            "http://b.test/": PaperAnswer(status=302, headers=(("Location", "http://a.test/"),)),
            "http://b.test/page": PaperAnswer(),
        }
    )
    desk = Desk(transport)
    assert (await desk.ask("http://b.test/")).status == 503
    assert (await desk.ask("http://b.test/page")).status == 200
    waiting = desk.ask("http://a.test/")
    await desk.all_waiting(1)
    await give_up(waiting)


async def test_a_wait_for_a_host_does_not_count_against_what_the_hops_may_take() -> None:
    transport = ScriptedTransport(
        {"http://a.test/": [PaperAnswer(status=503, headers=(("Retry-After", "100"),)), PaperAnswer()]}
    )
    desk = Desk(transport, fetch={"chain_timeout_seconds": 10.0})
    await desk.ask("http://a.test/")
    again = desk.ask("http://a.test/")
    await desk.all_waiting(1)
    desk.clock.advance(100)
    assert (await again).status == 200


async def test_a_chain_takes_a_raised_priority_to_the_hop_that_waits_and_those_to_come() -> None:
    desk = Desk(ScriptedTransport(), global_slots=1)
    policy = EgressPolicy()
    chains = [Chain(FetchRequest("GET", f"http://{name}/", priority=LOW), policy) for name in NAMES]
    order: list[int] = []

    async def hop(number: int) -> None:
        async with chains[number].hold(desk.slots):
            order.append(number)
            await asyncio.sleep(0)

    async with desk.slots.hold("http://d.test", "d.test", NORMAL):
        tasks = [asyncio.create_task(hop(number)) for number in range(3)]
        await desk.all_waiting(3)
        chains[2].raise_priority(HIGH)
        chains[1].raise_priority(IDLE)
    await asyncio.gather(*tasks)
    assert order == [2, 0, 1]
    assert [chain.priority for chain in chains] == [LOW, LOW, HIGH]
    for chain in chains[::2]:
        async with chain.hold(desk.slots):
            pass


# ---- on real sockets ----


@pytest.fixture
def desk_for(transport: CurlTransport) -> Callable[..., Desk]:
    def build(*sites: SiteServer, **options: Any) -> Desk:
        ports = {port for site in sites for port in (site.port, site.tls_port) if port}
        return Desk(transport, *ports, **options)

    return build


def urls_of(site: SiteServer, host: str, path: str, count: int) -> list[str]:
    return [f"http://{host}:{site.port}{path}{number}" for number in range(count)]


async def test_a_server_hears_high_after_six_and_four_of_500_low(desk_for: Callable[..., Desk]) -> None:
    gate = asyncio.Event()
    async with SiteServer(Route(path="/low/*", gate=gate), Route(path="/high", body="high")) as site:
        desk = desk_for(site)
        tasks = desk.ask_all(urls_of(site, "a.test", "/low/", 500), LOW)
        await desk.all_waiting(494)
        await site.wait_for_requests(6)
        high = desk.ask(f"http://a.test:{site.port}/high", HIGH)
        await desk.all_waiting(495)
        gate.set()
        assert (await high).body == b"high"
        assert [request.path for request in site.requests].index("/high") < 6 + 4
        await give_up(*tasks)
        assert (desk.slots.running, desk.slots.waiting, desk.slots.origins) == (0, 0, 0)


async def test_forty_that_stall_at_one_host_leave_another_unaffected(desk_for: Callable[..., Desk]) -> None:
    stalls = Route(path="/stall/*", body=(b"a beginning", Stall()), content_length=1000)
    async with SiteServer(stalls, Route(path="/quick/*", body="quick")) as site:
        desk = desk_for(site)
        tasks = desk.ask_all(urls_of(site, "a.test", "/stall/", 40))
        await desk.all_waiting(34)
        await site.wait_for_requests(6)
        quick = await asyncio.gather(*desk.ask_all(urls_of(site, "b.test", "/quick/", 40)))
        assert {fetched.body for fetched in quick} == {b"quick"}
        assert Counter(request.host for request in site.requests) == {"a.test": 6, "b.test": 40}
        await give_up(*tasks)
        assert (desk.slots.running, desk.slots.waiting, desk.slots.origins) == (0, 0, 0)


async def test_a_host_that_answers_429_is_asked_again_when_it_said(desk_for: Callable[..., Desk]) -> None:
    refusal = Route(path="/", status=429, headers=(("Retry-After", "30"),), then=(Route(path="/"),))
    async with SiteServer(refusal) as site:
        desk = desk_for(site)
        url = f"http://a.test:{site.port}/"
        assert (await desk.ask(url)).status == 429
        again = desk.ask(url)
        assert (await desk.ask(f"http://b.test:{site.port}/other")).status == 404
        await desk.all_waiting(1)
        assert site.hit_count("/") == 1
        desk.clock.advance(30)
        assert (await again).status == 200


async def test_a_radio_stream_is_refused_at_its_headers_and_its_slot_is_free(
    desk_for: Callable[..., Desk],
) -> None:
    async with SiteServer(
        Route(path="/radio", content_type="audio/mpeg", body=(Endless(),)), Route(path="/page", body="page")
    ) as site:
        desk = desk_for(site, origin_slots=1, global_slots=1)
        with pytest.raises(ContentRefused) as caught:
            await desk.ask(f"http://a.test:{site.port}/radio", accept_types={"text/html"}.__contains__)
        assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
        assert (await desk.ask(f"http://a.test:{site.port}/page")).body == b"page"


async def test_an_origin_that_has_answered_by_http2_is_asked_sixteen_at_a_time(
    desk_for: Callable[..., Desk], authority: Authority, ca_file: Path
) -> None:
    gate = asyncio.Event()
    tls = authority.server_context("a.test", protocols=("h2",))
    async with SiteServer(Route(path="/page/*", gate=gate), Route(path="/first"), tls=tls) as site:
        desk = desk_for(site, fetch={"trust_anchors": {"a.test": str(ca_file)}})
        origin = f"https://a.test:{site.tls_port}"
        tasks = desk.ask_all([f"{origin}/page/{number}" for number in range(40)])
        await desk.all_waiting(34)
        await site.wait_for_requests(6)
        first = desk.ask(f"{origin}/first", HIGH)
        await desk.all_waiting(35)
        tasks[0].cancel()  # a slot for the first answer
        assert (await first).protocol == "HTTP/2"
        await site.wait_for_requests(6 + 1 + 11)
        assert desk.slots.running == 16
        gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (desk.slots.running, desk.slots.origins) == (0, 0)
