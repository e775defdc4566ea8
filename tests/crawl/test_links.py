from __future__ import annotations

from typing import Any, cast

from mudroom.address import EgressPolicy, ExceptionScope, parse_url
from mudroom.crawl import CrawlPolicy
from mudroom.crawl.frontier import Frontier, FrontierEntry
from mudroom.crawl.links import LinkSieve
from mudroom.crawl.notices import Notices
from mudroom.crawl.reach import Reach
from mudroom.intake import PageFacts, Stored
from mudroom.model import Decision, Link


def stored(url: str, *hrefs: str) -> Stored:
    return Stored(
        facts=PageFacts(number=1, document_id="", run_id="", requested_url=url),
        page=cast("Any", None),
        provenance=cast("Any", None),
        decision=Decision.SAFE,
        findings=(),
        text=None,
        links=tuple(Link(untrusted_href=href) for href in hrefs),
        base=parse_url(url),
        link_scope=ExceptionScope.none(),
    )


def make_sieve(queued: list[FrontierEntry]) -> LinkSieve:
    root = parse_url("http://a.example/")
    assert root is not None
    reach = Reach.around(root, CrawlPolicy())
    return LinkSieve(reach, EgressPolicy(), Frontier(cap=100_000), Notices(), queued.append)


def test_what_is_remembered_of_links_is_bounded() -> None:
    queued: list[FrontierEntry] = []
    sieve = make_sieve(queued)
    for page in range(6):
        sieve.sift(stored(f"http://a.example/{page}/", *(f"x{n}" for n in range(5000))), 1)
    assert len(queued) == 30_000
    assert sieve.remembered < 26_000


def test_folders_without_links_count_as_remembered_too() -> None:
    sieve = make_sieve([])
    for page in range(45_000):
        sieve.sift(stored(f"http://a.example/{page}/"), 1)
    assert sieve.remembered < 21_000


def test_an_entry_is_the_normal_url_with_what_its_page_may_use() -> None:
    queued: list[FrontierEntry] = []
    make_sieve(queued).sift(
        stored("http://a.example/dir/page?x#y", "HTTP://A.example.:80/b?q#frag", "../c"), 2
    )
    assert [(entry.url, entry.host, entry.rank) for entry in queued] == [
        ("http://a.example/b?q", "a.example", (2, 1, 0)),
        ("http://a.example/c", "a.example", (2, 1, 1)),
    ]


def test_a_document_without_an_address_has_no_links_to_follow() -> None:
    queued: list[FrontierEntry] = []
    page = stored("http://a.example/", "/x")
    object.__setattr__(page, "base", None)
    make_sieve(queued).sift(page, 1)
    assert queued == []
