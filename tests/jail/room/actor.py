"""A guest for tests: it works, and on demand does what a guest that was taken over would do."""

# Every action has the same shape, whatever of it an action needs.
# ruff: noqa: ARG002

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
import time

from mudroom.guest.loop import ANSWERS_FD
from mudroom.model import (
    Channel,
    ExtractedDocument,
    Finding,
    Hiding,
    Link,
    ScanReport,
    SecurityText,
    Severity,
    TextPiece,
    View,
)
from mudroom.wire import (
    FrameKind,
    decode_extract_request,
    digest_payload,
    encode_extracted,
    encode_scan_report,
    pack_header,
)

LIBC = ctypes.CDLL(None, use_errno=True)
# Call: number on x86_64, number on aarch64, arguments.
NUMBERS = {
    "socket": (41, 198, 2, 1, 0),
    "clone": (56, 220, 17, 0, 0, 0, 0),
    "execve": (59, 221, 0, 0, 0),
    "ptrace": (101, 117, 0, 0, 0, 0),
    "setrlimit": (160, 164, 9, 0),
    "keyctl": (250, 219, 0, 0),
    "unshare": (272, 97, 0x10000000),
    "prctl": (157, 167, 4, 1, 0, 0, 0),
    "bpf": (321, 280, 0, 0, 0),
    "io_uring_setup": (425, 425, 1, 0),
    "clone3": (435, 435, 0, 0),
    "mprotect_exec": (10, 226, 0, 0, 5),
    "kill_group": (62, 129, 0, 9),
    "kill_all": (62, 129, -1, 9),
}
COLUMN = ("x86_64", "aarch64").index(os.uname().machine)
CALLS = {name: (row[COLUMN], *row[2:]) for name, row in NUMBERS.items()}


def document(text: str, title: str = "") -> ExtractedDocument:
    piece = TextPiece(channel=Channel.TEXT, hiding=Hiding.NONE, line=1, text=text)
    return ExtractedDocument(
        media_type="text/html",
        charset="utf-8",
        title=title,
        views={View.MARKDOWN: text},
        links=(Link(untrusted_href="/next"),),
        base_url="https://bakery.test/",
        security_text=SecurityText.from_pieces([piece]),
        visible_chars=len(text),
        hidden_chars=0,
        removed_chars=0,
        needs_render=False,
    )


def send(payload: bytes, *, nonce: bytes, length: int | None = None) -> None:
    header = pack_header(FrameKind.EXTRACTED, nonce, len(payload) if length is None else length)
    data = header + payload
    while data:
        data = data[os.write(ANSWERS_FD, data) :]


def raw_call(name: str) -> str:
    number, *arguments = CALLS[name]
    result = LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return "worked" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def opened(path: str, flags: int = os.O_RDONLY) -> str:
    try:
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "worked"


