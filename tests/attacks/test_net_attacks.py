"""Attacks on the way to the network: each ends typed, and nothing refused is ever dialled."""

import asyncio
import threading
from ipaddress import ip_address, ip_network

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ExceptionScope
from mudroom.errors import Code, EgressRefused, MudroomError
from mudroom.fetch import Fetcher, FetchOptions, FetchRequest
from mudroom.net import CurlTransport, SystemResolver
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

PUBLIC = "93.184.215.14"


def build(
    transport: ScriptedTransport, resolver: ScriptedResolver, policy: EgressPolicy | None = None
) -> Fetcher:
    return Fetcher(transport, resolver, policy or EgressPolicy(), FetchOptions(), FixedClock())


async def refused(fetcher: Fetcher, url: str, scope: ExceptionScope | None = None) -> MudroomError:
    request = FetchRequest("GET", url, initiator_scope=scope or ExceptionScope.operator())
    with pytest.raises(EgressRefused) as caught:
        await fetcher.fetch(request)
    return caught.value


LITERALS = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.5",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2001::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", LITERALS)
async def test_a_refused_address_is_dialled_in_no_way_that_leads_to_it(address: str) -> None:
    """As a literal, as an answer, as one answer of two, and as the target of a redirect."""
    host = f"[{address}]" if ":" in address else address
    transport = ScriptedTransport(
        {"http://good.test/": PaperAnswer(status=302, headers=(("Location", f"http://{host}/"),))}
    )
    resolver = ScriptedResolver(
        {"good.test": PUBLIC, "bad.test": address, "half.test": f"{PUBLIC} {address}"}
    )
    fetcher = build(transport, resolver)
    for url in (f"http://{host}/", "http://bad.test/", "http://half.test/"):
        assert (await refused(fetcher, url)).code is Code.DENIED_ADDRESS
    assert transport.dialled == ()
    assert (await refused(fetcher, "http://good.test/")).code is Code.DENIED_ADDRESS
    assert transport.dialled == ("http://good.test/",)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://①②⑦.0.0.1/",
        "http://user:pass@good.test/",
        "ftp://good.test/",
        "http://good.test:8443/",
        "http://good.test:443/",
        "http://metadata.google.internal/",
        "http://localhost/",
    ],
)
async def test_a_url_in_disguise_costs_no_look_up_and_no_dial(url: str) -> None:
    transport, resolver = ScriptedTransport(), ScriptedResolver({"good.test": PUBLIC})
    await refused(build(transport, resolver), url)
    assert transport.dialled == ()
    assert resolver.lookups == []


async def test_a_backslash_leads_where_a_browser_would_go_and_nowhere_else() -> None:
    transport = ScriptedTransport({"http://good.test/@127.0.0.1/": PaperAnswer()})
    fetcher = build(transport, ScriptedResolver({"good.test": PUBLIC}))
    await fetcher.fetch(FetchRequest("GET", "http://good.test\\@127.0.0.1/"))
    assert [dial.addresses for dial in transport.dials] == [(ip_address(PUBLIC),)]


async def test_a_name_that_turns_inward_after_the_first_look_up_is_dialled_at_the_first_answer() -> None:
    transport = ScriptedTransport({"http://turns.test/": PaperAnswer(body=b"ok")})
    resolver = ScriptedResolver({"turns.test": [PUBLIC, "127.0.0.1"]})
    fetcher = build(transport, resolver)
    await fetcher.fetch(FetchRequest("GET", "http://turns.test/"))
    [dial] = transport.dials
    assert dial.addresses == (ip_address(PUBLIC),)
    assert resolver.count("turns.test") == 1


async def test_a_remembered_verdict_is_not_lent_to_another_scope() -> None:
    """The operator's look-up passes through an exception; the same answer for a page's link must not."""
    policy = EgressPolicy(allow_networks=(ip_network("10.0.0.0/8"),))
    transport = ScriptedTransport({"http://inside.test/": PaperAnswer()})
    fetcher = build(transport, ScriptedResolver({"inside.test": "10.0.0.1"}), policy)
    await fetcher.fetch(FetchRequest("GET", "http://inside.test/", initiator_scope=ExceptionScope.operator()))
    error = await refused(fetcher, "http://inside.test/", ExceptionScope.none())
    assert error.code is Code.DENIED_ADDRESS
    assert len(transport.dials) == 1


async def test_a_public_page_that_leads_into_an_allowed_network_is_refused() -> None:
    policy = EgressPolicy(allow_networks=(ip_network("10.0.0.0/8"),))
    redirect = PaperAnswer(status=302, headers=(("Location", "http://inside.test/"),))
    transport = ScriptedTransport({"http://good.test/": redirect})
    resolver = ScriptedResolver({"good.test": PUBLIC, "inside.test": "10.0.0.1"})
    fetcher = build(transport, resolver, policy)
    assert (await refused(fetcher, "http://good.test/")).code is Code.DENIED_ADDRESS
    assert transport.dialled == ("http://good.test/",)


