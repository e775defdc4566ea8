"""A machine that does not go along: no space, no permission, broken settings, hostile folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from mudroom.corpus import load_schema
from mudroom.testing.routes import Route
from mudroom.testing.threads import serve_in_thread

from .program import Program

LINKS = "".join(f'<a href="/{number}">{number}</a> ' for number in range(24))
SITE = (
    Route(path="/", body=f"<title>All</title>{LINKS}"),
    Route(path="/*", body="<title>One</title><p>" + "Words of a page. " * 8_000),
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for very little."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Take what a crawl that met the end of the disk has left of it, or given back."""
    with (folder / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))


def test_a_full_disk_ends_in_a_code_and_a_valid_record_and_nothing_half_written(
    program: Program, small_disk: Path
) -> None:
    workspace = small_disk / "workspace"
    with serve_in_thread(*SITE) as site:
        more = ("--allow-origin", site.origin, "--json", "--workspace", str(workspace))
        crawled = program.run("crawl", site.url("/"), *more, statuses=frozenset({0, 1}))
        fill(small_disk)
        opened = program.run("open", site.url("/1"), *more, statuses=frozenset({1}))
    manifest = crawled.json
    codes = {page["code"] for page in manifest["pages"]}
    told = codes | {warning["code"] for warning in manifest["warnings"]}
    assert "NO_SPACE" in told, (
        "of each page where there was room to say so, and of the run where there was not"
    )
    assert codes <= {None, "NO_SPACE", "CANCELLED"}, "what was on its way when the crawl ended is cancelled"
    assert opened.json["code"] == "NO_SPACE"
    run = workspace / "runs" / manifest["run_id"]
    for page in manifest["pages"]:
        if page["outcome"] == "STORED":
            assert len((run / page["path"]).read_text()) > 100
    stored = {page["path"] for page in manifest["pages"] if page["path"]}
    assert {f"pages/{file.name}" for file in (run / "pages").iterdir()} == stored
    assert [file for file in workspace.rglob("*") if file.suffix in {".tmp", ".part"}] == []
    for file in workspace.glob("runs/*/manifest.json"):
        jsonschema.validate(json.loads(file.read_text()), load_schema("manifest"))


