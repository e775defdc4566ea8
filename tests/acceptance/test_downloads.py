"""`mudroom download` as a process: interrupted, killed, without room, without leave, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from mudroom.testing.routes import Route, Stall
from mudroom.testing.seen import SeenRequest
from mudroom.testing.server import SiteServer
from mudroom.testing.threads import serve_in_thread

from .program import Program, interrupt

MIB = 1024 * 1024
BODY = os.urandom(40 * MIB)
COMMAND = ("download", "-O", "-C", "--max-bytes", str(len(BODY)))


def answer(seen: SeenRequest) -> Route:
    """All but the last byte, and then nothing more, until somebody asks for the rest."""
    headers = (("ETag", '"v1"'),)
    asked = seen.header("range")
    if asked is None or seen.header("if-range") != '"v1"':
        return Route(path="", headers=headers, body=(BODY[:-1], Stall()), content_length=len(BODY))
    first = int(asked.removeprefix("bytes=").removesuffix("-"))
    content_range = f"bytes {first}-{len(BODY) - 1}/{len(BODY)}"
    return Route(path="", status=206, headers=(*headers, ("Content-Range", content_range)), body=BODY[first:])


def wait_until_it_stalls(program: Program, process: subprocess.Popen[bytes], pattern: str) -> None:
    """Until all that the site sends has been written, but for what lies in a buffer."""
    while process.poll() is None:
        sizes = [path.stat().st_size for path in program.folder.glob(pattern)]
        if sizes and max(sizes) >= len(BODY) - MIB:
            return
    raise AssertionError("it ended")


def start(program: Program, site: SiteServer, *arguments: str) -> subprocess.Popen[bytes]:
    return program.start(*arguments, site.url("/big.bin"), "--allow-origin", site.origin)


def names(program: Program) -> list[str]:
    return sorted(path.name for path in program.folder.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_download_that_is_stopped_is_gone_on_with(program: Program, number: signal.Signals) -> None:
    with serve_in_thread(Route(path="/big.bin", answer=answer)) as site:
        process = start(program, site, *COMMAND)
        wait_until_it_stalls(program, process, ".big.bin.part")
        interrupt(process, number)
        process.communicate(timeout=60)
        assert process.returncode == (130 if number is signal.SIGINT else -number)
        assert names(program) == [".big.bin.part", ".big.bin.part.json"]
        ended = program.run(*COMMAND, site.url("/big.bin"), "--json", "--allow-origin", site.origin)
    (report,) = ended.json
    assert (ended.status, report["bytes"]) == (0, len(BODY))
    # What was certain: everything where there was time to say so, else what the last sync covered.
    assert report["continued_from"] >= (len(BODY) - MIB if number is signal.SIGINT else 32 * MIB)
    assert names(program) == ["big.bin"]
    assert (program.folder / "big.bin").read_bytes() == BODY


def test_without_continuing_an_interrupt_leaves_no_file(program: Program) -> None:
    with serve_in_thread(Route(path="/big.bin", answer=answer)) as site:
        process = start(program, site, "download", "-O", "--max-bytes", str(len(BODY)))
        wait_until_it_stalls(program, process, ".big.bin.*.part")
        interrupt(process)
        process.communicate(timeout=60)
    assert (process.returncode, names(program)) == (130, [])


@pytest.mark.parametrize("more", [(), ("-C",)])
def test_a_full_disk_is_one_sentence_and_leaves_no_half_file(program: Program, more: tuple[str, ...]) -> None:
    limited = Program(
        workspace=program.workspace,
        folder=program.folder,
        prefix=("sh", "-c", 'ulimit -f 64; exec "$@"', "sh"),
    )
    route = Route(path="/big.bin", headers=(("ETag", '"v1"'),), body=BODY[:MIB])
    with serve_in_thread(route) as site:
        ended = limited.run(
            "download", "-O", *more, "--json", site.url("/big.bin"), "--allow-origin", site.origin
        )
        (report,) = ended.json
        assert (ended.status, report["code"]) == (1, "NO_SPACE")
        assert names(program) == ([".big.bin.part", ".big.bin.part.json"] if more else [])
        if more:
            notes = json.loads((program.folder / ".big.bin.part.json").read_text())
            assert notes["size"] == report["kept_bytes"] == (program.folder / ".big.bin.part").stat().st_size


@pytest.mark.parametrize("more", [(), ("-C",)])
def test_a_folder_that_cannot_be_written_is_told(program: Program, more: tuple[str, ...]) -> None:
    closed = program.folder / "closed"
    closed.mkdir(mode=0o500)
    with serve_in_thread(Route(path="/", body="x")) as site:
        ended = program.bound().run(
            "download", "-o", str(closed / "f"), *more, site.url("/"), "--allow-origin", site.origin
        )
    assert ended.status == 1
    assert "STORE_UNAVAILABLE" in ended.err
    assert list(Path(closed).iterdir()) == []
