"""`import mudroom` as a program uses it, with real guests."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mudroom
from mudroom.errors import Code
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer
from mudroom.testing.threads import serve_in_thread


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteServer]:
    routes = (
        Route(path="/", body='<h1>Front</h1><a href="/next">n</a>'),
        Route(path="/next", body="<p>Next.</p>"),
    )
    with serve_in_thread(*routes) as served:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("MUDROOM_WORKSPACE", str(tmp_path / "workspace"))
        monkeypatch.setenv("MUDROOM_EGRESS__ALLOW_ORIGINS", served.origin)
        yield served


async def test_a_page_and_a_file_are_opened_and_a_site_is_crawled(site: SiteServer, tmp_path: Path) -> None:
    page = await mudroom.open(site.url("/"))
    assert isinstance(page, mudroom.Stored)
    assert page.page.markdown.startswith("# Front\n")
    (tmp_path / "f.html").write_text("<p>A file.</p>")
    file = await mudroom.open(tmp_path / "f.html", text=True)
    assert isinstance(file, mudroom.Stored)
    assert (file.text or "").strip() == "A file."
    manifest = await mudroom.crawl(site.url("/"), mudroom.CrawlPolicy(max_pages=1))
    assert (manifest["state"], manifest["totals"]["stored"]) == ("LIMIT_REACHED", 1)


async def test_a_program_scores_the_links_of_a_crawl_and_reads_its_pages_as_they_come(
    site: SiteServer,
) -> None:
    asked: list[tuple[str, int, int]] = []

    def score(url: str, context: mudroom.LinkContext) -> float:
        asked.append((url, context.page_number, context.depth))
        return 1.0

    seed = mudroom.Seed(url=site.url("/"), headers=(("X-Reader", "r"),))
    policy = mudroom.CrawlPolicy(should_follow=score, delay_seconds=0)
    pages = [page async for page in mudroom.crawl_stream(seed, policy)]
    assert [page.facts.requested_url for page in pages] == [site.url("/"), site.url("/next")]
    assert asked == [(site.url("/next"), 1, 1)]


def test_without_a_loop_opening_blocks(site: SiteServer) -> None:
    outcome = mudroom.open_sync("http://10.0.0.1/")
    assert isinstance(outcome, mudroom.Failed)
    assert outcome.code is Code.DENIED_ADDRESS


async def test_only_configuration_is_raised(site: SiteServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(mudroom.InvalidConfig, match="max_pages is -1"):
        await mudroom.crawl(site.url("/"), mudroom.CrawlPolicy(max_pages=-1))
    monkeypatch.setenv("MUDROOM_CRAWL__MAX_PAGES", "-1")
    with pytest.raises(mudroom.InvalidConfig):
        await mudroom.open(site.url("/"))


def test_every_name_of_the_library_can_be_had_and_costs_nothing_before() -> None:
    script = (
        "import sys, mudroom\n"
        "assert not any(name.startswith('mudroom.') for name in sys.modules)\n"
        "import mudroom.crawl\n"
        "from mudroom.crawl import CrawlPolicy\n"
        "assert mudroom.CrawlPolicy is CrawlPolicy\n"
        "assert callable(mudroom.crawl) and mudroom.crawl.__name__ == 'crawl_site'\n"
        "for name in mudroom.__all__: getattr(mudroom, name)\n"
        "from mudroom import *\n"
        "assert set(mudroom.__all__) <= set(dir(mudroom))\n"
        "assert not hasattr(mudroom, 'nothing')\n"
    )
    source = Path(__file__).parents[2] / "src"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=source)
