"""What we write, read by the programs of others: warcio, cdxj-indexer, wacz and pywb, in an environment of theirs.

The environment is built from requirements/archive-tools.txt, or ARCHIVE_TOOLS_VENV names one that is there.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mudroom.exchange.cdxj import sort_key_of
from mudroom.testing.routes import Route
from mudroom.testing.threads import serve_in_thread

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PLAIN = b"<!doctype html><title>Plain</title><p>caf\xe9 <a href=/packed?b=2&A=1>on</a>\r\n\r\n"
PACKED = "<p>Packed, é.".encode()


def run(*words: str | Path, folder: Path, **variables: str) -> str:
    """What a program says on both streams; warnings of its libraries are no word of its own."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "ignore", **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of their programs."""
    named = os.environ.get("ARCHIVE_TOOLS_VENV")
    if named:
        return Path(named) / "bin"
    folder = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    lock = ROOT / "requirements" / "archive-tools.txt"
    run(folder / "venv/bin/pip", "install", "-q", "--require-hashes", "-r", lock, folder=folder)
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run as `site.warc.gz`, as `site.wacz`, and the archive of the workspace beside them."""
    folder = tmp_path_factory.mktemp("archives")
    routes = (
        Route(path="/", content_type="text/html; charset=latin1", body=PLAIN),
        Route(
            path="/packed",
            content_type="text/html; charset=utf-8",
            headers=(("Content-Encoding", "gzip"), ("Set-Cookie", "a=b")),
            body=gzip.compress(PACKED),
        ),
    )
    variables = {
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder),
        "MUDROOM_WORKSPACE": str(folder / "workspace"),
    }
    program = (sys.executable, "-m", "mudroom")
    with serve_in_thread(*routes) as site:
        run(*program, "crawl", site.url("/"), "--allow-origin", site.origin, folder=folder, **variables)
        (folder / "origin").write_text(site.origin)
    run(*program, "export", "@last", "--warc", "site.warc.gz", folder=folder, **variables)
    run(*program, "export", "@last", "--wacz", "site.wacz", folder=folder, **variables)
    return folder


def segments(archives: Path) -> list[Path]:
    return sorted((archives / "workspace/private/archive").rglob("*.warc.gz"))


def test_warcio_finds_every_digest_true(tools: Path, archives: Path) -> None:
    for path in (archives / "site.warc.gz", *segments(archives)):
        assert "digest pass" in run(tools / "warcio", "check", "-v", path, folder=archives)


def test_the_indexer_finds_the_keys_that_our_index_has(tools: Path, archives: Path) -> None:
    lines = run(tools / "cdxj-indexer", "site.warc.gz", folder=archives).splitlines()
    assert len(lines) == 2
    for line in lines:
        key, _, fields = line.split(" ", 2)
        assert key == sort_key_of(json.loads(fields)["url"])
    for path in segments(archives):
        assert run(tools / "cdxj-indexer", path, folder=archives)


def test_the_validator_finds_a_wacz_valid(tools: Path, archives: Path) -> None:
    assert "Validation succeeded" in run(tools / "wacz", "validate", "-f", "site.wacz", folder=archives)


def get(port: int, path: str) -> tuple[bytes, str]:
    """Body and header fields of an answer on loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read(), str(answer.headers).lower()
    finally:
        connection.close()


@contextmanager
def replayed(tools: Path, folder: Path) -> Iterator[int]:
    """The port of loopback at which pywb serves the collections in a folder."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = int(bound.getsockname()[1])
    program = subprocess.Popen(
        [str(tools / "wayback"), "-b", "127.0.0.1", "-p", str(port)], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            try:
                get(port, "/")
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        program.terminate()
        program.wait(30)


@pytest.mark.parametrize("source", ["export", "workspace"])
def test_pywb_serves_a_page_back_byte_for_byte(
    tools: Path, archives: Path, tmp_path: Path, source: str
) -> None:
    run(tools / "wb-manager", "init", "pages", folder=tmp_path)
    found = [archives / "site.warc.gz"] if source == "export" else segments(archives)
    run(tools / "wb-manager", "add", "pages", *found, folder=tmp_path)
    origin = (archives / "origin").read_text()
    with replayed(tools, tmp_path) as port:
        plain, _ = get(port, f"/pages/2999id_/{origin}/")
        packed, fields = get(port, f"/pages/2999id_/{origin}/packed?b=2&A=1")
    assert (plain, packed) == (PLAIN, PACKED)
    assert ("set-cookie" in fields) is (source == "workspace")
