"""A guest's life: warm up, lock, then a frame in, work, a frame out, until the pipe ends."""

from __future__ import annotations

import fcntl
import gc
import os
from typing import Protocol

from mudroom.errors import Code, MudroomError
from mudroom.guest.lock import LockOrder, lock_guest
from mudroom.model import Limit
from mudroom.wire import (
    HEADER_BYTES,
    FrameHeader,
    FrameKind,
    decode_hello,
    encode_failure,
    encode_ready,
    pack_header,
    parse_header,
    refuse,
)

__all__ = ["ANSWERS_FD", "REQUESTS_FD", "Role", "live"]

REQUESTS_FD = 3
ANSWERS_FD = 4
_READ_BYTES = 256 * 1024
_MAX_REQUEST_BYTES = 2**32 - 1
_FIRST_SAFE_FD = 10
_LAST_CLOSED_FD = 1024


class Role(Protocol):
    """The work of a guest."""

    def warm(self) -> None:
        """Does the work once on a built-in document, so that nothing is imported or opened later."""
        ...

    def configure(self, settings: tuple[int, ...]) -> None:
        """Takes its own limits, in the order of their declaration; once, before the first request."""
        ...

    def answer(self, kind: FrameKind, payload: bytes | bytearray | memoryview) -> tuple[FrameKind, bytes]:
        """The answer to a request. A MudroomError becomes a failure with its code; anything else ends us."""
        ...


def live(role: Role, order: LockOrder) -> None:
    """Nothing; returns when the parent closes the pipe.

    Why the descriptors move: a library that prints must not reach the parent, so 0 and 1 lead to /dev/null
    and the protocol has numbers of its own. What goes wrong up to the lock is told on 2; then 2 is closed,
    and nothing can be opened in its place.
    """
    take_descriptors()
    role.warm()
    gc.collect()
    gc.freeze()
    ready = encode_ready(lock_guest(order))
    os.close(2)
    hello = _read_frame()
    if hello is None or hello[0].kind is not FrameKind.HELLO:
        return
    told = decode_hello(hello[1])
    role.configure(told.settings)
    _write_frame(FrameKind.READY, hello[0].nonce, ready)
    while (frame := _read_frame()) is not None:
        header, payload = frame
        kind, answer = _answer(role, header.kind, payload)
        if len(answer) > told.max_answer_bytes:
            kind, answer = FrameKind.FAILURE, encode_failure(Code.EXTRACTION_LIMIT, Limit.ANSWER)
        _write_frame(kind, header.nonce, answer)


def take_descriptors() -> None:
    """The pipes on their own numbers, /dev/null in their place, everything above closed."""
    requests, answers = (fcntl.fcntl(fd, fcntl.F_DUPFD, _FIRST_SAFE_FD) for fd in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(requests, REQUESTS_FD, inheritable=False)
    os.dup2(answers, ANSWERS_FD, inheritable=False)
    os.closerange(ANSWERS_FD + 1, _LAST_CLOSED_FD)


def _answer(role: Role, kind: FrameKind, payload: memoryview) -> tuple[FrameKind, bytes]:
    try:
        return role.answer(kind, payload)
    except MemoryError:
        return FrameKind.FAILURE, encode_failure(Code.GUEST_MEMORY)
    except (RecursionError, OverflowError):
        return FrameKind.FAILURE, encode_failure(Code.EXTRACTION_LIMIT, Limit.NESTING)
    except UnicodeEncodeError:
        # A lone surrogate in what was read.
        return FrameKind.FAILURE, encode_failure(Code.EXTRACTION_FAILED)
    except MudroomError as failure:
        return FrameKind.FAILURE, encode_failure(failure.code, failure.detail)


def _read_frame() -> tuple[FrameHeader, memoryview] | None:
    """The next frame; None at the end of the pipe."""
    data = os.read(REQUESTS_FD, _READ_BYTES)
    if not data:
        return None
    while len(data) < HEADER_BYTES:
        more = os.read(REQUESTS_FD, _READ_BYTES)
        if not more:
            return None
        data += more
    header = parse_header(data, _MAX_REQUEST_BYTES)
    first = memoryview(data)[HEADER_BYTES:]
    if len(first) > header.length:
        raise refuse("two requests at once")
    if len(first) == header.length:
        return header, first
    payload = memoryview(bytearray(header.length))
    filled = len(first)
    payload[:filled] = first
    while filled < header.length:
        count = os.readv(REQUESTS_FD, [payload[filled:]])
        if count == 0:
            return None
        filled += count
    return header, payload


def _write_frame(kind: FrameKind, nonce: bytes, payload: bytes) -> None:
    header = pack_header(kind, nonce, len(payload))
    written = os.writev(ANSWERS_FD, [header, payload])
    if written < HEADER_BYTES + len(payload):
        rest = memoryview(header + payload)[written:]
        while rest:
            rest = rest[os.write(ANSWERS_FD, rest) :]
