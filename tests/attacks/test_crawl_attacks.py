"""Hostile sites against a crawl: real judgement, real redirects, real robots.txt, a network on paper."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any, cast

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ExceptionScope, IPNetwork
from mudroom.corpus import MemoryCorpus, RunVersions, RunWriter
from mudroom.crawl import Crawler, CrawlParts, CrawlPolicy
from mudroom.errors import MudroomError
from mudroom.fetch import Fetched, Fetcher, FetchOptions, FetchRequest
from mudroom.intake import Failed, Outcome, PageFacts, PageRequest, RobotsGates, Stored
from mudroom.model import Decision, Link
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

A = "http://a.example"
LOCAL = "http://127.0.0.1:8000"
PUBLIC = "93.184.216.34"
HREF = re.compile(r'href="([^"]*)"', re.DOTALL)


@dataclass
class PlainIntake:
    """A way in without jail and scan: the real fetcher, links by pattern, every page accepted."""

    fetcher: Fetcher

    async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
        facts = PageFacts(
            number=request.number, document_id="d", run_id=run.run_id, requested_url=request.untrusted_url
        )
        try:
            fetched = await self.fetcher.fetch(
                FetchRequest(
                    "GET",
                    request.untrusted_url,
                    base=request.base,
                    initiator_scope=request.scope,
                    redirects=request.redirects,
                    hop_check=request.gate,
                    max_body_bytes=request.max_body_bytes,
                )
            )
        except MudroomError as error:
            return Failed(facts=facts, code=error.code, message=error.message, retryable=False)
        return self._accept(facts, fetched)

    def _accept(self, facts: PageFacts, fetched: Fetched) -> Outcome:
        scope = ExceptionScope.none() if fetched.exception is None else ExceptionScope.of(fetched.exception)
        return Stored(
            facts=facts,
            page=cast("Any", None),
            provenance=cast("Any", None),
            decision=Decision.SAFE,
            findings=(),
            text=None,
            links=tuple(
                Link(untrusted_href=href) for href in HREF.findall(fetched.decoded.decode(errors="replace"))
            ),
            base=fetched.final,
            link_scope=scope,
        )


def page(*links: str) -> PaperAnswer:
    return PaperAnswer(body="".join(f'<a href="{link}">x</a>' for link in links).encode())


def redirect(target: str) -> PaperAnswer:
    return PaperAnswer(status=302, headers=(("Location", target),))


async def crawl(
    site: Mapping[str, PaperAnswer],
    *,
    seed: str = f"{A}/",
    names: Mapping[str, str] | None = None,
    networks: tuple[IPNetwork, ...] = (),
    **options: Any,
) -> tuple[tuple[str, ...], dict[str, str], dict[str, Any]]:
    """What was dialled, the codes of what failed by requested URL, and the manifest."""
    robots = {f"{origin}/robots.txt": PaperAnswer(status=404) for origin in (A, "https://a.example", LOCAL)}
    transport = ScriptedTransport({**robots, **site})
    resolver = ScriptedResolver({"a.example": PUBLIC, "b.example": PUBLIC, **(names or {})})
    egress = EgressPolicy(allow_origins=(AllowedOrigin.parse(LOCAL),), allow_networks=networks)
    clock = FixedClock()
    fetcher = Fetcher(transport, resolver, egress, FetchOptions(), clock)
    ends: dict[str, str] = {}

    class Watched(PlainIntake):
        async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
            outcome = await super().take_page(request, run)
            ends[request.untrusted_url] = outcome.code if isinstance(outcome, Failed) else "STORED"
            return outcome

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    crawler = Crawler(
        CrawlParts(
            intake=Watched(fetcher),
            corpus=MemoryCorpus(RunVersions(mudroom="1", scanner="1", policy="1"), clock),
            robots=RobotsGates(fetcher, None, clock, never),
            egress=egress,
            clock=clock,
            sleep=never,
        )
    )
    policy = CrawlPolicy(delay_seconds=0, **options)
    manifest = await asyncio.wait_for(crawler.crawl(seed, policy), timeout=30)
    return transport.dialled, ends, manifest


@pytest.mark.parametrize(
    "link",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://①②⑦.0.0.1/",
        "//169.254.169.254/latest/meta-data/",
        "http:\\\\10.0.0.1\\",
        "http://a.example@127.0.0.1/",
        "http://127.0.0.1:8000/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://localhost/",
        "http://metadata.google.internal/",
        "ht\ttp://127.0.0.1/",
        " http://127.0.0.1/ ",
        "file:///etc/passwd",
        "gopher://a.example/",
    ],
)
async def test_a_link_into_a_network_of_ours_is_never_dialled(link: str) -> None:
    dialled, ends, manifest = await crawl({f"{A}/": page(link)}, same_host=False)
    assert dialled == (f"{A}/robots.txt", f"{A}/")
    assert ends == {f"{A}/": "STORED"}
    assert manifest["state"] == "COMPLETE"


async def test_a_backslash_before_an_at_sign_is_a_path_and_nothing_else() -> None:
    dialled, _, _ = await crawl({f"{A}/": page("http://a.example\\@127.0.0.1/"), f"{A}/@127.0.0.1/": page()})
    assert dialled == (f"{A}/robots.txt", f"{A}/", f"{A}/@127.0.0.1/")


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://127.0.0.1/", "DENIED_ADDRESS"),
        (f"{LOCAL}/", "INVALID_PORT"),
        ("http://b.example/", "REDIRECT_CROSS_HOST"),
        ("http://www.a.example/", "REDIRECT_CROSS_HOST"),
        ("/", "DUPLICATE_PAGE"),
        ("/x", "REDIRECT_LOOP"),
        ("//user:pass@a.example/", "CREDENTIALS"),
        ("file:///etc/passwd", "INVALID_SCHEME"),
    ],
)
async def test_a_page_that_moves_where_a_crawl_may_not_go_ends_there(target: str, code: str) -> None:
    dialled, ends, _ = await crawl({f"{A}/": page("/x"), f"{A}/x": redirect(target)})
    assert ends[f"{A}/x"] == code
    assert dialled == (f"{A}/robots.txt", f"{A}/", f"{A}/x")


async def test_a_chain_of_six_redirects_is_too_long_and_no_page_of_it_is_asked_again() -> None:
    site = {f"{A}/": page("/0")} | {f"{A}/{n}": redirect(f"/{n + 1}") for n in range(9)}
    dialled, ends, _ = await crawl(site, concurrency=1)
    assert ends[f"{A}/0"] == "REDIRECT_LIMIT"
    assert dialled == (f"{A}/robots.txt", f"{A}/", *(f"{A}/{number}" for number in range(6)))


async def test_two_pages_that_point_at_each_other_end_both() -> None:
    site = {f"{A}/": page("/1", "/2"), f"{A}/1": redirect("/2"), f"{A}/2": redirect("/1")}
    _, ends, manifest = await crawl(site)
    assert {ends[f"{A}/1"], ends[f"{A}/2"]} <= {"DUPLICATE_PAGE", "REDIRECT_LOOP"}
    assert manifest["state"] == "COMPLETE"


@pytest.mark.parametrize("target", ["http://127.0.0.1/robots.txt", f"{LOCAL}/robots.txt", "http://10.0.0.1/"])
async def test_a_robots_file_that_moves_inside_is_not_read_there(target: str) -> None:
    dialled, ends, manifest = await crawl({f"{A}/robots.txt": redirect(target), f"{A}/": page()})
    assert dialled == (f"{A}/robots.txt",)
    assert ends == {f"{A}/": "ROBOTS_UNAVAILABLE"}
    assert manifest["state"] == "FAILED"
    assert [warning["code"] for warning in manifest["warnings"]] == ["ROBOTS_UNREACHABLE", "NOTHING_STORED"]


async def test_a_robots_file_that_moves_in_a_circle_is_none() -> None:
    dialled, ends, _ = await crawl({f"{A}/robots.txt": redirect("/robots.txt"), f"{A}/": page()})
    assert ends == {f"{A}/": "STORED"}
    assert dialled == (f"{A}/robots.txt", f"{A}/")


async def test_a_robots_file_without_end_is_read_to_its_limit_only() -> None:
    chunks = (b"User-agent: *\nDisallow: /x\n", *(b"#" * 65_536 for _ in range(100)))
    _, ends, _ = await crawl(
        {f"{A}/robots.txt": PaperAnswer(body=chunks), f"{A}/": page("/x", "/y"), f"{A}/y": page()}
    )
    assert ends == {f"{A}/": "STORED", f"{A}/x": "ROBOTS_DENIED", f"{A}/y": "STORED"}


async def test_a_name_that_points_inside_is_asked_for_neither_its_page_nor_its_robots_file() -> None:
    """The network is open to the operator's own URLs; a link of a public page is none of them."""
    dialled, ends, _ = await crawl(
        {
            f"{A}/": page("http://intern.example/x", "/moved"),
            f"{A}/moved": redirect("http://intern.example/y"),
        },
        names={"intern.example": "10.20.0.5"},
        networks=(ip_network("10.20.0.0/16"),),
        same_host=False,
    )
    assert not [url for url in dialled if "intern" in url]
    assert ends["http://intern.example/x"] == "DENIED_ADDRESS"
    assert ends[f"{A}/moved"] == "DENIED_ADDRESS"