async def test_a_found_nat64_prefix_is_judged_by_what_it_carries() -> None:
    policy = EgressPolicy(nat64_prefixes=(ip_network("2001:67c:27e4:64::/96"),))
    resolver = ScriptedResolver(
        {"in.test": "2001:67c:27e4:64::a00:1", "out.test": "2001:67c:27e4:64::5db8:d70e"}
    )
    transport = ScriptedTransport({"http://out.test/": PaperAnswer()})
    fetcher = build(transport, resolver, policy)
    assert (await refused(fetcher, "http://in.test/")).code is Code.DENIED_ADDRESS
    assert (await fetcher.fetch(FetchRequest("GET", "http://out.test/"))).status == 200


@pytest.mark.parametrize("location", ["http://evil.test/", "https://evil.test/", "//evil.test/x"])
async def test_credentials_in_headers_do_not_leave_the_origin(location: str) -> None:
    answers = {
        "http://good.test/": PaperAnswer(status=307, headers=(("Location", location),)),
        "http://evil.test/": PaperAnswer(),
        "http://evil.test/x": PaperAnswer(),
        "https://evil.test/": PaperAnswer(),
    }
    transport = ScriptedTransport(answers)
    fetcher = build(transport, ScriptedResolver({"good.test": PUBLIC, "evil.test": PUBLIC}))
    headers = (("Authorization", "x"), ("Cookie", "x"), ("X-Api-Key", "x"), ("Proxy-Token", "x"))
    await fetcher.fetch(FetchRequest("GET", "http://good.test/", headers=headers))
    sent, abroad = (dict(dial.headers) for dial in transport.dials)
    assert {name for name, _ in headers} <= sent.keys()
    assert not {name for name, _ in headers} & abroad.keys()


@pytest.mark.parametrize(
    "header",
    [("X-A", "a\r\nHost: evil.test"), ("Host", "evil.test"), ("X-A\r\nHost", "evil.test"), ("X", "a\0")],
)
async def test_a_header_that_would_smuggle_costs_no_connection(header: tuple[str, str]) -> None:
    transport, resolver = ScriptedTransport(), ScriptedResolver({"good.test": PUBLIC})
    with pytest.raises(MudroomError) as caught:
        await build(transport, resolver).fetch(FetchRequest("GET", "http://good.test/", headers=(header,)))
    assert caught.value.code is Code.INVALID_HEADER
    assert (transport.dialled, resolver.lookups) == ((), [])


async def test_slow_names_do_not_keep_other_hosts_waiting() -> None:
    release = threading.Event()
    started = threading.Semaphore(0)

    def lookup(name: str) -> list[str]:
        started.release()
        if name.startswith("slow"):
            release.wait(timeout=30)
        return [PUBLIC]

    resolver = SystemResolver(lookup=lookup)
    transport = ScriptedTransport({"http://quick.test/": PaperAnswer(body=b"ok")})
    fetcher = Fetcher(transport, resolver, EgressPolicy(), FetchOptions(), FixedClock())
    stuck = [
        asyncio.create_task(fetcher.fetch(FetchRequest("GET", f"http://slow{number}.test/")))
        for number in range(200)
    ]
    for _ in range(200):
        await asyncio.to_thread(started.acquire, timeout=10)
    assert (await fetcher.fetch(FetchRequest("GET", "http://quick.test/"))).body == b"ok"
    assert not any(task.done() for task in stuck)
    for task in stuck:
        task.cancel()
    release.set()
    await asyncio.gather(*stuck, return_exceptions=True)
    resolver.close()


async def test_an_alternative_service_is_never_dialled() -> None:
    async with SiteServer() as elsewhere, SiteServer() as site:
        service = f'h2="127.0.0.1:{elsewhere.port}"; ma=86400, http/1.1="127.0.0.1:{elsewhere.port}"'
        site.add(Route(path="/", headers=(("Alt-Svc", service),), body="ok"))
        transport = CurlTransport(environ={})
        policy = EgressPolicy(allow_origins=(AllowedOrigin.parse(site.origin),))
        fetcher = Fetcher(transport, ScriptedResolver(), policy, FetchOptions(), FixedClock())
        request = FetchRequest("GET", site.url("/"), initiator_scope=ExceptionScope.operator())
        for _ in range(3):
            assert (await fetcher.fetch(request)).body == b"ok"
        assert elsewhere.total_connections == 0
        await transport.aclose()


async def test_no_message_holds_what_a_url_may_hide() -> None:
    secret = "tok3n"
    transport = ScriptedTransport()
    resolver = ScriptedResolver({"in.test": "10.0.0.1"})
    fetcher = build(transport, resolver)
    for url in (
        f"http://10.0.0.1/{secret}?a={secret}#{secret}",
        f"http://in.test/{secret}?a={secret}",
        f"http://{secret}:{secret}@good.test/",
        f"http://good.test:8080/{secret}",
        f"ftp://good.test/{secret}",
    ):
        assert secret not in (await refused(fetcher, url)).message
