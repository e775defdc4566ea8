from __future__ import annotations

from dataclasses import replace
from datetime import date

from mudroom.address import EgressPolicy, parse_url
from mudroom.crawl import CrawlPolicy
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import FrontierEntry
from mudroom.crawl.links import LinkSieve
from mudroom.crawl.memory_frontier import MemoryFrontier
from mudroom.crawl.notices import Notices
from mudroom.crawl.reach import Reach
from mudroom.crawl.traps import TrapWatch
from mudroom.model import Link


def ended(url: str, *hrefs: str, depth: int = 0) -> EndedPage:
    return EndedPage(
        number=1,
        depth=depth,
        links=tuple(Link(untrusted_href=href) for href in hrefs),
        base=parse_url(url),
    )


def make_sieve(queued: list[FrontierEntry]) -> LinkSieve:
    root = parse_url("http://a.example/")
    assert root is not None
    reach, frontier = Reach.around(root, CrawlPolicy()), MemoryFrontier(cap=100_000)
    traps = TrapWatch(CrawlPolicy(), date(2026, 1, 1), frontier.note)
    return LinkSieve(reach, EgressPolicy(), frontier, Notices(), traps, queued.append)


def test_what_is_remembered_of_links_is_bounded() -> None:
    queued: list[FrontierEntry] = []
    sieve = make_sieve(queued)
    for page in range(6):
        sieve.sift(ended(f"http://a.example/{page}/", *(f"x{n}" for n in range(5000))))
    assert len(queued) == 30_000
    assert sieve.remembered < 26_000


def test_folders_without_links_count_as_remembered_too() -> None:
    sieve = make_sieve([])
    for page in range(45_000):
        sieve.sift(ended(f"http://a.example/{page}/"))
    assert sieve.remembered < 21_000


def test_an_entry_is_the_normal_url_with_what_its_page_may_use() -> None:
    queued: list[FrontierEntry] = []
    make_sieve(queued).sift(
        ended("http://a.example/dir/page?x#y", "HTTP://A.example.:80/b?q#frag", "../c", depth=1)
    )
    assert [(entry.url, entry.host, entry.rank) for entry in queued] == [
        ("http://a.example/b?q", "a.example", (0, 2, 1, 0)),
        ("http://a.example/c", "a.example", (0, 2, 1, 1)),
    ]


def test_a_document_without_an_address_has_no_links_to_follow() -> None:
    queued: list[FrontierEntry] = []
    make_sieve(queued).sift(replace(ended("http://a.example/", "/x"), base=None))
    assert queued == []
