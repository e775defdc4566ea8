"""Addresses without end are told from those of real sites."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from mudroom.address import ParsedUrl, parse_url
from mudroom.crawl import CrawlPolicy
from mudroom.crawl.traps import TrapKind, TrapWatch

HOST = "https://site.example"
TODAY = date(2026, 3, 1)


def url_of(target: str) -> ParsedUrl:
    url = parse_url(target if "://" in target else HOST + target)
    assert url is not None
    return url


def make_watch(**options: Any) -> TrapWatch:
    return TrapWatch(CrawlPolicy(**options), TODAY, lambda _name, _value: None)


def skipped(targets: list[str], **options: Any) -> list[tuple[str, TrapKind]]:
    """What is skipped of these, met in this order."""
    watch = make_watch(**options)
    found = []
    for target in targets:
        url = url_of(target)
        kind = watch.judge(url)
        if kind is None:
            watch.count(url)
        else:
            found.append((target, kind))
    return found


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("/a/a/a", TrapKind.REPEATING_PATH),
        ("/en/blog/en/blog/en/blog/", TrapKind.REPEATING_PATH),
        ("/x/y/1/y/1/y/1", TrapKind.REPEATING_PATH),
        ("/images/images/images/logo.png", TrapKind.REPEATING_PATH),
        ("/a/b/c/d/a/b/c/d/a/b/c/d/", TrapKind.REPEATING_PATH),
        ("/" + "/".join(f"s{n}" for n in range(30)), TrapKind.GROWING_PATH),
        ("/" + "x" * 2100, TrapKind.GROWING_PATH),
        ("/?next=" + "%252F" * 500, TrapKind.GROWING_PATH),
        ("/calendar/2031/05/", TrapKind.CALENDAR),
        ("/events?month=2029-01", TrapKind.CALENDAR),
        ("/events?year=2030&month=7", TrapKind.CALENDAR),
        ("/events?m=7&y=2030", TrapKind.CALENDAR),
        ("/cal/20300101", TrapKind.CALENDAR),
        ("/s?" + "&".join(f"p{n}=1" for n in range(25)), TrapKind.PARAMETER_SPRAWL),
        ("/s?" + "&".join("p=1" for _ in range(25)), TrapKind.PARAMETER_SPRAWL),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_address_that_shows_by_itself_that_it_has_no_end(target: str, kind: TrapKind) -> None:
    assert make_watch().judge(url_of(target)) is kind


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/a/a",
        "/docs/en/docs/",
        "/tiles/1/1/1/1.png",
        "/objects/00/00/00/00.bin",
        "/wiki/Wikipedia:Wikipedia_is_not_a_wiki",
        "/library/xml.etree.elementtree.html",
        "/blog/2024/02/29/leap/",
        "/news/1851/09/18/first-issue",
        "/events/2027-11/",
        "/release-2099.html",
        "/item/20991231999",
        "/phone/2030405060",
        "/v/2030.1/notes",
        "/flights?from=2026-03&to=2026-04&class=2",
        "/search?q=a&page=2&sort=asc&lang=en&size=20&view=list&from=1&to=2",
        "/a//b///c",
        "/" + "/".join(f"level-{n}" for n in range(15)),
    ],
)
def test_an_address_of_a_real_site_is_none(target: str) -> None:
    assert make_watch().judge(url_of(target)) is None


ARCHIVE = [f"/archive/{year}/{month:02}/" for year in range(1995, 2027) for month in range(1, 13)]
DAYS = [f"/{y}/{m:02}/{d:02}/" for y in range(2016, 2026) for m in range(1, 13) for d in range(1, 29)]
POSTS = [f"/{2010 + n % 16}/{n % 12 + 1:02}/post-number-{n}-about-things/" for n in range(3000)]
PRODUCTS = [f"/product?id={n}" for n in range(5000)]
PAGES = [f"/category/shoes?page={n}" for n in range(500)]
FACETS = [
    f"/shop?{'&'.join(part for part in (color, size, order, page) if part)}"
    for color in ("", "color=red", "color=blue", "color=green")
    for size in ("", "size=s", "size=m", "size=l")
    for order in ("", "sort=price", "sort=name")
    for page in ("", *(f"page={n}" for n in range(1, 20)))
    if color or size or order or page
]
MANUAL = [
    f"/3.11/{part}/{name}.html" for part in ("library", "c-api", "howto") for name in map(str, range(400))
]
FORUM = [f"/viewtopic.php?f={n % 40}&t={n}&start={n % 5 * 15}" for n in range(4000)]
WIKI = [
    f"/index.php?title=Page_{n}&action={a}&oldid={n}" for n in range(800) for a in ("history", "edit", "view")
]


@pytest.mark.parametrize(
    "site",
    [ARCHIVE, DAYS, POSTS, PRODUCTS, PAGES, FACETS, MANUAL, FORUM, WIKI],
    ids=["months", "days", "posts", "products", "pages", "facets", "manual", "forum", "wiki"],
)
def test_real_sites_lose_no_page(site: list[str]) -> None:
    assert skipped(site) == []


def test_a_calendar_that_goes_on_for_ever_ends_two_years_ahead() -> None:
    months = [f"/calendar/{2026 + n // 12}/{n % 12 + 1:02}" for n in range(600)]
    lost = skipped(months)
    assert {kind for _, kind in lost} == {TrapKind.CALENDAR}
    assert len(months) - len(lost) == 27


def test_a_calendar_that_goes_back_for_ever_ends_as_well() -> None:
    days = [f"/day?d={2025 - n // 336}-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}" for n in range(6000)]
    assert len(days) - len(skipped(days)) == 4000
    assert len(days) - len(skipped(days, trap_dates=50)) == 50


def test_ever_new_sets_of_parameters_for_one_path_end_and_known_sets_go_on() -> None:
    sets = [f"/list?{'&'.join(f'f{bit}=1' for bit in range(8) if n >> bit & 1)}" for n in range(1, 256)]
    lost = skipped(sets)
    assert {kind for _, kind in lost} == {TrapKind.PARAMETER_SPRAWL}
    assert len(sets) - len(lost) == 64
    assert skipped([*sets, "/list?f0=2", "/other?f7=1"]) == lost


def test_hosts_are_counted_apart() -> None:
    sets = [f"?{'&'.join(f'f{bit}=1' for bit in range(6) if n >> bit & 1)}" for n in range(1, 60)]
    assert skipped([f"https://{host}.example/{each}" for host in "abc" for each in sets]) == []


def test_counts_are_known_at_the_next_sitting() -> None:
    kept: dict[str, str] = {}
    sets = [f"/list?{'&'.join(f'f{bit}=1' for bit in range(8) if n >> bit & 1)}" for n in range(1, 256)]
    first = TrapWatch(CrawlPolicy(), TODAY, kept.__setitem__)
    for target in sets[:64]:
        first.count(url_of(target))
    second = TrapWatch(CrawlPolicy(), TODAY, kept.__setitem__)
    second.restore(kept.items())
    assert second.judge(url_of(sets[3])) is None
    assert second.judge(url_of(sets[100])) is TrapKind.PARAMETER_SPRAWL


async def test_what_was_skipped_is_told_with_its_number_and_its_kind(bench: Any) -> None:
    a = "http://a.example"
    site = {
        f"{a}/": bench.page(links=("/x/x/x", "/2099/01/", "/ok", "/x/x/x")),
        f"{a}/ok": bench.page(links=("/x/x/x/x",)),
    }
    manifest = await bench.crawl(site, delay_seconds=0)
    assert bench.fetched() == [f"{a}/", f"{a}/ok"]
    (warning,) = manifest["warnings"]
    assert warning["code"] == "TRAP_SKIPPED"
    assert warning["message"] == (
        "4 links not followed, since such addresses have no end: calendar 1, repeating path 3"
    )


async def test_a_trap_is_left_after_a_bounded_number_of_pages(bench: Any) -> None:
    """A site that answers everything, each page linking to one deeper and to its next month."""

    def answer(url: str) -> Any:
        path = url.removeprefix("http://a.example").rstrip("/")
        month = int(path.rpartition("/cal/")[2] or 0) if "/cal/" in path else 24315
        return bench.page(
            links=(f"{path}/deeper/", f"/cal/{(month + 1) // 12}-{(month + 1) % 12 + 1:02}"), seconds=0
        )

    def site(url: str) -> Any:
        return answer(url.split("?", maxsplit=1)[0]) if "/cal/" not in url else bench.page(links=())

    manifest = await bench.crawl(site, max_pages=500, max_depth=400, delay_seconds=0)
    assert manifest["state"] == "COMPLETE"
    assert len(manifest["pages"]) < 40
