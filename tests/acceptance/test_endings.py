"""How a crawl may be ended from outside: in good order by Ctrl-C, in none by SIGKILL. Nothing is lost or left."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from warcio.archiveiterator import ArchiveIterator

from mudroom.corpus import load_schema
from mudroom.testing.routes import Endless, Framing, Route, Stall
from mudroom.testing.server import SiteServer
from mudroom.testing.threads import serve_in_thread

from .program import Program, interrupt, is_running, list_descendants

PATIENCE_SECONDS = 20.0
LINKS = "".join(f'<a href="/page/{number}">{number}</a> ' for number in range(40))
SITE = (
    Route(path="/", body=f"<title>Contents</title><p>Contents {LINKS}<a href=/never>never</a>"),
    Route(path="/page/*", body="<title>Page</title><p>A page of the site."),
    Route(path="/never", raw=(Stall(),)),
)


def wait_until(is_done: Callable[[], bool]) -> None:
    """Return when it is so. Raises TimeoutError."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


def begin(program: Program, site: SiteServer, *more: str) -> subprocess.Popen[bytes]:
    """A crawl that is stuck in its last page, all others being done or on their way."""
    process = program.start("crawl", site.url("/"), "--allow-origin", site.origin, "--json", *more)
    wait_until(lambda: site.hit_count("/never") > 0 and len(site.requests) > 20)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_crawl_that_is_interrupted_leaves_a_valid_manifest_and_no_process(
    program: Program, number: signal.Signals
) -> None:
    with serve_in_thread(*SITE) as site:
        process = begin(program, site)
        below = list_descendants(process.pid)
        interrupt(process, number)
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    manifest: dict[str, Any] = json.loads(out)
    jsonschema.validate(manifest, load_schema("manifest"))
    assert manifest["state"] == "CANCELLED"
    assert manifest["totals"]["stored"] > 5
    (on_disk,) = program.manifests()
    assert on_disk == manifest
    run = program.workspace / "runs" / manifest["run_id"]
    assert all((run / page["path"]).is_file() for page in manifest["pages"] if page["path"])
    assert below
    wait_until(lambda: not any(is_running(pid) for pid in below))
    assert program.half_written() == []


def test_a_second_interrupt_ends_it_too(program: Program) -> None:
    with serve_in_thread(*SITE) as site:
        process = begin(program, site)
        below = list_descendants(process.pid)
        for _ in range(5):
            interrupt(process)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    wait_until(lambda: not any(is_running(pid) for pid in below))
    (manifest,) = program.manifests()
    jsonschema.validate(manifest, load_schema("manifest"))


def test_an_interrupt_while_guests_start_ends_in_words(program: Program) -> None:
    with serve_in_thread(*SITE) as site:
        for wait_seconds in (0.35, 0.5, 0.65, 0.8):
            process = program.start("open", site.url("/never"), "--allow-origin", site.origin)
            time.sleep(wait_seconds)
            below = list_descendants(process.pid)
            interrupt(process)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
            # Before the interpreter has come to our own code, it answers the signal itself.
            assert process.returncode in {130, -signal.SIGINT}, errors
            if process.returncode == 130:
                assert b"Traceback" not in errors
            wait_until(lambda pids=below: not any(is_running(pid) for pid in pids))


@pytest.fixture
def killed(program: Program) -> Program:
    """A workspace whose crawl was killed in mid-page."""
    with serve_in_thread(*SITE) as site:
        process = begin(program, site)
        wait_until(lambda: len(list(program.workspace.glob("runs/*/pages/*.md"))) > 5)
        below = list_descendants(process.pid)
        process.kill()
        process.communicate()
        assert below
        wait_until(lambda: not any(is_running(pid) for pid in below))
    return program


def test_a_killed_crawl_leaves_no_guest_and_the_next_run_works(killed: Program) -> None:
    (before,) = killed.manifests()
    jsonschema.validate(before, load_schema("manifest"))
    runs = killed.run("runs", "--json", statuses=frozenset({0}))
    assert before["run_id"] in runs.out
    with serve_in_thread(*SITE) as site:
        again = killed.run(
            "open", site.url("/page/1"), "--allow-origin", site.origin, "--json", statuses=frozenset({0})
        )
    assert again.json["outcome"] == "STORED"
    for file in killed.workspace.glob("runs/*/pages/*.md"):
        assert "of the site" in file.read_text() or "Contents" in file.read_text()


def test_the_archive_of_a_killed_crawl_is_whole_once_it_was_opened_again(killed: Program) -> None:
    with serve_in_thread(*SITE) as site:
        killed.run("open", site.url("/page/1"), "--allow-origin", site.origin, statuses=frozenset({0}))
    kinds: list[str] = []
    for segment in sorted(killed.workspace.glob("private/archive/*.warc.gz")):
        with segment.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()
                kinds.append(record.rec_type)
    assert kinds.count("response") + kinds.count("revisit") > 5


def test_a_crawl_ends_at_its_time_though_a_body_never_does(program: Program) -> None:
    endless = Route(path="/", body=(b"<p>", Endless(chunk=b" ")), framing=Framing.CHUNKED)
    with serve_in_thread(endless, Route(path="/slow", raw=(Stall(),))) as site:
        done = program.run(
            *("crawl", site.url("/slow"), "--allow-origin", site.origin, "--json", "--max-time", "2"),
            statuses=frozenset({0, 1}),
            seconds=30,
        )
    assert done.json["state"] == "LIMIT_REACHED"


def test_two_runs_at_once_share_a_workspace(program: Program) -> None:
    quick = SITE[:2]
    with serve_in_thread(*quick) as site:
        processes = [
            program.start(
                "crawl", site.url("/"), "--allow-origin", site.origin, "--json", "--max-pages", "15"
            )
            for _ in range(3)
        ]
        ends = [process.communicate(timeout=80) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], [end[1] for end in ends]
    manifests = [json.loads(out) for out, _ in ends]
    assert len({manifest["run_id"] for manifest in manifests}) == 3
    assert all(manifest["totals"]["stored"] == 15 for manifest in manifests)
    refs = {page["source_ref"] for manifest in manifests for page in manifest["pages"]}
    assert None not in refs
    assert list((program.workspace / "private" / "state" / "runs").iterdir()) == []


def test_a_demo_that_is_cancelled_names_no_differences(program: Program) -> None:
    process = program.start("demo")
    wait_until(lambda: any((program.workspace / "demo" / "runs").glob("crawl_*/pages/*")))
    interrupt(process)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"DIFFERENT" not in errors
    assert b"cancelled" in errors


def test_results_and_words_keep_their_order_where_they_meet(program: Program) -> None:
    process = program.start("check", "http://127.0.0.1/", stderr=subprocess.STDOUT)
    told, _ = process.communicate(timeout=60)
    lines = told.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["verdict", "refuse", "help"]
