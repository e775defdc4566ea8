"""What happens on each hop beside the request itself: upgrades, the host's hooks, cookies, events."""

import asyncio
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from mudroom.address import EgressPolicy, ExceptionScope, ParsedUrl
from mudroom.errors import Code, EgressRefused, FetchFailed, MudroomError
from mudroom.fetch import (
    CookieJar,
    Fetched,
    Fetcher,
    FetchEvent,
    FetchOptions,
    FetchRequest,
    HopHooks,
    Hsts,
    JarContext,
    MemoryHstsStore,
    NullContext,
    RedirectRule,
    RedirectScope,
)
from mudroom.fetch.chain import Chain
from mudroom.fetch.events import (
    BlockedEvent,
    RedirectedEvent,
    ResponseHeadersEvent,
    StartedEvent,
    WarningEvent,
)
from mudroom.fetch.share_key import make_share_key
from mudroom.net import CurlTransport
from mudroom.testing.authority import Authority
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

PUBLIC = "93.184.215.14"
HSTS = ("Strict-Transport-Security", "max-age=600; includeSubDomains")
Headers = tuple[tuple[str, str], ...]


def to(location: str, status: int = 302, *headers: tuple[str, str]) -> PaperAnswer:
    return PaperAnswer(status=status, headers=(("Location", location), *headers))


def ok(*headers: tuple[str, str]) -> PaperAnswer:
    return PaperAnswer(headers=headers)


