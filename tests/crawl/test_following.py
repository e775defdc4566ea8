"""Twins, scores, and what a program's own function says of links."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mudroom.crawl import CrawlPolicy, CrawlScope, LinkContext
from mudroom.errors import InvalidConfig

A = "http://a.example"
FAST: dict[str, Any] = {"delay_seconds": 0, "concurrency": 1}


def codes(manifest: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in manifest["warnings"]]


async def test_the_spellings_of_a_page_are_one_page_and_the_others_are_told(bench: Any) -> None:
    links = ("/a", "/a/", "/a#x", "/a?utm_source=z", "/a;jsessionid=1F", "/b/", "/b/", "/b")
    site = {f"{A}/": bench.page(links=links), f"{A}/a": bench.page(), f"{A}/b/": bench.page()}
    manifest = await bench.crawl(site, **FAST)
    assert bench.fetched() == [f"{A}/", f"{A}/a", f"{A}/b/"]
    assert codes(manifest) == ["TWIN_MERGED"]
    assert manifest["warnings"][0]["message"] == "4 links to known pages under another spelling"


async def test_www_and_the_bare_name_are_one_page_where_both_are_crawled(bench: Any) -> None:
    www = "http://www.a.example"
    site = {
        f"{A}/": bench.page(links=(f"{www}/", f"{www}/x", "/x")),
        f"{www}/x": bench.page(),
    }
    await bench.crawl(site, scope=CrawlScope.DOMAIN, **FAST)
    assert bench.fetched() == [f"{A}/", f"{www}/x"]


async def test_pages_with_the_same_bytes_are_both_kept_and_followed_once(bench: Any) -> None:
    same = "ab" * 32
    site = {
        f"{A}/": bench.page(links=("/1/x", "/2/x"), sha256="00" * 32),
        f"{A}/1/x": bench.page(links=("next",), sha256=same),
        f"{A}/2/x": bench.page(links=("next",), sha256=same),
        f"{A}/1/next": bench.page(sha256="11" * 32),
        f"{A}/2/next": bench.page(sha256="22" * 32),
    }
    manifest = await bench.crawl(site, **FAST)
    assert [page["url"] for page in manifest["pages"]] == [f"{A}/", f"{A}/1/x", f"{A}/2/x", f"{A}/1/next"]
    assert [page["outcome"] for page in manifest["pages"]] == ["STORED"] * 4
    assert codes(manifest) == ["SAME_CONTENT"]
    assert manifest["warnings"][0] == {
        "code": "SAME_CONTENT",
        "url": f"{A}/2/x",
        "message": "page 3 has the content of page 2; its links were not followed again",
    }


async def test_a_score_decides_what_comes_first_and_false_leaves_out(bench: Any) -> None:
    def score(url: str, context: LinkContext) -> bool | float:
        name = url.rpartition("/")[2]
        return {"low": -1, "zero": 0.0, "high": 9.5, "yes": True, "no": False}.get(name, 5)

    links = ("/low", "/zero", "/no", "/yes", "/high", "/plain")
    site = {f"{A}/": bench.page(links=links)} | {f"{A}{link}": bench.page() for link in links}
    site[f"{A}/zero"] = bench.page(links=("/deep/high",))
    manifest = await bench.crawl(site, should_follow=score, **FAST)
    names = [url.removeprefix(A) for url in bench.fetched()]
    assert names == ["/", "/high", "/plain", "/yes", "/zero", "/deep/high", "/low"]
    assert codes(manifest) == ["NOT_FOLLOWED"]
    assert bench.corpus.runs[0].options["is_scored"] is True


async def test_the_function_is_told_where_the_link_stands(bench: Any) -> None:
    seen = []

    def note(url: str, context: LinkContext) -> bool:
        seen.append((url, context.page_url, context.page_number, context.depth, context.place))
        return True

    site = {f"{A}/": bench.page(links=("mailto:x@y", "/a")), f"{A}/a": bench.page(links=("/b", "/a"))}
    await bench.crawl(site, should_follow=note, **FAST)
    assert seen == [(f"{A}/a", f"{A}/", 1, 1, 1), (f"{A}/b", f"{A}/a", 2, 2, 0)]


@pytest.mark.parametrize("answer", [None, "yes", math.nan, math.inf, 10**400, [], ZeroDivisionError], ids=str)
async def test_a_function_that_fails_costs_its_link_and_a_warning(
    bench: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    words = "page text \x1b]52;"

    def fail(url: str, context: LinkContext) -> Any:
        if not url.endswith("/bad"):
            return True
        if isinstance(answer, type):
            raise answer(words)
        return answer

    site = {f"{A}/": bench.page(links=("/bad", "/good")), f"{A}/good": bench.page()}
    manifest = await bench.crawl(site, should_follow=fail, **FAST)
    assert bench.fetched() == [f"{A}/", f"{A}/good"]
    assert codes(manifest) == ["FOLLOW_FAILED"]
    assert "page text" not in caplog.text
    assert manifest["state"] == "COMPLETE"


async def test_a_function_that_fails_on_every_link_fills_no_log(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(url: str, context: LinkContext) -> bool:
        raise LookupError(url, context)

    site = {f"{A}/": bench.page(links=tuple(f"/{number}" for number in range(40)))}
    manifest = await bench.crawl(site, should_follow=fail, **FAST)
    (warning,) = manifest["warnings"]
    assert warning["message"] == "40 links left out because should_follow failed on them"
    assert [record.getMessage().partition("\n")[0] for record in caplog.records] == [
        "should_follow failed: LookupError"
    ]


def test_a_function_is_asked_for() -> None:
    with pytest.raises(InvalidConfig, match="should_follow"):
        CrawlPolicy(should_follow="yes").check()  # type: ignore[arg-type]  # that is the fault


@pytest.mark.parametrize(
    "policy",
    [
        CrawlPolicy(),
        CrawlPolicy(max_pages=7, delay_seconds=1.5, include=("/a*", "b"), same_host=False, retries=5),
        CrawlPolicy(max_frontier=17, scope=CrawlScope.DOMAIN, trap_repeats=9),
    ],
)
def test_a_policy_comes_back_from_what_a_manifest_says_of_it(policy: CrawlPolicy) -> None:
    options = json.loads(json.dumps({**policy.describe(), "isolation": "strict"}))
    assert CrawlPolicy.from_options(options).describe() == policy.describe()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scope": "galaxy"}, "scope"),
        ({"max_pages": "many"}, "max_pages"),
        ({"include": [3]}, "include"),
        ({"seed_header_names": ["X-Key"]}, "X-Key"),
        ({"is_scored": True}, "scored by a function"),
    ],
)
def test_options_that_are_none_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidConfig, match=told):
        CrawlPolicy.from_options({**CrawlPolicy().describe(), **changes})


async def test_of_one_kind_two_hundred_warnings_are_listed_and_the_rest_counted(bench: Any) -> None:
    site = {f"{A}/": bench.page(links=tuple(f"/{n}" for n in range(250)))}
    site |= {f"{A}/{n}": bench.page(sha256="ab" * 32, seconds=0) for n in range(250)}
    manifest = await bench.crawl(site, max_pages=300, **FAST)
    assert codes(manifest).count("SAME_CONTENT") == 201
    assert manifest["warnings"][200]["message"] == "49 more of these are not listed"
