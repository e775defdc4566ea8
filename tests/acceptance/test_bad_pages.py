"""Bad pages, all in one crawl: one typed end each, and the pages beside them unharmed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from mudroom.corpus import load_schema
from mudroom.errors import CODES, Code
from mudroom.testing.routes import Route
from mudroom.testing.threads import serve_in_thread

from .bad_site import BAD_PAGES, BadPage, bad_routes, honest_paths
from .program import Program

QUICK = {
    "MUDROOM_FETCH__IDLE_TIMEOUT_SECONDS": "3",
    "MUDROOM_FETCH__RESPONSE_TIMEOUT_SECONDS": "4",
    "MUDROOM_CRAWL__MAX_PAGES": "500",
}
"""Patience that a test has."""


@pytest.fixture(scope="module")
def crawl(shared_program: Program) -> dict[str, Any]:
    """The manifest of the bad site."""
    with serve_in_thread(*bad_routes()) as site:
        done = shared_program.run(
            "crawl",
            site.url("/"),
            "--allow-origin",
            site.origin,
            "--json",
            environment=QUICK,
            statuses=frozenset({0}),
        )
    manifest: dict[str, Any] = done.json
    jsonschema.validate(manifest, load_schema("manifest"))
    return manifest


def by_path(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {urlsplit(page["url"]).path: page for page in manifest["pages"]}


@pytest.mark.parametrize("bad", BAD_PAGES, ids=[bad.path[1:] for bad in BAD_PAGES])
def test_a_bad_page_has_the_one_end_it_may_have(crawl: dict[str, Any], bad: BadPage) -> None:
    page = by_path(crawl)[bad.path]
    assert (page["outcome"], page["code"]) == (bad.outcome, bad.code)
    if bad.code is not None:
        assert page["reason"] == CODES[bad.code].reason
        assert page["path"] is None


def test_every_page_beside_a_bad_one_is_stored_whole(crawl: dict[str, Any], shared_program: Program) -> None:
    pages = by_path(crawl)
    run = shared_program.workspace / "runs" / crawl["run_id"]
    for path in honest_paths():
        assert pages[path]["outcome"] == "STORED", path
        assert "nothing wrong about it" in (run / pages[path]["path"]).read_text()


def test_the_crawl_ends_complete_with_every_page_accounted_for(
    crawl: dict[str, Any], shared_program: Program
) -> None:
    assert crawl["state"] == "COMPLETE"
    assert len(crawl["pages"]) == crawl["totals"]["attempted"] == 1 + 2 * len(BAD_PAGES)
    run = shared_program.workspace / "runs" / crawl["run_id"]
    assert json.loads((run / "manifest.json").read_text()) == crawl
    stored = {page["path"] for page in crawl["pages"] if page["path"]}
    assert {f"pages/{file.name}" for file in (run / "pages").iterdir()} == stored
    assert shared_program.half_written() == []


HEAVY = {
    "less-than-signs": Route(path="/", body=b"<" * 10_000_000),
    "brackets": Route(path="/", content_type="text/plain", body=b"[](" * 1_000_000),
    "comments": Route(path="/", body=b"<!--" * 1_000_000),
    "end-tags": Route(path="/", body=b"</p>" * 1_000_000),
    "commas": Route(path="/", content_type="text/csv", body=b"," * 4_000_000),
}


@pytest.mark.parametrize("name", list(HEAVY))
def test_millions_of_one_sign_end_in_time(program: Program, name: str) -> None:
    with serve_in_thread(HEAVY[name]) as site:
        done = program.run("open", site.url("/"), "--allow-origin", site.origin, "--json", seconds=80)
    assert done.json["outcome"] in {"STORED", "BLOCKED"}
    assert done.json["code"] in {None, Code.EXTRACTION_LIMIT, Code.SCANNER_FAILURE}


MEASURE = """
import pathlib, resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
pathlib.Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""
"""Runs a command and writes down its peak memory in KiB.

A process counts as its own peak that of the one it was forked from. Tests run in a large process, so
a small one stands between.
"""


def test_the_program_stays_small_whatever_a_bomb_would_be(program: Program, tmp_path: Path) -> None:
    bombs = [bad.route for bad in BAD_PAGES if bad.path.startswith("/bomb")]
    peak = tmp_path / "peak"
    measured = replace(program, prefix=(sys.executable, "-c", MEASURE, str(peak)))
    with serve_in_thread(*bombs) as site:
        urls = [site.url(bomb.path) for bomb in bombs]
        done = measured.run("open", *urls, "--allow-origin", site.origin, "--jsonl", statuses=frozenset({3}))
    ends = [json.loads(line)["code"] for line in done.out.splitlines()]
    assert ends == ["DECODED_TOO_LARGE"] * len(bombs)
    assert int(peak.read_text()) < 600 * 1024, "the program, and a few bodies at their limit"