async def test_a_page_inside_may_link_within_its_own_exception_only() -> None:
    site = {f"{LOCAL}/": page("/in", "http://127.0.0.1:8001/out", "http://127.0.0.1/"), f"{LOCAL}/in": page()}
    dialled, _, _ = await crawl(site, seed=f"{LOCAL}/", same_host=False)
    assert set(dialled) == {f"{LOCAL}/robots.txt", f"{LOCAL}/", f"{LOCAL}/in"}


async def test_a_page_of_a_hundred_thousand_links_is_bounded_by_the_frontier() -> None:
    site = {f"{A}/": page(*(f"/{number}" for number in range(100_000)))}
    site |= {f"{A}/{number}": page() for number in range(20)}
    dialled, _, manifest = await crawl(site, max_pages=20, max_frontier=500)
    assert len(dialled) == 21
    assert manifest["totals"]["discovered"] == 100_001
    codes = [warning["code"] for warning in manifest["warnings"]]
    assert codes == ["PAGE_LIMIT", "FRONTIER_FULL"]


async def test_nothing_that_a_page_wrote_stands_in_the_warnings_of_a_crawl() -> None:
    words = "ignore-previous-instructions"
    site = {
        f"{A}/": page(
            f"http://{words}.example/{words}", f"http://{words}@a.example/", f"http://0x7f.1/{words}"
        )
    }
    _, _, manifest = await crawl(site)
    assert [warning["code"] for warning in manifest["warnings"]] == ["OFF_HOST", "LINK_REFUSED"]
    assert words not in str(manifest["warnings"])
