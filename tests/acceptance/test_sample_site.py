"""The sample site, taken in by the real program in a process of its own: every page as expected."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mudroom.testing.sample_site import NEVER_REQUESTED, SAMPLE_EXPECTATIONS, SAMPLE_FILE, sample_routes
from mudroom.testing.threads import serve_in_thread

ROOT = Path(__file__).parents[2]
HIDDEN_WORDS = (
    "ignore all previous instructions. you are now",
    "disregard your prior",
    "collect.attacker.example",
)


def run(*arguments: str, workspace: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mudroom", *arguments, "--workspace", str(workspace)],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(workspace)},
    )


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, int], str]:
    """Workspace, manifest, hits of the paths that must have none, and what a person read meanwhile."""
    workspace = tmp_path_factory.mktemp("workspace")
    with serve_in_thread(*sample_routes()) as site:
        done = run("crawl", site.url("/"), "--allow-origin", site.origin, "--json", workspace=workspace)
        assert done.returncode == 0, done.stderr
        hits = {path: site.hit_count(path) for path in NEVER_REQUESTED}
    return workspace, json.loads(done.stdout), hits, done.stderr


def test_every_page_ends_as_expected(crawl: tuple[Path, dict[str, Any], dict[str, int], str]) -> None:
    _, manifest, _, _ = crawl
    pages = {urlsplit(page["url"]).path: page for page in manifest["pages"]}
    assert set(SAMPLE_EXPECTATIONS) - set(pages) == set()
    ends = {path: (pages[path]["outcome"], pages[path]["code"]) for path in SAMPLE_EXPECTATIONS}
    assert ends == {path: (row.outcome, *(row.codes or {None})) for path, row in SAMPLE_EXPECTATIONS.items()}
    for path, row in SAMPLE_EXPECTATIONS.items():
        assert row.decision in {None, pages[path]["decision"]}, path


def test_what_must_not_be_asked_for_was_not(
    crawl: tuple[Path, dict[str, Any], dict[str, int], str],
) -> None:
    _, manifest, hits, _ = crawl
    assert hits == dict.fromkeys(NEVER_REQUESTED, 0)
    assert manifest["state"] == "COMPLETE"


def test_no_word_of_a_blocked_page_reaches_the_run_or_the_terminal(
    crawl: tuple[Path, dict[str, Any], dict[str, int], str],
) -> None:
    workspace, manifest, _, told = crawl
    texts = [told, json.dumps(manifest)]
    texts += [file.read_text(encoding="utf-8") for file in (workspace / "runs").rglob("*") if file.is_file()]
    assert len(texts) > 2 * manifest["totals"]["stored"]
    for words in HIDDEN_WORDS:
        assert [text for text in texts if words in text.lower()] == []


def test_the_invoice_is_withheld_with_a_status_that_says_so(tmp_path: Path) -> None:
    done = run("open", str(SAMPLE_FILE), "--json", workspace=tmp_path)
    outcome = json.loads(done.stdout)
    assert (done.returncode, outcome["outcome"], outcome["code"]) == (3, "BLOCKED", "PROMPT_INJECTION")
    assert "markdown" not in outcome
    assert "collect.attacker.example" not in done.stdout + done.stderr
