"""`mudroom crawl` beside crawling: trying it dry, explaining a URL, going on with a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.threads import serve_in_thread

from .conftest import Ran, RunCli

Crawl = Callable[..., Ran]


@pytest.fixture
def site() -> Iterator[SiteServer]:
    robots = "User-agent: *\nDisallow: /secret\nCrawl-delay: 4\nSitemap: /s.xml\n"
    routes = (
        Route(path="/robots.txt", body=robots),
        Route(path="/s.xml", status=404),
        Route(path="/", body='<h1>Start</h1><a href="/next">next</a>'),
        Route(path="/next", body="<h1>Next</h1>"),
    )
    with serve_in_thread(*routes) as server:
        yield server


@pytest.fixture
def crawl(site: SiteServer, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> Crawl:
    monkeypatch.setenv("MUDROOM_JAIL__ISOLATION", "process")
    return lambda *arguments: run_cli("crawl", *arguments, "--allow-origin", site.origin)


def test_a_dry_run_asks_for_robots_and_for_nothing_else(site: SiteServer, crawl: Crawl) -> None:
    ran = crawl(site.url("/"), "--dry-run", "--max-pages", "7")
    assert ran.status == 0
    assert [request.path for request in site.requests] == ["/robots.txt"]
    assert "at most 7 pages" in ran.err
    assert "asks for 4 s" in ran.err
    report = json.loads(crawl(site.url("/secret"), "--dry-run", "--json").out)
    assert (report["would_fetch"], report["steps"][-1]["code"]) == (False, "ROBOTS_DENIED")
    assert report["sitemaps_named"] == 0
    assert {request.path for request in site.requests} == {"/robots.txt"}
    assert crawl(site.url("/secret"), "--dry-run").status == 3


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/x", 0, "the pages tell"),
        ("/secret/x", 3, "ROBOTS_DENIED"),
        ("/a/a/a/a", 3, "repeating path"),
        ("//169.254.169.254/", 3, "DENIED_"),
        ("//b.example/", 3, "OFF_HOST"),
    ],
)
def test_a_url_is_explained(site: SiteServer, crawl: Crawl, path: str, status: int, told: str) -> None:
    ran = crawl(site.url("/"), "--explain", path)
    assert ran.status == status
    assert told in ran.out
    assert {request.path for request in site.requests} <= {"/robots.txt"}


def test_a_url_is_explained_by_what_a_run_made_of_it(site: SiteServer, crawl: Crawl) -> None:
    ran = crawl(site.url("/"), "--max-pages", "1", "--json", "--delay", "0")
    assert ran.status == 0
    known = crawl("--resume", "@last", "--explain", f"{site.url('/')}?utm_source=x", "--json")
    assert json.loads(known.out)["steps"][-1]["message"].endswith("0 links from the seed: STORED")
    unknown = json.loads(crawl("--resume", "@last", "--explain", "/next", "--json").out)
    assert "has not attempted it" in unknown["steps"][-1]["message"]


def test_a_run_that_is_over_is_refused_with_a_reason(site: SiteServer, crawl: Crawl) -> None:
    crawl(site.url("/"), "--max-pages", "1", "--no-robots", "--delay", "0")
    ran = crawl("--resume", "@last")
    assert ran.status == 2
    assert "max_pages" in ran.err
    crawl(site.url("/"), "--delay", "0", "--no-robots")
    ran = crawl("--resume", "@last")
    assert (ran.status, "is complete" in ran.err) == (2, True)
    assert crawl("--resume", "nothing").status == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name one or more URLs, or a run with --resume"),
        (("https://a.example/", "--resume", "@last"), "or a run with --resume"),
        (("--resume", "@last", "--max-pages", "3", "--scope", "host"), "leave --max-pages, --scope out"),
        (("--resume", "@last", "--include", "/x*", "--no-robots"), "leave --include, --no-robots out"),
        (("https://a.example/", "https://b.example/", "--explain", "x"), "one seed"),
    ],
)
def test_a_run_goes_on_under_its_own_policy_alone(
    crawl: Crawl, arguments: tuple[str, ...], told: str
) -> None:
    ran = crawl(*arguments)
    assert ran.status == 2
    assert told in ran.err
