from __future__ import annotations

from typing import Any

import pytest

from mudroom.address import ParsedUrl, parse_url
from mudroom.crawl import CrawlPolicy, CrawlScope
from mudroom.crawl.reach import Reach, ReachVerdict
from mudroom.crawl.seed import find_root


def url(text: str) -> ParsedUrl:
    parsed = parse_url(text)
    assert parsed is not None
    return parsed


INSIDE, OFF_HOST, OUT, EXCLUDED = (
    ReachVerdict.INSIDE,
    ReachVerdict.OFF_HOST,
    ReachVerdict.OUT_OF_SCOPE,
    ReachVerdict.EXCLUDED,
)
ROOT = "https://www.a.co.uk/docs/intro?x=/y/"


@pytest.mark.parametrize(
    ("options", "target", "expected"),
    [
        ({}, "https://www.a.co.uk/", INSIDE),
        ({}, "http://www.a.co.uk/", INSIDE),
        ({}, "https://www.a.co.uk:8443/", OFF_HOST),
        ({}, "https://a.co.uk/", OFF_HOST),
        ({}, "https://www.a.co.uk.b.example/", OFF_HOST),
        ({"scope": CrawlScope.DOMAIN}, "https://a.co.uk/", INSIDE),
        ({"scope": CrawlScope.DOMAIN}, "https://b.co.uk/", OFF_HOST),
        ({"scope": CrawlScope.DOMAIN, "same_host": False}, "https://b.co.uk/", OFF_HOST),
        ({"same_host": False}, "https://b.co.uk/", INSIDE),
        ({"scope": CrawlScope.PREFIX}, "https://www.a.co.uk/docs/deeper/x", INSIDE),
        ({"scope": CrawlScope.PREFIX}, "https://www.a.co.uk/docs", OUT),
        ({"scope": CrawlScope.PREFIX}, "https://www.a.co.uk/docsearch/", OUT),
        ({"scope": CrawlScope.PREFIX}, "https://www.a.co.uk/other?/docs/", OUT),
        ({"scope": CrawlScope.PAGE}, "https://www.a.co.uk/docs/intro", OUT),
        ({"include": ("/docs/*",)}, "https://www.a.co.uk/docs/x", INSIDE),
        ({"include": ("/docs/*",)}, "https://www.a.co.uk/x/docs/x", EXCLUDED),
        ({"include": ("*.html",)}, "https://www.a.co.uk/x.html", INSIDE),
        ({"include": ("*.html",)}, "https://www.a.co.uk/xzhtml", EXCLUDED),
        ({"exclude": ("/a?b",)}, "https://www.a.co.uk/a?b", EXCLUDED),
        ({"exclude": ("/a?b",)}, "https://www.a.co.uk/axb", INSIDE),
        ({"include": ("*",), "exclude": ("https://*/private/*",)}, "https://www.a.co.uk/private/x", EXCLUDED),
        ({"exclude": ("/[a-z]*",)}, "https://www.a.co.uk/x", INSIDE),
        ({"exclude": ("/caf\u00e9*",)}, "https://www.a.co.uk/cafe", INSIDE),
    ],
)
def test_a_url_belongs_to_a_crawl_by_scope_and_globs(
    options: dict[str, Any], target: str, expected: ReachVerdict
) -> None:
    assert Reach.around(url(ROOT), CrawlPolicy(**options)).judge(url(target)) is expected


@pytest.mark.parametrize(
    ("seed", "final", "root"),
    [
        ("http://a.example/", "https://a.example/", "http://a.example/"),
        ("http://a.example/docs", "http://a.example/docs/", "http://a.example/docs/"),
        ("http://a.example/docs/x", "http://a.example/login", "http://a.example/docs/x"),
        ("http://a.example/", "http://www.a.example/en/", "http://www.a.example/en/"),
    ],
)
def test_a_crawl_is_rooted_where_its_seed_moved_to(seed: str, final: str, root: str) -> None:
    assert find_root(url(seed), url(final)).href == root
