"""What is kept of an ended page, read back: as it was, or refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from mudroom.address import ExceptionScope, parse_url
from mudroom.crawl import SqliteShelf
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Recorded
from mudroom.errors import Code, StoreFailed
from mudroom.model import Hop, Link, LinkRelation

PAGE = EndedPage(
    number=3,
    depth=1,
    url="https://site.example/3",
    retries=("DNS_FAILURE",),
    wire_bytes=7,
    final_url="https://site.example/three",
    sha256="a" * 64,
    hops=(Hop(url="https://site.example/3", address="", status=0, protocol="", exception="x"),),
    links=(Link("/4"), Link("/5", True, LinkRelation.NEXT)),
    base=parse_url("https://site.example/three"),
    link_scope=ExceptionScope.of("http://127.0.0.1:8000"),
)


def test_a_page_comes_back_as_it_was() -> None:
    assert EndedPage.decode(PAGE.encode()) == PAGE


@pytest.mark.parametrize(
    "change",
    [
        {"number": "3"},
        {"depth": 1e400},
        {"depth": -1},
        {"wire_bytes": True},
        {"url": None},
        {"url": "\ud800"},
        {"final_url": {}},
        {"sha256": []},
        {"sha256": "\ud800"},
        {"base": 5},
        {"base": {}},
        {"links": [[None, False, "anchor"]]},
        {"links": [["/4", False, {}]]},
        {"links": [["/4", False, "made up"]]},
        {"links": 5},
        {"hops": [["x"]]},
        {"hops": [[None, None]]},
        {"retries": [{}]},
        {"link_scope": 5},
        {"link_scope": "*"},
        {"link_scope": None},
        "[" * 100_000,
        "5",
        "not JSON",
    ],
    ids=lambda change: str(change)[:40],
)
def test_what_nobody_wrote_like_this_is_damage(tmp_path: Path, change: dict[str, object] | str) -> None:
    line = change if isinstance(change, str) else json.dumps(json.loads(PAGE.encode()) | change)
    frontier = SqliteShelf(tmp_path).create("crawl_x", 10)
    frontier.close(keeps=True)
    database = sqlite3.connect(tmp_path / "crawl_x.sqlite", isolation_level=None)
    database.execute("INSERT INTO held VALUES (3, ?)", (line,))
    database.execute("INSERT INTO urls (digest) VALUES (x'00')")
    database.close()
    frontier = SqliteShelf(tmp_path).reopen("crawl_x", 10)
    assert frontier is not None
    recorded = [Recorded(number=3, url="https://site.example/3", depth=1, has_links=True)]
    with pytest.raises(StoreFailed) as caught:
        frontier.restore(recorded)
    assert caught.value.code is Code.SNAPSHOT_CORRUPT
    frontier.close(keeps=True)
