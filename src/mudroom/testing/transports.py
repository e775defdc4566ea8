"""A network that exists on paper: answers per URL, every dial noted, nothing connected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mudroom.errors import Code, ContentRefused, MudroomError
from mudroom.net import WireRequest, WireResponse

__all__ = ["PaperAnswer", "ScriptedTransport", "UnscriptedRequest"]


class UnscriptedRequest(AssertionError):  # noqa: N818 - names what happened
    """Something was dialled that the test did not write down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperAnswer:
    """What a URL answers on paper."""

    status: int = 200
    reason: str = ""
    protocol: str = "HTTP/1.1"
    content_type: str | None = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | tuple[bytes | asyncio.Event, ...] = b""
    """The body as it stands on the wire; a tuple gives its chunks, and events that are waited for between them."""
    gate: asyncio.Event | None = None
    """Waited for before the headers are there."""
    body_gate: asyncio.Event | None = None
    """Waited for between the headers and the body."""
    failure: MudroomError | None = None
    """Raised in place of the headers."""
    break_off: MudroomError | None = None
    """Raised after the last chunk."""


class ScriptedTransport:
    """A `Transport` whose answers are written down, and which notes every dial.

    Shapes: `answers` maps a URL, as the transport gets it, to one answer (given every time) or to several
    (given in turn, the last one repeated).
    """

    def __init__(self, answers: Mapping[str, PaperAnswer | Sequence[PaperAnswer]] | None = None) -> None:
        self._answers: dict[str, list[PaperAnswer]] = {}
        self.dials: list[WireRequest] = []
        """Every request that would have opened or used a connection, in order."""
        self.open_exchanges = 0
        self.is_closed = False
        for url, script in (answers or {}).items():
            self.set_answers(url, script)

    def set_answers(self, url: str, script: PaperAnswer | Sequence[PaperAnswer]) -> None:
        """Write down what a URL answers from now on."""
        self._answers[url] = [script] if isinstance(script, PaperAnswer) else list(script)

    @property
    def dialled(self) -> tuple[str, ...]:
        """The URLs that were dialled, in order."""
        return tuple(request.url.href for request in self.dials)

    @asynccontextmanager
    async def open(self, request: WireRequest) -> AsyncIterator[WireResponse]:
        """The exchange that is written down for the URL.

        Raises: the scripted failure; UnscriptedRequest for a URL without script, or a request without a
        judged address.
        """
        self.dials.append(request)
        script = self._answers.get(request.url.href)
        if not script or not request.addresses:
            raise UnscriptedRequest(f"{request.method} {request.url.href} at {request.addresses}")
        answer = script.pop(0) if len(script) > 1 else script[0]
        if answer.gate is not None:
            await answer.gate.wait()
        if answer.failure is not None:
            raise answer.failure
        self.open_exchanges += 1
        try:
            yield _PaperResponse(request, answer)
        finally:
            self.open_exchanges -= 1

    async def aclose(self) -> None:
        """Note that the transport was closed."""
        self.is_closed = True


class _PaperResponse:
    """The answer to one request, bounded as the real one is."""

    def __init__(self, request: WireRequest, answer: PaperAnswer) -> None:
        self._answer = answer
        self._max_body_bytes = request.limits.max_body_bytes
        self._host = request.url.host
        self.status = answer.status
        self.reason = answer.reason
        self.protocol = answer.protocol
        declared = () if answer.content_type is None else (("Content-Type", answer.content_type),)
        self.headers = declared + answer.headers
        lines = (f"{name}: {value}\r\n" for name, value in self.headers)
        self.raw_header = f"{self.protocol} {self.status} {self.reason}\r\n{''.join(lines)}\r\n".encode()
        self.address = str(request.addresses[0])
        self.received_bytes = 0
        self.is_complete = isinstance(answer.body, bytes) and answer.body_gate is None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as scripted. Raises ContentRefused BODY_TOO_LARGE, or what the script breaks off with."""
        if self._answer.body_gate is not None:
            await self._answer.body_gate.wait()
        body = self._answer.body
        for chunk in body if isinstance(body, tuple) else (body,):
            if isinstance(chunk, asyncio.Event):
                await chunk.wait()
                continue
            self.received_bytes += len(chunk)
            if self.received_bytes > self._max_body_bytes:
                raise ContentRefused(Code.BODY_TOO_LARGE, f"{self._host} sent more than the limit (scripted)")
            if chunk:
                yield chunk
        if self._answer.break_off is not None:
            raise self._answer.break_off

    async def read(self) -> bytes:
        """The whole body. Raises as `chunks` does."""
        return b"".join([chunk async for chunk in self.chunks()])
