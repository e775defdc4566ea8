"""What a crawl attempts follows from the pages, not from which of them was faster."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mudroom.address import parse_url
from mudroom.crawl import CrawlPolicy, RecordedOrder, Stop, page_key

A = "http://a.example"
FAST: dict[str, Any] = {"delay_seconds": 0}


def make_web(bench: Any, seed: int, *, hosts: tuple[str, ...] = (A,)) -> dict[str, Any]:
    """Pages that link to some of each other, some of them moved, each as slow as chance will have it."""
    chance = random.Random(seed)  # noqa: S311 - a web to test with, no secret
    urls = [f"{hosts[n % len(hosts)]}/{n}" for n in range(60)]
    site = {f"{A}/": bench.page(links=tuple(urls[:5]))}
    for url in urls:
        links = tuple(chance.sample(urls, 4))
        if chance.random() < 0.15:
            site[url] = bench.page(redirect=chance.choice((*urls, f"{url}x")), seconds=chance.random() * 9)
        else:
            site[url] = bench.page(links=links, seconds=chance.random() * 9)
        site[f"{url}x"] = bench.page(links=links[:1], seconds=chance.random() * 9)
    return site


def rows(manifest: dict[str, Any]) -> list[Any]:
    return [
        (page["n"], page["url"], page["depth"], page["outcome"], page["code"]) for page in manifest["pages"]
    ]


def key_of(url: str) -> str:
    parsed = parse_url(url)
    assert parsed is not None
    return page_key(parsed)


def reshuffle(site: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a web to test with, no secret
    for page in site.values():
        page.seconds = chance.random() * 9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("more", [{}, {"max_pages": 23}, {"max_frontier": 7}, {"max_depth": 2}], ids=str)
async def test_one_page_at_a_time_and_many_attempt_the_same_under_the_same_numbers(
    bench: Any, seed: int, more: dict[str, Any]
) -> None:
    site = make_web(bench, seed)
    slow = await bench.crawl(site, concurrency=1, **FAST, **more)
    reshuffle(site, seed + 100)
    quick = await bench.crawl(site, concurrency=16, per_host_concurrency=16, **FAST, **more)
    assert rows(quick) == rows(slow)
    assert quick["warnings"] == slow["warnings"]
    assert quick["discovered"] == slow["discovered"]


@pytest.mark.parametrize("seed", range(4))
async def test_a_recorded_order_gives_the_same_crawl_of_many_hosts_without_a_wait(
    bench: Any, seed: int
) -> None:
    hosts = (A, "http://b.example", "http://c.example")
    site = make_web(bench, seed, hosts=hosts)
    options = {"same_host": False, "max_pages": 40, "per_host_concurrency": 2}
    live = await bench.crawl(site, delay_seconds=1, **options)
    reshuffle(site, seed + 100)
    for page in site.values():
        page.seconds = 0
    order = RecordedOrder([(page["n"], key_of(page["url"])) for page in live["pages"]])
    started = bench.time.monotonic()
    again = await bench.make_crawler().crawl(f"{A}/", CrawlPolicy(delay_seconds=1, **options), order=order)
    assert bench.time.monotonic() == started
    assert order.missing == []
    assert rows(again) == rows(live)
    assert again["warnings"] == live["warnings"]


async def test_a_recorded_page_that_nothing_leads_to_is_passed_over_and_named(bench: Any) -> None:
    bench.intake.site = {
        f"{A}/": bench.page(links=("/1", "/2")),
        f"{A}/1": bench.page(),
        f"{A}/2": bench.page(),
    }
    recorded = [(1, f"{A}/"), (2, f"{A}/gone"), (5, f"{A}/2")]
    order = RecordedOrder(recorded, stop=Stop.TIME)
    manifest = await bench.make_crawler().crawl(f"{A}/", CrawlPolicy(), order=order)
    assert order.missing == [(2, f"{A}/gone")]
    assert [(page["n"], page["url"]) for page in manifest["pages"]] == [(1, f"{A}/"), (5, f"{A}/2")]
    assert manifest["state"] == "LIMIT_REACHED"
    assert [warning["code"] for warning in manifest["warnings"]] == ["TIME_LIMIT"]
    assert "1 URL remains" in manifest["warnings"][0]["message"]


async def test_a_page_that_keeps_all_waiting_does_not_let_their_links_pile_up(bench: Any) -> None:
    many = tuple(f"/deep/{n}" for n in range(10_000))
    site = {f"{A}/": bench.page(links=tuple(f"/{n}" for n in range(30)))}
    site |= {f"{A}/{n}": bench.page(links=many) for n in range(30)}
    site[f"{A}/0"] = bench.page(seconds=1000)
    await bench.crawl(site, max_pages=31, max_frontier=20_000, **FAST)
    started_while_waiting = [
        url for moment, url in bench.intake.starts if moment < bench.intake.starts[0][0] + 900
    ]
    assert len(started_while_waiting) < 20
    assert len(bench.fetched()) == 31
