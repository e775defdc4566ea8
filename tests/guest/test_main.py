"""A guest as a program: its arguments, its pipes, its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mudroom
from mudroom.wire import (
    HEADER_BYTES,
    FrameKind,
    GuestHello,
    decode_ready,
    encode_hello,
    pack_header,
    parse_header,
)

HELLO = encode_hello(GuestHello(max_answer_bytes=1000))
NONCE = bytes(range(16))
BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from mudroom.guest.__main__ import main; main()"


def run(arguments: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    source = str(Path(mudroom.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-c", BOOT, source, *arguments]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("level", ["confined", "process"])
def test_a_guest_says_that_it_is_ready_and_ends_with_its_input(level: str) -> None:
    done = run(["probe", level, "-", str(1 << 30)], pack_header(FrameKind.HELLO, NONCE, len(HELLO)) + HELLO)
    if level == "confined" and done.returncode and b"OSError" in done.stderr:
        pytest.skip(done.stderr.decode().splitlines()[-1])
    header = parse_header(done.stdout, 100)
    assert (header.kind, header.nonce) == (FrameKind.READY, NONCE)
    ready = decode_ready(done.stdout[HEADER_BYTES:])
    assert ready.escapes == 0
    assert ready.has_seccomp is (level == "confined")
    assert done.returncode == 0


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"MUD", id="less than a header"),
        pytest.param(pack_header(FrameKind.HELLO, NONCE, 100), id="less than it says"),
        pytest.param(pack_header(FrameKind.SCAN, NONCE, 0), id="no greeting"),
    ],
)
def test_a_guest_that_is_not_greeted_ends_without_a_word(given: bytes) -> None:
    done = run(["probe", "process", "-", str(1 << 30)], given)
    assert done.stdout == b""


def test_a_wrong_call_is_told_how_to_call() -> None:
    done = run(["probe"], b"")
    assert done.returncode != 0
    assert b"usage: python -I -m mudroom.guest" in done.stderr
