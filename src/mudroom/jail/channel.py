"""One question at a time to a guest, over two pipes that do not block.

Nothing the other side does can block this one or make it hold more than the cap: the answer is read as it
comes while the question is still being written, and its length is judged before its payload is awaited.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass

from mudroom.errors import GuestFailed
from mudroom.wire import (
    HEADER_BYTES,
    NONCE_BYTES,
    FrameHeader,
    FrameKind,
    pack_header,
    parse_header,
    refuse,
)

__all__ = ["Answer", "GuestChannel", "GuestGoneError"]

_READ_BYTES = 256 * 1024


class GuestGoneError(Exception):
    """The pipe ended. Why is for the one to say who holds the process."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of exactly the length it named, with our nonce."""

    kind: FrameKind
    untrusted_payload: memoryview


class GuestChannel:
    """The parent's end. `breach` is set when the guest spoke out of turn or broke a frame."""

    def __init__(self, requests_fd: int, answers_fd: int) -> None:
        self._requests_fd = requests_fd
        self._answers_fd = answers_fd
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Answer] | None = None
        self._nonce = b""
        self._max_payload_bytes = 0
        self._received = bytearray()
        self._header: FrameHeader | None = None
        self._unsent = memoryview(b"")
        self._is_open = True
        self.breach: GuestFailed | GuestGoneError | None = None
        self._loop.add_reader(answers_fd, self._on_readable)

    async def ask(self, kind: FrameKind, payload: bytes, max_answer_bytes: int) -> Answer:
        """The answer to one request.

        Raises: GuestFailed(GUEST_PROTOCOL) on a breach, before the request (bytes that wait already) or
        in its answer; GuestGoneError at the end of the pipe. After either the guest is of no more use.
        """
        # What came since the loop last looked came unasked.
        self._on_readable()
        if self.breach is not None:
            raise self.breach
        self._nonce = secrets.token_bytes(NONCE_BYTES)
        self._max_payload_bytes = max_answer_bytes
        self._waiter = self._loop.create_future()
        self._send(pack_header(kind, self._nonce, len(payload)), payload)
        try:
            return await self._waiter
        finally:
            self._waiter = None

    def fail(self, failure: GuestFailed) -> None:
        """Ends the question that is being asked, if any, with that failure."""
        self._end(failure)

    def close(self) -> None:
        """Lets go of the pipes, before they are closed by their owner."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._answers_fd)
            self._loop.remove_writer(self._requests_fd)
            self._end(GuestGoneError())

    def _send(self, header: bytes, payload: bytes) -> None:
        try:
            written = os.writev(self._requests_fd, [header, payload])
        except BlockingIOError:
            written = 0
        except BrokenPipeError:
            self._end(GuestGoneError())
            return
        if written < len(header) + len(payload):
            self._unsent = memoryview(header + payload)[written:]
            self._loop.add_writer(self._requests_fd, self._on_writable)

    def _on_writable(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._requests_fd, self._unsent) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._end(GuestGoneError())
            return
        if not self._unsent:
            self._loop.remove_writer(self._requests_fd)

    def _on_readable(self) -> None:
        if not self._is_open:
            return
        try:
            chunk = os.read(self._answers_fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self._end(GuestGoneError())
        elif self._waiter is None or self._waiter.done():
            self._end(refuse("bytes that nobody asked for"))
        else:
            try:
                self._take(chunk)
            except GuestFailed as failure:
                self._end(failure)

    def _take(self, chunk: bytes) -> None:
        self._received += chunk
        if self._header is None:
            if len(self._received) < HEADER_BYTES:
                return
            self._header = parse_header(self._received, self._max_payload_bytes)
            if self._header.nonce != self._nonce:
                raise refuse("an answer to something else")
        missing = HEADER_BYTES + self._header.length - len(self._received)
        if missing < 0:
            raise refuse("more bytes than the answer has")
        if missing == 0:
            if self._unsent:
                raise refuse("an answer before the whole question")
            received, header = self._received, self._header
            self._received, self._header = bytearray(), None
            assert self._waiter is not None  # noqa: S101 - looked at by the only caller
            self._waiter.set_result(Answer(header.kind, memoryview(received)[HEADER_BYTES:]))

    def _end(self, why: GuestFailed | GuestGoneError) -> None:
        if self.breach is None:
            self.breach = why
        self._received = bytearray()
        if self._is_open:
            # A pipe at its end would be readable for ever.
            self._loop.remove_reader(self._answers_fd)
            self._loop.remove_writer(self._requests_fd)
            self._is_open = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(why)