def test_a_workspace_without_permission_is_a_typed_failure_and_says_which(
    program: Program, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    page = tmp_path / "page.html"
    page.write_text("<p>hello")
    dead = "http://127.0.0.1:1"
    for command in (("open", str(page)), ("crawl", dead, "--allow-origin", dead)):
        done = program.bound().run(
            *command, "--json", "--workspace", str(locked / "w"), statuses=frozenset({1})
        )
        assert "STORE_UNAVAILABLE" in done.told
        assert str(locked / "w") in done.told
    assert list(locked.iterdir()) == []


def test_a_workspace_that_is_a_file_is_a_typed_failure(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    page = tmp_path / "page.html"
    page.write_text("<p>hello")
    done = program.run("open", str(page), environment={"MUDROOM_WORKSPACE": str(tmp_path / "file")}, statuses=frozenset({1, 2}))  # fmt: skip
    assert "STORE_UNAVAILABLE" in done.err or "workspace" in done.err
    assert (tmp_path / "file").read_text() == "mine"


BROKEN: dict[str, tuple[str, list[str]]] = {
    "not TOML": ("[[[", ["not TOML"]),
    "unknown section": ("[secrets]\na = 1", ["secrets"]),
    "unknown key": ("[fetch]\nmax_body_byte = 1", ["max_body_byte"]),
    "each fault at once": ("[fetch]\nmax_body_bytes = -1\n[crawl]\nmax_pages = 'many'\n[jail]\nisolation = 'none'", ["fetch.max_body_bytes", "crawl.max_pages", "jail.isolation"]),
    "an exception for the world": ("[egress]\nallow_networks = ['0.0.0.0/0']", ["allow_networks"]),
    "anchors that are none": ("[egress]\nca_file = '/dev/null'\nca_hosts = ['a.example']", ["ca_file"]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BROKEN))
def test_broken_settings_are_told_all_at_once_and_nothing_is_begun(program: Program, name: str) -> None:
    text, told = BROKEN[name]
    config = program.folder / "mudroom.toml"
    config.write_text(text)
    config.chmod(0o600)
    command = ("serve",) if name == "not TOML" else ("open", "https://example.com/")
    done = program.run(*command, "--config", str(config), statuses=frozenset({2}))
    for words in told:
        assert words in done.err
    assert not program.workspace.exists()


def test_settings_that_others_can_write_are_refused(program: Program) -> None:
    config = program.folder / "mudroom.toml"
    config.write_text("[crawl]\nmax_pages = 3\n")
    config.chmod(0o666)
    done = program.run("open", "https://example.com/", "--config", str(config), statuses=frozenset({2}))
    assert "chmod go-w" in done.err


def test_a_folder_full_of_traps_changes_nothing(program: Program, tmp_path: Path) -> None:
    """Settings, an environment file and modules that lie where the program happens to be run from."""
    trap = tmp_path / "trap"
    trap.mkdir()
    witness = tmp_path / "trapped"
    code = f"open({str(witness)!r}, 'a').write(__name__)\n"
    (trap / "mudroom.toml").write_text(
        '[egress]\nallow_networks = ["127.0.0.0/8"]\n[screen]\ncommand = "touch x"\n'
    )
    (trap / ".env").write_text("MUDROOM_POLICY__WARN=flag\nMUDROOM_EGRESS__PORTS=1\n")
    for name in ("sitecustomize", "usercustomize", "click", "json", "pycurl", "site", "turbohtml", "re2"):
        (trap / f"{name}.py").write_text(code)
    (trap / "page.html").write_text("<p>hello")
    program_file = Path(sys.executable).with_name("mudroom")
    words = [str(program_file)] if program_file.exists() else [sys.executable, "-P", "-m", "mudroom"]
    for arguments in (("config", "show", "--changed", "--json"), ("open", "page.html")):
        done = subprocess.run(
            [*words, *arguments],
            cwd=trap,
            env=program.variables(),
            capture_output=True,
            check=False,
            timeout=60,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        if arguments[0] == "config":
            assert json.loads(done.stdout)["settings"] == []
    assert not witness.exists()


def test_no_proxy_of_the_environment_is_used_and_a_failure_says_so(program: Program) -> None:
    page = Route(path="/", body="<p>Direct.")
    with serve_in_thread(page) as site, serve_in_thread(Route(path="/*", body="<p>By proxy.")) as proxy:
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")
        environment = dict.fromkeys(names, proxy.origin)
        done = program.run("open", site.url("/"), "--allow-origin", site.origin, environment=environment)
        assert done.out == "Direct.\n"
        dead = program.run(
            "open", "http://127.0.0.1:1/", "--allow-origin", "http://127.0.0.1:1", environment=environment
        )
        assert "proxy" in dead.err.lower()
        assert proxy.total_connections == 0


def test_too_few_descriptors_end_in_a_code_and_never_in_waiting(program: Program) -> None:
    page = program.folder / "page.html"
    page.write_text("<p>hello")
    for number in (16, 17, 20, 26):
        few = replace(program, prefix=("sh", "-c", f'ulimit -n {number}; exec "$@"', "sh"))
        done = few.run("open", str(page), seconds=40, statuses=frozenset({0, 1}))
        if done.status:
            assert "JAIL_UNAVAILABLE" in done.err or "STORE_UNAVAILABLE" in done.err


def test_a_download_never_takes_the_place_of_a_device_or_a_pipe(program: Program) -> None:
    pipe = program.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with serve_in_thread(Route(path="/", body="bytes")) as site:
            arguments = ("download", site.url("/"), "--allow-origin", site.origin, "-o")
            program.run(*arguments, str(pipe))
            program.run(*arguments, "/dev/null")
        assert os.read(reader, 100) == b"bytes"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


def test_a_person_who_stops_listening_costs_no_page(program: Program) -> None:
    with serve_in_thread(*SITE) as site:
        process = program.start("crawl", site.url("/"), "--allow-origin", site.origin, "--jsonl", "-v")
        assert process.stderr is not None
        assert process.stdout is not None
        with process:
            process.stderr.close()
            rows = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert {row["outcome"] for row in rows} == {"STORED"}
    assert len(rows) == 25
