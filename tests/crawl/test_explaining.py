"""Why a URL would be in a crawl or not."""

from __future__ import annotations

from typing import Any

import pytest

from mudroom.address import parse_url
from mudroom.crawl import CrawlPolicy, CrawlScope, Explainer, RobotsMode

A = "https://a.example"


async def explain(bench: Any, url: str, seed: str = f"{A}/docs/start", **options: Any) -> Any:
    parsed = parse_url(seed)
    assert parsed is not None
    explainer = Explainer(bench.robots, bench.egress, bench.time)
    return await explainer.explain(parsed, CrawlPolicy(**options), url)


@pytest.mark.parametrize(
    ("url", "options", "check", "code"),
    [
        ("http://10.0.0.1/", {}, "address", "DENIED_ADDRESS"),
        ("http://user:pass@a.example/", {}, "address", "CREDENTIALS"),
        ("mailto:x@y.example", {}, "address", "INVALID_SCHEME"),
        ("http://[::1", {}, "address", "INVALID_URL"),
        ("https://b.example/", {}, "scope", "OFF_HOST"),
        (f"{A}/blog/", {"scope": CrawlScope.PREFIX}, "scope", "OUT_OF_SCOPE"),
        (f"{A}/docs/next", {"scope": CrawlScope.PAGE}, "scope", "OUT_OF_SCOPE"),
        (f"{A}/docs/x.pdf", {"exclude": ("*.pdf",)}, "scope", "OUT_OF_SCOPE"),
        (f"{A}/docs/a/b/a/b/a/b", {}, "trap", "TRAP_SKIPPED"),
        (f"{A}/docs/next", {"max_depth": 0}, "depth", None),
        (f"{A}/docs/secret", {}, "robots", "ROBOTS_DENIED"),
    ],
)
async def test_the_first_check_that_speaks_against_a_url_is_named(
    bench: Any, url: str, options: dict[str, Any], check: str, code: str | None
) -> None:
    bench.robots.denied = frozenset({f"{A}/docs/secret"})
    explanation = await explain(bench, url, **options)
    assert not explanation.would_fetch
    against = [step for step in explanation.steps if step.passes is False]
    assert [(step.name, step.code) for step in against] == [(check, code)]
    assert explanation.steps[-1] is against[0]
    assert "pass@" not in str(explanation.describe())


async def test_a_url_that_nothing_speaks_against_depends_on_the_pages(bench: Any) -> None:
    explanation = await explain(bench, "next/?utm_source=x")
    assert explanation.would_fetch
    assert explanation.url == f"{A}/docs/next/?utm_source=x"
    assert explanation.key == f"{A}/docs/next"
    assert [(step.name, step.passes) for step in explanation.steps] == [
        ("address", True), ("scope", True), ("trap", True), ("depth", None), ("robots", True),
    ]  # fmt: skip
    assert bench.robots.closed == 1
    assert bench.fetched() == []


async def test_the_seed_and_its_twins_are_the_seed(bench: Any) -> None:
    explanation = await explain(bench, f"{A}/docs/start/#top", max_depth=0)
    assert explanation.would_fetch
    assert [step.name for step in explanation.steps] == ["address", "scope", "robots"]


async def test_a_preview_says_how_a_crawl_would_begin(bench: Any) -> None:
    bench.robots.delays = {A: 7.0}
    bench.robots.sitemaps = ("https://a.example/s.xml",)
    seed = parse_url(f"{A}/")
    assert seed is not None
    explainer = Explainer(bench.robots, bench.egress, bench.time)
    report = await explainer.preview(seed, CrawlPolicy(robots=RobotsMode.OBEY))
    assert (report["would_fetch"], report["crawl_delay_seconds"], report["sitemaps_named"]) == (True, 7.0, 1)
    assert report["options"]["max_pages"] == 100
    assert bench.corpus.runs == []