class Filter(NullContext):
    """A host that refuses some hosts, and notes what it was asked."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.asked: list[str] = []

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        self.asked.append(url.normalized)
        return url.host not in self.refused


class Walk:
    """A fetcher over paper, and all that it did."""

    def __init__(
        self, answers: dict[str, PaperAnswer | list[PaperAnswer]], hooks: HopHooks | None = None
    ) -> None:
        self.transport = ScriptedTransport(answers)
        hosts = {url.split("/")[2].partition(":")[0] for url in answers}
        self.resolver = ScriptedResolver(dict.fromkeys(hosts, PUBLIC))
        self.clock = FixedClock()
        self.hsts = Hsts(MemoryHstsStore(), self.clock)
        self.events: list[FetchEvent] = []
        self.fetcher = Fetcher(
            self.transport,
            self.resolver,
            EgressPolicy(ports=frozenset({80, 443, 8080})),
            FetchOptions(),
            self.clock,
            hooks=hooks,
            hsts=self.hsts,
        )

    def tell(self, event: FetchEvent) -> None:
        self.events.append(event)

    async def fetch(self, url: str, method: str = "GET", **settings: Any) -> Fetched:
        return await self.fetcher.fetch(FetchRequest(method, url, **settings), listener=self)

    async def fail(self, url: str, **settings: Any) -> MudroomError:
        with pytest.raises(MudroomError) as caught:
            await self.fetch(url, **settings)
        return caught.value

    def sent(self, name: str) -> list[str | None]:
        """What each request said in a field."""
        found = [[value for key, value in dial.headers if key == name] for dial in self.transport.dials]
        return [values[0] if values else None for values in found]


# ---- HSTS ----


async def test_a_host_that_asked_for_https_is_asked_over_https_only() -> None:
    walk = Walk({"https://site.test/": ok(HSTS), "https://site.test/b?c": ok()})
    await walk.fetch("https://site.test/")
    fetched = await walk.fetch("http://site.test/b?c")
    assert (fetched.requested_url, fetched.final.normalized) == (
        "http://site.test/b?c",
        "https://site.test/b?c",
    )
    first, second = fetched.hops
    assert (first.url, first.address, first.status, first.protocol) == (
        "http://site.test/b?c",
        "",
        307,
        "HSTS",
    )
    assert (second.url, second.address, second.status) == ("https://site.test/b?c", PUBLIC, 200)
    assert RedirectedEvent("http://site.test/b?c", "https://site.test/b?c", 307) in walk.events


async def test_the_upgrade_keeps_method_body_and_every_header() -> None:
    walk = Walk({"https://site.test/": ok(HSTS)})
    await walk.fetch("https://site.test/")
    await walk.fetch("http://site.test/", "POST", body=b"x", headers=(("Authorization", "secret"),))
    last = walk.transport.dials[-1]
    assert (last.url.href, last.method, last.body) == ("https://site.test/", "POST", b"x")
    assert walk.sent("Authorization")[-1] == "secret"


async def test_a_redirect_teaches_and_is_upgraded_on_its_way() -> None:
    walk = Walk(
        {
            "https://site.test/": to("http://a.site.test/next", 301, HSTS),
            "https://a.site.test/next": ok(),
        }
    )
    fetched = await walk.fetch("https://site.test/")
    assert [(hop.url, hop.status, hop.protocol) for hop in fetched.hops] == [
        ("https://site.test/", 301, "HTTP/1.1"),
        ("http://a.site.test/next", 307, "HSTS"),
        ("https://a.site.test/next", 200, "HTTP/1.1"),
    ]
    assert walk.transport.dialled == ("https://site.test/", "https://a.site.test/next")
    assert [event for event in walk.events if isinstance(event, RedirectedEvent)] == [
        RedirectedEvent("https://site.test/", "http://a.site.test/next", 301),
        RedirectedEvent("http://a.site.test/next", "https://a.site.test/next", 307),
    ]


async def test_https_to_a_host_that_did_not_ask_is_still_no_way_to_http() -> None:
    walk = Walk({"https://site.test/": to("http://other.test/"), "http://other.test/": ok()})
    assert (await walk.fail("https://site.test/")).code is Code.REDIRECT_DOWNGRADE
    assert walk.transport.dialled == ("https://site.test/",)


async def test_an_answer_over_http_teaches_nothing_and_a_void_one_is_told() -> None:
    walk = Walk({"http://site.test/": ok(HSTS), "https://site.test/": ok((HSTS[0], "max-age"))})
    for _ in range(2):
        assert len((await walk.fetch("http://site.test/")).hops) == 1
    await walk.fetch("https://site.test/")
    assert [type(event) for event in walk.events].count(WarningEvent) == 1


async def test_an_upgrade_stays_in_its_partition() -> None:
    walk = Walk({"https://site.test/": ok(HSTS), "http://site.test/": ok()})
    await walk.fetch("https://site.test/", partition="one")
    assert (await walk.fetch("http://site.test/", partition="two")).final.scheme == "http"
    assert (await walk.fetch("http://site.test/", partition="one")).final.scheme == "https"


async def test_a_redirect_back_to_what_is_upgraded_is_a_circle() -> None:
    walk = Walk({"https://site.test/": to("http://site.test/", 302, HSTS)})
    error = await walk.fail("https://site.test/")
    assert error.code is Code.REDIRECT_LOOP
    assert [hop.protocol for hop in error.hops] == ["HTTP/1.1", "HSTS"]


@pytest.mark.parametrize(("max_hops", "is_reached"), [(3, True), (2, False), (1, False)])
async def test_upgrades_count_to_the_limit_of_redirects(max_hops: int, is_reached: bool) -> None:
    walk = Walk({"https://site.test/": to("http://site.test/b", 302, HSTS), "https://site.test/b": ok()})
    await walk.fail("https://site.test/", redirects=RedirectRule(max_hops=0))  # armed now
    rule = RedirectRule(max_hops=max_hops)
    if is_reached:
        assert len((await walk.fetch("http://site.test/", redirects=rule)).hops) == 4
    else:
        assert (await walk.fail("http://site.test/", redirects=rule)).code is Code.REDIRECT_LIMIT


async def test_who_follows_no_redirect_is_still_upgraded() -> None:
    walk = Walk({"https://site.test/": ok(HSTS)})
    await walk.fetch("https://site.test/")
    fetched = await walk.fetch("http://site.test/", redirects=RedirectRule(max_hops=0))
    assert fetched.final.scheme == "https"


async def test_an_upgrade_stays_on_the_same_host() -> None:
    walk = Walk({"https://site.test/": ok(HSTS), "https://site.test:8080/": ok()})
    await walk.fetch("https://site.test/")
    for url in ("http://site.test/", "http://site.test:8080/"):
        await walk.fetch(url, redirects=RedirectRule(scope=RedirectScope.SAME_HOST))
    assert walk.transport.dialled[1:] == ("https://site.test/", "https://site.test:8080/")


async def test_an_upgrade_to_a_closed_port_is_refused_and_nothing_is_dialled() -> None:
    walk = Walk({"https://site.test/": ok(HSTS)})
    await walk.fetch("https://site.test/")
    policy = EgressPolicy(ports=frozenset({80}))
    fetcher = Fetcher(walk.transport, walk.resolver, policy, FetchOptions(), walk.clock, hsts=walk.hsts)
    with pytest.raises(EgressRefused) as caught:
        await fetcher.fetch(FetchRequest("GET", "http://site.test/"))
    assert (caught.value.code, caught.value.hops) == (Code.INVALID_PORT, ())
    assert len(walk.transport.dials) == 1


async def test_both_spellings_of_an_armed_host_are_one_url() -> None:
    walk = Walk({"https://site.test/": ok(HSTS)})
    await walk.fetch("https://site.test/")
    for url in ("http://site.test/", "https://site.test/"):
        await walk.fetch(url)
    assert walk.transport.dialled == ("https://site.test/",) * 3


async def test_requests_for_both_spellings_of_an_armed_host_may_share_one_answer() -> None:
    walk = Walk({"https://site.test/": ok(HSTS)})
    keys = []
    for _ in range(2):
        for url in ("http://site.test/#a", "https://site.test/#b"):
            request = FetchRequest("GET", url)
            keys.append(make_share_key(request, Chain(request, EgressPolicy(), None, walk.hsts)))
        await walk.fetch("https://site.test/")
    before, after = keys[:2], keys[2:]
    assert before[0] != before[1]
    assert after[0] is not None
    assert (after[0].url, after[0]._replace(policy=0)) == ("https://site.test/", after[1]._replace(policy=0))  # type: ignore[union-attr] - a key like the first


async def test_two_who_ask_in_both_spellings_at_once_share_one_request() -> None:
    gate = asyncio.Event()
    held = PaperAnswer(headers=(HSTS,), body=b"one", gate=gate)
    walk = Walk({"https://site.test/": [ok(HSTS), held]})
    await walk.fetch("https://site.test/")
    asked = [
        asyncio.ensure_future(walk.fetcher.submit(FetchRequest("GET", url)))
        for url in ("http://site.test/", "https://site.test/", "http://site.test/#a")
    ]
    for _ in range(20):
        await asyncio.sleep(0)
    gate.set()
    assert [(await one).body for one in asked] == [b"one"] * 3
    assert len(walk.transport.dials) == 2


async def test_over_real_sockets_an_armed_host_gets_no_plain_request(
    authority: Authority, ca_file: Path
) -> None:
    tls = authority.server_context("site.test")
    async with SiteServer(Route(path="/", headers=(HSTS,)), tls=tls) as site:
        policy = EgressPolicy(
            ports=frozenset({80, 443, site.tls_port}), allow_networks=(ip_network("127.0.0.0/8"),)
        )
        transport, clock = CurlTransport(environ={}), FixedClock()
        fetcher = Fetcher(
            transport,
            ScriptedResolver({"site.test": "127.0.0.1"}),
            policy,
            FetchOptions(trust_anchors={"site.test": str(ca_file)}),
            clock,
            hsts=Hsts(MemoryHstsStore(), clock),
        )
        for scheme in ("https", "http"):
            url = f"{scheme}://site.test:{site.tls_port}/"
            await fetcher.fetch(FetchRequest("GET", url, initiator_scope=ExceptionScope.operator()))
        await transport.aclose()
        assert [request.is_tls for request in site.requests] == [True, True]


async def test_an_exception_for_an_address_is_never_upgraded(fetcher_for: Callable[..., Fetcher]) -> None:
    async with SiteServer(Route(path="/", headers=(HSTS,))) as site:
        request = FetchRequest("GET", site.url("/"), initiator_scope=ExceptionScope.operator())
        for _ in range(2):
            assert (await fetcher_for(site).fetch(request)).final.scheme == "http"


# ---- the host's filter ----


async def test_a_url_that_the_host_refuses_costs_no_look_up_and_no_request() -> None:
    hooks = Filter("bad.test")
    walk = Walk({"http://bad.test/": ok()}, hooks)
    error = await walk.fail("http://bad.test/")
    assert (error.code, error.hops) == (Code.POLICY_VIOLATION, ())
    assert (walk.transport.dials, walk.resolver.lookups) == ([], [])
    assert walk.events == [BlockedEvent(host="bad.test", code=Code.POLICY_VIOLATION)]


async def test_the_host_is_asked_about_every_hop_as_it_would_be_sent() -> None:
    hooks = Filter("bad.test")
    walk = Walk(
        {
            "https://site.test/": to("http://site.test/b", 302, HSTS),
            "https://site.test/b": to("http://site.test/c", 302),
            "https://site.test/c": to("https://bad.test/"),
            "https://bad.test/": ok(),
        },
        hooks,
    )
    error = await walk.fail("https://site.test/")
    assert error.code is Code.POLICY_VIOLATION
    assert hooks.asked == [
        "https://site.test/",
        "https://site.test/b",
        "https://site.test/c",
        "https://bad.test/",
    ]
    assert walk.resolver.count("bad.test") == 0
    assert [hop.url for hop in error.hops if hop.address] == hooks.asked[:-1]
    assert walk.events[-1] == BlockedEvent(host="bad.test", code=Code.POLICY_VIOLATION)


async def test_a_hook_that_raises_leaves_nothing_open() -> None:
    class Broken(NullContext):
        def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
            raise FetchFailed(Code.INTERNAL_ERROR, f"{url.host}, {partition}: {len(set_cookie)} cookies")

    walk = Walk({"http://site.test/": ok(("Set-Cookie", "a=1"))}, Broken())
    assert (await walk.fail("http://site.test/")).code is Code.INTERNAL_ERROR
    assert walk.transport.open_exchanges == 0


# ---- cookies ----


def jar_walk(answers: dict[str, PaperAnswer | list[PaperAnswer]]) -> Walk:
    return Walk(answers, JarContext(CookieJar(FixedClock())))


async def test_without_a_jar_nothing_is_remembered() -> None:
    for hooks in (None, NullContext()):
        walk = Walk({"http://site.test/": ok(("Set-Cookie", "a=1"))}, hooks)
        await walk.fetch("http://site.test/")
        await walk.fetch("http://site.test/")
        assert walk.sent("Cookie") == [None, None]


async def test_what_a_redirect_sets_is_used_on_the_next_hop() -> None:
    walk = jar_walk(
        {
            "http://site.test/": to("/next", 302, ("Set-Cookie", "a=new"), ("Set-Cookie", "b=2")),
            "http://site.test/next": ok(),
        }
    )
    fetched = await walk.fetch("http://site.test/")
    assert walk.sent("Cookie") == [None, "a=new; b=2"]
    assert ("Cookie", "a=new; b=2") in fetched.sent_headers


async def test_what_a_redirect_sets_wins_over_what_the_caller_sent_himself() -> None:
    walk = jar_walk(
        {
            "http://site.test/": to("/next", 302, ("Set-Cookie", "a=new")),
            "http://site.test/next": to("/end"),
            "http://site.test/end": ok(),
        }
    )
    await walk.fetch("http://site.test/", headers=(("Cookie", "a=old; mine=1"),))
    assert walk.sent("Cookie") == ["a=old; mine=1", "mine=1; a=new", "mine=1; a=new"]


async def test_a_cookie_that_a_redirect_takes_back_is_sent_no_more() -> None:
    walk = jar_walk(
        {
            "http://site.test/": to("/next", 302, ("Set-Cookie", "a=; Max-Age=0")),
            "http://site.test/next": ok(),
        }
    )
    await walk.fetch("http://site.test/", headers=(("Cookie", "a=old"),))
    assert walk.sent("Cookie") == ["a=old", None]


async def test_the_jar_is_not_asked_where_the_caller_sent_his_own() -> None:
    walk = jar_walk({"http://site.test/": ok(("Set-Cookie", "a=1"))})
    await walk.fetch("http://site.test/")
    await walk.fetch("http://site.test/", headers=(("cookie", "mine=1"),))
    assert walk.sent("Cookie") == [None, None]
    assert walk.sent("cookie") == [None, "mine=1"]


@pytest.mark.parametrize(
    "target", ["http://other.test/", "http://site.test:8080/", "https://site.test/", "http://a.site.test/"]
)
async def test_on_a_change_of_origin_cookies_stay_behind_and_the_jar_is_asked_anew(target: str) -> None:
    walk = jar_walk({"http://site.test/": to(target), target: [ok(("Set-Cookie", "there=1")), ok()]})
    await walk.fetch(target)
    await walk.fetch("http://site.test/", headers=(("Cookie", "mine=1"),))
    assert walk.sent("Cookie") == [None, "mine=1", "there=1"]


async def test_a_cookie_of_one_site_goes_to_no_other_whatever_its_name() -> None:
    others = ("http://site.test.evil.test/", "http://notsite.test/", "http://test/")
    walk = jar_walk(
        {"http://site.test/": ok(("Set-Cookie", "a=1; Domain=site.test")), **dict.fromkeys(others, ok())}
    )
    await walk.fetch("http://site.test/")
    for url in others[:2]:
        await walk.fetch(url)
    assert walk.sent("Cookie") == [None] * 3


async def test_partitions_do_not_share_cookies() -> None:
    walk = jar_walk({"http://site.test/": ok(("Set-Cookie", "a=1"))})
    for partition in ("one", "two", "one"):
        await walk.fetch("http://site.test/", partition=partition)
    assert walk.sent("Cookie") == [None, None, "a=1"]


# ---- events ----


async def test_a_fetch_tells_of_its_hops_and_its_headers() -> None:
    walk = Walk({"http://site.test/": to("/b#c", 307), "http://site.test/b#c": ok(("X-A", "1"))})
    await walk.fetch("http://site.test/")
    first, redirected, second, answered = walk.events
    assert (first, second) == (StartedEvent("http://site.test/"), StartedEvent("http://site.test/b"))
    assert redirected == RedirectedEvent("http://site.test/", "http://site.test/b", 307)
    assert isinstance(answered, ResponseHeadersEvent)
    assert (answered.url, answered.status) == ("http://site.test/b", 200)
    assert ("X-A", "1") in answered.headers


BLOCKS: list[tuple[str, str, PaperAnswer | None, str, Code]] = [
    ("a denied name", "http://localhost/", None, "localhost", Code.DENIED_HOST),
    ("a denied literal", "http://10.0.0.1/", None, "10.0.0.1", Code.DENIED_ADDRESS),
    ("a denied address", "http://inside.test/", None, "inside.test", Code.DENIED_ADDRESS),
    (
        "a target inside",
        "http://site.test/",
        to("http://169.254.169.254/"),
        "169.254.169.254",
        Code.DENIED_ADDRESS,
    ),
    ("a downgrade", "https://site.test/", to("http://other.test/"), "other.test", Code.REDIRECT_DOWNGRADE),
    ("a circle", "http://site.test/", to("/"), "site.test", Code.REDIRECT_LOOP),
    ("no target", "http://site.test/", PaperAnswer(status=302), "site.test", Code.REDIRECT_INVALID),
]


@pytest.mark.parametrize(
    ("url", "answer", "host", "code"), [row[1:] for row in BLOCKS], ids=[row[0] for row in BLOCKS]
)
async def test_a_refusal_is_told_with_its_host(
    url: str, answer: PaperAnswer | None, host: str, code: Code
) -> None:
    walk = Walk({} if answer is None else {url: answer})
    walk.resolver.set_answers("inside.test", "10.0.0.1")
    assert (await walk.fail(url)).code is code
    assert walk.events[-1] == BlockedEvent(host=host, code=code)


async def test_a_failure_of_the_network_is_no_refusal() -> None:
    walk = Walk({"http://site.test/": PaperAnswer(failure=FetchFailed(Code.CONNECTION_LOST, "gone"))})
    await walk.fail("http://site.test/")
    assert walk.events == [StartedEvent("http://site.test/")]