class Actor:
    """`extract` does what the body says; `scan` reports one finding and the digest of the request."""

    def __init__(self) -> None:
        self.served = 0
        self.settings: tuple[int, ...] = ()

    def warm(self) -> None:
        self.parent = os.getppid()

    def configure(self, settings: tuple[int, ...]) -> None:
        self.settings = settings

    def answer(self, kind: FrameKind, payload: memoryview) -> tuple[FrameKind, bytes]:
        if kind is FrameKind.SCAN:
            return FrameKind.SCANNED, encode_scan_report(report(payload))
        self.served += 1
        word, _, rest = decode_extract_request(payload).body.decode().partition(" ")
        nonce = sys._getframe(2).f_locals["header"].nonce
        action = getattr(self, "do_" + word.replace("-", "_"))
        return FrameKind.EXTRACTED, action(rest, nonce)

    def do_echo(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(rest))

    def do_served(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(str(self.served)))

    def do_settings(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(repr(self.settings)))

    def do_big(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document("x" * int(rest)))

    def do_call(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(raw_call(rest)))

    def do_open(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(opened(rest.format(parent=self.parent))))

    def do_create(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(opened(rest, os.O_CREAT | os.O_WRONLY)))

    def do_environ(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document(" ".join(sorted(os.environ))))

    def do_print(self, rest: str, nonce: bytes) -> bytes:
        sys.stdout.write("x" * 100_000)
        sys.stdout.flush()
        for fd in (0, 1, 2):
            try:
                os.write(fd, b"x" * 1000)
            except OSError:
                continue
        return encode_extracted(document("printed"))

    def do_memory(self, rest: str, nonce: bytes) -> bytes:
        hoard = []
        while True:
            hoard.append(bytearray(1 << 24))

    def do_loop(self, rest: str, nonce: bytes) -> bytes:
        while True:
            pass

    def do_sleep(self, rest: str, nonce: bytes) -> bytes:
        while True:
            time.sleep(1000)

    def do_exit(self, rest: str, nonce: bytes) -> bytes:
        os._exit(int(rest))

    def do_crash(self, rest: str, nonce: bytes) -> bytes:
        ctypes.string_at(0)
        return b""

    def do_raise(self, rest: str, nonce: bytes) -> bytes:
        raise {"RecursionError": RecursionError, "ValueError": ValueError}[rest]

    def do_suicide(self, rest: str, nonce: bytes) -> bytes:
        # As the kernel's killer would; only a guest without a filter can do it to itself.
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    def do_surrogate_text(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document("ok", title="\ud800"))

    def do_surrogate_bytes(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document("ok", title="abc")).replace(b"abc", b"\xed\xa0\x80")

    def do_length(self, rest: str, nonce: bytes) -> bytes:
        send(b"", nonce=nonce, length=int(rest))
        return self.do_sleep("", nonce)

    def do_truncated(self, rest: str, nonce: bytes) -> bytes:
        send(b"x" * 10, nonce=nonce, length=100)
        os._exit(0)

    def do_half_header(self, rest: str, nonce: bytes) -> bytes:
        os.write(ANSWERS_FD, b"MUDR")
        os._exit(0)

    def do_garbage(self, rest: str, nonce: bytes) -> bytes:
        os.write(ANSWERS_FD, b"HTTP/1.1 200 OK\r\n\r\n" * 10)
        return self.do_sleep("", nonce)

    def do_flood(self, rest: str, nonce: bytes) -> bytes:
        send(b"", nonce=nonce, length=1000)
        while True:
            os.write(ANSWERS_FD, b"x" * 65536)

    def do_nonce(self, rest: str, nonce: bytes) -> bytes:
        send(encode_extracted(document("forged")), nonce=bytes(16))
        return self.do_sleep("", nonce)

    def do_twice(self, rest: str, nonce: bytes) -> bytes:
        payload = encode_extracted(document("twice"))
        header = pack_header(FrameKind.EXTRACTED, nonce, len(payload))
        os.write(ANSWERS_FD, (header + payload) * 2)
        return self.do_sleep("", nonce)

    def do_stale(self, rest: str, nonce: bytes) -> bytes:
        """A good answer, and in the pipe behind it another, for whatever is asked next."""
        send(encode_extracted(document("first")), nonce=nonce)
        return encode_extracted(document("for the next one"))

    def do_unclean(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document("ok" + chr(int(rest, 16)), title=""))

    def do_unclean_title(self, rest: str, nonce: bytes) -> bytes:
        return encode_extracted(document("ok", title="ok" + chr(int(rest, 16))))

    def do_counts(self, rest: str, nonce: bytes) -> bytes:
        good = encode_extracted(document("ok"))
        links = struct.pack("<I", 1) + struct.pack("<I", 5)
        assert links in good
        return good.replace(links, struct.pack("<I", 2**32 - 1) + struct.pack("<I", 5))

    def do_hang_up(self, rest: str, nonce: bytes) -> bytes:
        os.close(ANSWERS_FD)
        return self.do_sleep("", nonce)

    def do_kind(self, rest: str, nonce: bytes) -> bytes:
        os.write(ANSWERS_FD, pack_header(FrameKind.SCANNED, nonce, 0))
        return self.do_sleep("", nonce)

    def do_code(self, rest: str, nonce: bytes) -> bytes:
        os.write(ANSWERS_FD, pack_header(FrameKind.FAILURE, nonce, 1) + b"\xee")
        return self.do_sleep("", nonce)


def report(payload: memoryview) -> ScanReport:
    finding = Finding(
        id="TEST-001",
        severity=Severity.LOW,
        category="test",
        channel=Channel.TEXT,
        hiding=Hiding.NONE,
        line=1,
    )
    return ScanReport(findings=(finding,), request_sha256=digest_payload(payload), scanner_version="test/1")


class Stillborn:
    """A role that cannot be started."""

    def warm(self) -> None:
        raise LookupError("no such thing as work")
