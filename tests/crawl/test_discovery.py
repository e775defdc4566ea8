"""Discovery by sitemaps: real robots.txt, real fetcher, real reader, a network on paper, pages without a jail."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ExceptionScope
from mudroom.corpus import MemoryCorpus, RunVersions, RunWriter
from mudroom.crawl import CancelToken, Crawler, CrawlParts, CrawlPolicy, CrawlScope, Discovery, RobotsMode
from mudroom.errors import Code, FetchFailed, GuestFailed, MudroomError
from mudroom.fetch import Fetched, Fetcher, FetchOptions, FetchRequest
from mudroom.intake import Blocked, Failed, Outcome, PageFacts, PageRequest, RobotsGates, Sitemaps, Stored
from mudroom.model import CrawlState, Decision, Link, SitemapReading
from mudroom.snapshot import MemorySnapshotStore, SourceKind
from mudroom.testing.clocks import FixedClock
from mudroom.testing.guests import ScriptedGuests
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.transports import PaperAnswer, ScriptedTransport

A = "http://a.example"
LOCAL, OTHER_LOCAL = "http://127.0.0.1:8000", "http://127.0.0.1:9000"
PUBLIC = "93.184.216.34"
HREF = re.compile(r'href="([^"]*)"')
MISSING = PaperAnswer(status=404)


def page(*links: str) -> PaperAnswer:
    return PaperAnswer(body="".join(f'<a href="{link}">x</a>' for link in links).encode())


def sitemap(*locations: str, root: str = "urlset", entry: str = "url", **more: Any) -> PaperAnswer:
    body = "".join(f"<{entry}><loc>{location}</loc></{entry}>" for location in locations)
    return PaperAnswer(content_type="application/xml", body=f"<{root}>{body}</{root}>".encode(), **more)


def index(*locations: str) -> PaperAnswer:
    return sitemap(*locations, root="sitemapindex", entry="sitemap")


def robots(*lines: str) -> PaperAnswer:
    return PaperAnswer(content_type="text/plain", body="\n".join(lines).encode())


Site = Mapping[str, PaperAnswer | Sequence[PaperAnswer]]


@dataclass
class Bench:
    """A crawl whose every request is scripted; one that is not shows as UNEXPECTED_ERROR."""

    sitemaps: Sequence[SitemapReading | MudroomError] = ()
    fails: Mapping[str, Code] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.transport = ScriptedTransport()
        self.archive = MemorySnapshotStore()
        self.clock = FixedClock()
        self.guests = ScriptedGuests(sitemaps=self.sitemaps)
        self.outcomes: list[Outcome] = []

    async def take_page(self, request: PageRequest, run: RunWriter) -> Outcome:
        outcome = await self._take(request, run)
        self.outcomes.append(outcome)
        return outcome

    async def _take(self, request: PageRequest, run: RunWriter) -> Outcome:
        facts = PageFacts(
            number=request.number,
            document_id="d",
            run_id=run.run_id,
            requested_url=request.untrusted_url,
            depth=request.depth,
        )
        if request.untrusted_url in self.fails:
            return Blocked(facts=facts, code=self.fails[request.untrusted_url], message="withheld")
        fetch = FetchRequest(
            "GET",
            request.untrusted_url,
            initiator_scope=request.scope,
            redirects=request.redirects,
            hop_check=request.gate,
        )
        try:
            fetched = await self.fetcher.fetch(fetch)
        except MudroomError as error:
            return Failed(facts=facts, code=error.code, message=error.message, retryable=False)
        return self._accept(facts, fetched)

    def _accept(self, facts: PageFacts, fetched: Fetched) -> Stored:
        scope = ExceptionScope.none() if fetched.exception is None else ExceptionScope.of(fetched.exception)
        changes = {"final_url": fetched.final.href, "hops": fetched.hops, "wire_bytes": fetched.wire_bytes}
        hrefs = HREF.findall(fetched.decoded.decode())
        return Stored(
            facts=PageFacts(
                number=facts.number,
                document_id="d",
                run_id=facts.run_id,
                requested_url=facts.requested_url,
                depth=facts.depth,
                **cast("Any", changes),
            ),
            page=cast("Any", None),
            provenance=cast("Any", None),
            decision=Decision.SAFE,
            findings=(),
            text=None,
            links=tuple(Link(untrusted_href=href) for href in hrefs),
            base=fetched.final,
            link_scope=scope,
        )

    async def _sleep(self, seconds: float) -> None:
        if seconds > 600:  # the crawl's deadline
            await asyncio.Event().wait()
        self.waits.append(seconds)
        self.clock.advance(seconds)

    async def crawl(
        self, site: Site, *, seed: str = f"{A}/", cancel: CancelToken | None = None, **options: Any
    ) -> dict[str, Any]:
        for url, answer in (
            {f"{A}/robots.txt": MISSING, f"{LOCAL}/robots.txt": MISSING} | dict(site)
        ).items():
            self.transport.set_answers(url, answer)
        egress = EgressPolicy(allow_origins=tuple(AllowedOrigin.parse(text) for text in (LOCAL, OTHER_LOCAL)))
        resolver = ScriptedResolver(dict.fromkeys(("a.example", "www.a.example", "b.example"), PUBLIC))
        self.fetcher = Fetcher(self.transport, resolver, egress, FetchOptions(), self.clock)
        parts = CrawlParts(
            intake=self,
            corpus=MemoryCorpus(RunVersions(mudroom="1", scanner="1", policy="1"), self.clock),
            robots=RobotsGates(self.fetcher, None, self.clock, self._sleep),
            egress=egress,
            clock=self.clock,
            sleep=self._sleep,
            sitemaps=Sitemaps(self.fetcher, self.guests, self.archive, self.clock),
        )
        policy = CrawlPolicy(**{"delay_seconds": 0, "concurrency": 1} | options)
        return await asyncio.wait_for(Crawler(parts).crawl(seed, policy, cancel=cancel), timeout=20)

    @property
    def asked(self) -> list[str]:
        """What was dialled, without the robots.txt files."""
        return [url.removeprefix(A) for url in self.transport.dialled if not url.endswith("/robots.txt")]


def told(manifest: dict[str, Any]) -> dict[str, str]:
    return {warning["code"]: warning["message"] for warning in manifest["warnings"]}


BOTH = {
    f"{A}/": page("/shared", "/link"),
    f"{A}/sitemap.xml": sitemap(f"{A}/shared", f"{A}/map", f"{A}/"),
    f"{A}/shared": page(),
    f"{A}/map": page(),
    f"{A}/link": page(),
}


@pytest.mark.parametrize(
    ("discovery", "expected"),
    [
        (Discovery.BOTH, ["/", "/sitemap.xml", "/shared", "/map", "/link"]),
        (Discovery.SITEMAP, ["/", "/sitemap.xml", "/shared", "/map"]),
        (Discovery.LINKS, ["/", "/shared", "/link"]),
    ],
)
async def test_pages_come_from_sitemaps_first_and_then_from_links(
    discovery: Discovery, expected: list[str]
) -> None:
    bench = Bench()
    manifest = await bench.crawl(BOTH, discovery=discovery)
    assert bench.asked == expected
    assert manifest["state"] == CrawlState.COMPLETE
    assert manifest["warnings"] == []
    assert manifest["totals"]["discovered"] == len([url for url in expected if "sitemap" not in url])
    assert manifest["options"]["discovery"] == discovery.value


async def test_the_order_holds_whatever_the_concurrency() -> None:
    bench = Bench()
    await bench.crawl(BOTH, concurrency=8, per_host_concurrency=8)
    facts = sorted((outcome.facts for outcome in bench.outcomes), key=lambda facts: facts.number)
    assert [fact.requested_url.removeprefix(A) for fact in facts] == ["/", "/shared", "/map", "/link"]


async def test_pages_of_a_sitemap_are_one_link_from_the_seed() -> None:
    site = {**BOTH, f"{A}/map": page("/deep"), f"{A}/deep": page()}
    bench = Bench()
    await bench.crawl(site, max_depth=1)
    assert "/deep" not in bench.asked
    assert {outcome.facts.depth for outcome in bench.outcomes[1:]} == {1}
    bench = Bench()
    await bench.crawl(site, max_depth=2)
    assert bench.asked[-1] == "/deep"


async def test_a_robots_file_names_the_sitemaps_and_then_none_is_guessed() -> None:
    bench = Bench()
    manifest = await bench.crawl(
        {
            f"{A}/robots.txt": robots("User-agent: *", "Disallow: /maps/", f"Sitemap: {A}/maps/one", "Sitemap: /maps/two"),
            f"{A}/": page(),
            f"{A}/maps/one": sitemap(f"{A}/1"),
            f"{A}/maps/two": sitemap(f"{A}/2"),
            f"{A}/1": page(),
            f"{A}/2": page(),
        }
    )  # fmt: skip
    assert bench.asked == ["/", "/maps/one", "/maps/two", "/1", "/2"]
    assert manifest["warnings"] == []


async def test_what_robots_does_not_name_needs_its_permission() -> None:
    bench = Bench()
    manifest = await bench.crawl(
        {
            f"{A}/robots.txt": robots("User-agent: *", "Disallow: /closed", f"Sitemap: {A}/index"),
            f"{A}/": page(),
            f"{A}/index": index(f"{A}/closed.xml", f"{A}/open.xml"),
            f"{A}/open.xml": sitemap(f"{A}/closed/page", f"{A}/1"),
            f"{A}/1": page(),
        }
    )
    assert bench.asked == ["/", "/index", "/open.xml", "/1"]
    assert told(manifest) == {"SITEMAP_UNREADABLE": "sitemap: it could not be read (ROBOTS_DENIED)"}
    assert [outcome.code for outcome in bench.outcomes if isinstance(outcome, Failed)] == [Code.ROBOTS_DENIED]


async def test_the_usual_place_needs_permission_too_and_its_absence_is_nothing_to_warn_of() -> None:
    bench = Bench()
    closed = robots("User-agent: *", "Disallow: /sitemap.xml")
    manifest = await bench.crawl({f"{A}/robots.txt": closed, f"{A}/": page()})
    assert (bench.asked, manifest["warnings"]) == (["/"], [])
    bench = Bench()
    manifest = await bench.crawl({f"{A}/": page(), f"{A}/sitemap.xml": MISSING})
    assert (bench.asked, manifest["warnings"]) == (["/", "/sitemap.xml"], [])


async def test_robots_that_are_ignored_are_not_asked_for_sitemaps_either() -> None:
    bench = Bench()
    await bench.crawl({f"{A}/": page(), f"{A}/sitemap.xml": MISSING}, robots=RobotsMode.IGNORE)
    assert bench.transport.dialled == (f"{A}/", f"{A}/sitemap.xml")


async def test_indexes_are_read_breadth_first_and_each_sitemap_once() -> None:
    bench = Bench()
    manifest = await bench.crawl(
        {
            f"{A}/": page(),
            f"{A}/sitemap.xml": index(f"{A}/i", f"{A}/m", f"{A}/i#again", f"{A}/sitemap.xml"),
            f"{A}/i": index(f"{A}/deep", f"{A}/m"),
            f"{A}/m": sitemap(f"{A}/1"),
            f"{A}/deep": sitemap(f"{A}/2", f"{A}/1"),
            f"{A}/1": page(),
            f"{A}/2": page(),
        }
    )
    assert bench.asked == ["/", "/sitemap.xml", "/i", "/m", "/deep", "/1", "/2"]
    assert manifest["warnings"] == []


async def test_an_index_of_sixty_is_read_to_fifty() -> None:
    children = {f"{A}/m{n}.xml": sitemap(f"{A}/{n}") for n in range(60)}
    pages = {f"{A}/{n}": page() for n in range(60)}
    bench = Bench()
    manifest = await bench.crawl({f"{A}/": page(), f"{A}/sitemap.xml": index(*children), **children, **pages})
    assert sum(".xml" in url for url in bench.asked) == 50
    assert told(manifest) == {"SITEMAP_LIMIT": "11 sitemaps not asked for"}
    assert manifest["state"] == CrawlState.LIMIT_REACHED
    assert len(bench.outcomes) == 50


async def test_indexes_are_followed_three_deep() -> None:
    chain = {f"{A}/{n}.xml": index(f"{A}/{n + 1}.xml") for n in range(9)}
    bench = Bench()
    manifest = await bench.crawl({f"{A}/": page(), f"{A}/sitemap.xml": index(f"{A}/0.xml"), **chain})
    assert bench.asked == ["/", "/sitemap.xml", "/0.xml", "/1.xml"]
    assert told(manifest) == {"SITEMAP_LIMIT": "1 sitemap below crawl.max_sitemap_depth not asked for"}


async def test_no_more_pages_are_learned_of_than_asked_for() -> None:
    bench = Bench()
    site = {f"{A}/": page(), f"{A}/sitemap.xml": sitemap(*(f"{A}/{n}" for n in range(9)))}
    pages = {f"{A}/{n}": page() for n in range(9)}
    manifest = await bench.crawl(site | pages, max_sitemap_urls=4)
    assert bench.asked == ["/", "/sitemap.xml", "/0", "/1", "/2", "/3"]
    assert told(manifest) == {"SITEMAP_LIMIT": "5 locations more than are learned of in one crawl left out"}


async def test_no_sitemap_is_asked_for_whose_pages_could_not_be_read() -> None:
    bench = Bench()
    first = sitemap(*(f"{A}/{n}" for n in range(10)))
    site = {f"{A}/": page(), f"{A}/sitemap.xml": index(f"{A}/a", f"{A}/b"), f"{A}/a": first}
    pages = {f"{A}/{n}": page() for n in range(9)}
    manifest = await bench.crawl(site | pages, max_pages=5)
    assert bench.asked == ["/", "/sitemap.xml", "/a", "/0", "/1", "/2", "/3"]
    assert told(manifest)["SITEMAP_LIMIT"] == "1 sitemap not asked for"
    bench = Bench()
    second = {f"{A}/b": sitemap(f"{A}/best"), f"{A}/best": page()}
    await bench.crawl(
        site | pages | second, max_pages=2, should_follow=lambda url, _: float(url.endswith("best"))
    )
    assert bench.asked == ["/", "/sitemap.xml", "/a", "/b", "/best"]
    for options in ({"max_pages": 1}, {"max_depth": 0}, {"scope": CrawlScope.PAGE}):
        bench = Bench()
        await bench.crawl({f"{A}/": page()}, **cast("Any", options))
        assert bench.asked == ["/"]


FOREIGN = (
    "http://b.example/x",
    "http://www.a.example/x",
    f"{A}:8080/x",
    "//b.example/x",
    "http://127.0.0.1/x",
)


@pytest.mark.parametrize("location", FOREIGN)
async def test_what_lies_on_another_host_is_never_asked_for(location: str) -> None:
    bench = Bench()
    manifest = await bench.crawl(
        {
            f"{A}/robots.txt": robots(f"Sitemap: {location}", f"Sitemap: {A}/index"),
            f"{A}/": page(),
            f"{A}/index": index(location, f"{A}/m"),
            f"{A}/m": sitemap(location, f"{A}/1"),
            f"{A}/1": page(),
        }
    )
    assert bench.asked == ["/", "/index", "/m", "/1"]
    expected = {
        "SITEMAP_OFF_HOST": "2 sitemaps and 1 location on other hosts not asked for",
        "LINK_REFUSED": f"3 links refused before any request: {'INVALID_PORT' if '8080' in location else 'DENIED_ADDRESS'} 3",
    }
    code = "LINK_REFUSED" if "8080" in location or "127" in location else "SITEMAP_OFF_HOST"
    assert told(manifest) == {code: expected[code]}


async def test_a_sitemap_that_moves_to_another_host_ends_there() -> None:
    bench = Bench()
    moved = PaperAnswer(status=301, headers=(("Location", "http://b.example/sitemap.xml"),))
    manifest = await bench.crawl({f"{A}/": page("/1"), f"{A}/sitemap.xml": moved, f"{A}/1": page()})
    assert bench.asked == ["/", "/sitemap.xml", "/1"]
    assert told(manifest) == {"SITEMAP_UNREADABLE": "sitemap: it could not be read (REDIRECT_CROSS_HOST)"}


async def test_a_sitemap_that_moves_within_its_host_is_read_if_robots_allow_the_new_place() -> None:
    moved = PaperAnswer(status=301, headers=(("Location", "/maps/all.xml"),))
    site = {
        f"{A}/": page(),
        f"{A}/sitemap.xml": moved,
        f"{A}/maps/all.xml": sitemap("1"),
        f"{A}/maps/1": page(),
    }
    bench = Bench()
    await bench.crawl(site)
    assert bench.asked == ["/", "/sitemap.xml", "/maps/all.xml", "/maps/1"]
    bench = Bench()
    named = robots("User-agent: *", "Disallow: /maps/", f"Sitemap: {A}/sitemap.xml")
    manifest = await bench.crawl(site | {f"{A}/robots.txt": named})
    assert bench.asked == ["/", "/sitemap.xml"]
    assert told(manifest) == {"SITEMAP_UNREADABLE": "sitemap: it could not be read (ROBOTS_DENIED)"}


async def test_a_crawl_of_a_domain_reads_sitemaps_of_all_its_hosts() -> None:
    www = "http://www.a.example"
    bench = Bench()
    await bench.crawl(
        {
            f"{A}/robots.txt": robots(f"Sitemap: {www}/sitemap.xml"),
            f"{www}/robots.txt": MISSING,
            f"{A}/": page(),
            f"{www}/sitemap.xml": sitemap(f"{www}/1", f"{A}/2", "http://b.example/"),
            f"{www}/1": page(),
            f"{A}/2": page(),
        },
        scope=CrawlScope.DOMAIN,
    )
    assert bench.asked[:2] == ["/", f"{www}/sitemap.xml"]
    assert sorted(bench.asked[2:]) == ["/2", f"{www}/1"]


async def test_sitemaps_are_looked_for_where_the_seed_has_moved() -> None:
    www = "http://www.a.example"
    bench = Bench()
    await bench.crawl(
        {
            f"{www}/robots.txt": MISSING,
            f"{A}/": PaperAnswer(status=301, headers=(("Location", f"{www}/"),)),
            f"{www}/": page(),
            f"{www}/sitemap.xml": sitemap(f"{www}/1"),
            f"{www}/1": page(),
        }
    )
    assert bench.asked == ["/", f"{www}/", f"{www}/sitemap.xml", f"{www}/1"]


async def test_a_seed_that_is_withheld_does_not_hide_the_site() -> None:
    bench = Bench(fails={f"{A}/": Code.PROMPT_INJECTION})
    await bench.crawl({f"{A}/sitemap.xml": sitemap(f"{A}/1"), f"{A}/1": page()})
    assert bench.asked == ["/sitemap.xml", "/1"]


KEPT = "what stood before it was read"
BROKEN: dict[str, tuple[PaperAnswer, str, str]] = {
    "malformed": (
        PaperAnswer(body=f"<urlset><url><loc>{A}/1</loc></url><url><loc>{A}/2".encode()),
        "SITEMAP_MALFORMED",
        "sitemap: it is not well formed; what stood before it was read",
    ),
    "cut off in gzip": (
        PaperAnswer(body=gzip.compress(f"<urlset><url><loc>{A}/1</loc></url>".encode() + b"x" * 999)[:-12]),
        "SITEMAP_MALFORMED",
        f"sitemap: it is not well formed; {KEPT}; it could not be unpacked to its end; {KEPT}",
    ),
    "too large": (
        PaperAnswer(body=(f"<urlset><url><loc>{A}/1</loc></url>".encode(), b" " * 3000)),
        "SITEMAP_TRUNCATED",
        "sitemap: only the first crawl.max_sitemap_bytes of it were read",
    ),
    "too large unpacked": (
        PaperAnswer(body=gzip.compress(f"<urlset><url><loc>{A}/1</loc></url>".encode() + b" " * 3000 + b"</urlset>")),
        "SITEMAP_TRUNCATED",
        "sitemap: only the first crawl.max_sitemap_bytes of it were read",
    ),
    "too large decoded": (
        PaperAnswer(
            headers=(("Content-Encoding", "gzip"),),
            body=gzip.compress(f"<urlset><url><loc>{A}/1</loc></url>".encode() + b" " * 3000 + b"</urlset>"),
        ),
        "SITEMAP_TRUNCATED",
        "sitemap: only the first crawl.max_sitemap_bytes of it were read",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "code", "message"), BROKEN.values(), ids=BROKEN)
async def test_what_could_be_read_of_a_broken_sitemap_is_used(
    answer: PaperAnswer, code: str, message: str
) -> None:
    bench = Bench()
    site = {f"{A}/": page(), f"{A}/sitemap.xml": answer, f"{A}/1": page()}
    manifest = await bench.crawl(site, max_sitemap_bytes=2000)
    assert bench.asked == ["/", "/sitemap.xml", "/1"]
    assert told(manifest)[code] == message


NONE: dict[str, tuple[PaperAnswer, str]] = {
    "an error": (PaperAnswer(status=503), "it could not be read (HTTP_STATUS, status 503)"),
    "a refusal": (PaperAnswer(status=403), "it could not be read (HTTP_STATUS, status 403)"),
    "a dead host": (
        PaperAnswer(failure=FetchFailed(Code.CONNECT_FAILED, "no")),
        "it could not be read (CONNECT_FAILED)",
    ),
    "a page": (page("/x"), "it is something else than a sitemap"),
    "a page of a doctype": (
        PaperAnswer(body=b"<!DOCTYPE html><a>"),
        "it declares a document type, which is not read",
    ),
    "nothing": (PaperAnswer(), "it is empty"),
}


@pytest.mark.parametrize(("answer", "message"), NONE.values(), ids=NONE)
async def test_a_sitemap_that_is_none_is_a_warning_and_links_are_followed(
    answer: PaperAnswer, message: str
) -> None:
    bench = Bench()
    manifest = await bench.crawl({f"{A}/": page("/1"), f"{A}/sitemap.xml": answer, f"{A}/1": page()})
    assert bench.asked == ["/", "/sitemap.xml", "/1"]
    assert told(manifest) == {"SITEMAP_UNREADABLE": f"sitemap: {message}"}


async def test_a_named_sitemap_that_is_missing_is_told() -> None:
    bench = Bench()
    named = robots(f"Sitemap: {A}/gone.xml")
    manifest = await bench.crawl({f"{A}/robots.txt": named, f"{A}/": page(), f"{A}/gone.xml": MISSING})
    assert told(manifest) == {"SITEMAP_UNREADABLE": "sitemap: it could not be read (HTTP_STATUS, status 404)"}


async def test_a_guest_that_dies_over_a_sitemap_costs_that_sitemap() -> None:
    bench = Bench(sitemaps=[GuestFailed(Code.GUEST_CRASHED, "died")])
    manifest = await bench.crawl(
        {f"{A}/": page("/1"), f"{A}/sitemap.xml": sitemap(f"{A}/2"), f"{A}/1": page()}
    )
    assert bench.asked == ["/", "/sitemap.xml", "/1"]
    assert told(manifest) == {"SITEMAP_UNREADABLE": "sitemap: it could not be read (GUEST_CRASHED)"}


async def test_a_sitemap_is_read_by_a_guest_of_its_site_and_run_and_kept_as_it_came() -> None:
    bench = Bench()
    packed = gzip.compress(f"{A}/1".encode(), mtime=0)
    answer = PaperAnswer(content_type="text/plain; charset=latin1", body=packed)
    manifest = await bench.crawl({f"{A}/": page(), f"{A}/sitemap.xml": answer, f"{A}/1": page()})
    assert bench.guests.sites == [(A, manifest["run_id"])]
    assert (bench.guests.mapped[0].charset, bench.guests.mapped[0].body) == ("latin1", packed)
    kept = await bench.archive.latest(f"{SourceKind.SITEMAP.value}::{A}/sitemap.xml")
    assert kept.body == packed


async def test_sitemaps_wait_for_their_hosts_turn_and_are_paid_from_the_crawls_bytes() -> None:
    bench = Bench()
    site = {
        f"{A}/robots.txt": robots("User-agent: *", "Crawl-delay: 3", f"Sitemap: {A}/a", f"Sitemap: {A}/b"),
        f"{A}/": PaperAnswer(body=b"x" * 100),
        f"{A}/a": sitemap(f"{A}/1"),
        f"{A}/b": sitemap(f"{A}/1"),
        f"{A}/1": PaperAnswer(body=b"x" * 100),
    }
    manifest = await bench.crawl(site, delay_seconds=2)
    assert [wait for wait in bench.waits if wait > 0] == [3, 3, 3]
    assert manifest["totals"]["bytes"] == sum(len(answer.body) for answer in site.values())


async def test_no_sitemap_takes_more_bytes_than_the_crawl_has_left() -> None:
    bench = Bench()
    large = PaperAnswer(body=(b"<urlset>", b" " * 500, b" " * 500))
    site = {f"{A}/": PaperAnswer(body=b"x" * 100), f"{A}/sitemap.xml": large}
    manifest = await bench.crawl(site, max_total_bytes=700)
    assert told(manifest)["SITEMAP_UNREADABLE"] == "sitemap: it could not be read (BODY_TOO_LARGE)"


async def test_a_busy_host_is_left_alone_for_as_long_as_it_asked() -> None:
    bench = Bench()
    busy = PaperAnswer(status=503, headers=(("Retry-After", "7"),))
    await bench.crawl({f"{A}/": page("/1"), f"{A}/sitemap.xml": busy, f"{A}/1": page()})
    assert [wait for wait in bench.waits if wait > 0] == [7]


async def test_an_exception_covers_the_sitemap_of_its_own_origin_only() -> None:
    bench = Bench()
    named = robots(f"Sitemap: {OTHER_LOCAL}/sitemap.xml", f"Sitemap: {LOCAL}/m.xml")
    manifest = await bench.crawl(
        {
            f"{LOCAL}/robots.txt": named,
            f"{LOCAL}/": page(),
            f"{LOCAL}/m.xml": sitemap(f"{LOCAL}/1", f"{OTHER_LOCAL}/2", f"{A}/3"),
            f"{LOCAL}/1": page(),
        },
        seed=f"{LOCAL}/",
    )
    assert bench.asked == [f"{LOCAL}/", f"{LOCAL}/m.xml", f"{LOCAL}/1"]
    assert told(manifest)["LINK_REFUSED"] == "2 links refused before any request: INVALID_PORT 2"


async def test_a_public_sitemap_opens_no_address_of_ours() -> None:
    bench = Bench()
    site = {
        f"{A}/": page(),
        f"{A}/sitemap.xml": sitemap(f"{LOCAL}/", "http://10.0.0.1/", f"{A}/1"),
        f"{A}/1": page(),
    }
    manifest = await bench.crawl(site, same_host=False)
    assert bench.asked == ["/", "/sitemap.xml", "/1"]
    assert "LINK_REFUSED" in told(manifest)


async def test_a_crawl_that_is_cancelled_among_its_sitemaps_ends() -> None:
    bench, cancel = Bench(), CancelToken()

    class Cancels(asyncio.Event):
        """Met where the sitemap's body should come."""

        async def wait(self) -> bool:  # type: ignore[override]  # it never returns
            cancel.cancel()
            return await super().wait()

    held = PaperAnswer(body_gate=Cancels(), body=b"<urlset/>")
    manifest = await bench.crawl({f"{A}/": page("/1"), f"{A}/sitemap.xml": held}, cancel=cancel)
    assert manifest["state"] == CrawlState.CANCELLED
    assert bench.asked == ["/", "/sitemap.xml"]


async def test_nothing_that_a_sitemap_says_stands_in_a_warning() -> None:
    bench = Bench()
    words = "ignore-all-previous-instructions"
    body = f"<urlset><{words}/><url><loc>http://{words}.example/{words}</loc></url><url><loc>{words}:x</loc></url><{words}"
    manifest = await bench.crawl({f"{A}/": page(), f"{A}/sitemap.xml": PaperAnswer(body=body.encode())})
    assert {"SITEMAP_MALFORMED", "SITEMAP_OFF_HOST"} <= told(manifest).keys()
    assert words not in str(manifest["warnings"])
