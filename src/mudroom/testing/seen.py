"""Requests as a `SiteServer` saw them, and the reading of them from a stream."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

__all__ = ["MalformedRequest", "SeenRequest", "read_request"]

MAX_REQUEST_BODY_BYTES = 64 * 1024 * 1024


class MalformedRequest(ValueError):  # noqa: N818 - names what came in
    """A client sent something that is not an HTTP/1.1 request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """One request, as it came in."""

    method: str
    target: str
    """As sent: path and query."""
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int
    """Which connection of the server carried it, from 1: equal numbers mean re-use."""
    is_tls: bool
    server_name: str | None = None
    """The name of the TLS handshake (SNI); None when there was none."""
    protocol: str = "HTTP/1.1"

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def host(self) -> str:
        """The Host header without port, lower case; empty when there was none."""
        host = (self.header("host") or "").lower()
        if host.startswith("["):
            return host.partition("]")[0][1:]
        return host.partition(":")[0]

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        values = self.header_values(name)
        return values[0] if values else None

    def header_values(self, name: str) -> tuple[str, ...]:
        """All values of a header, in order."""
        return tuple(value for key, value in self.headers if key.lower() == name.lower())


async def read_request(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    connection: int,
    server_name: str | None,
) -> SeenRequest | None:
    """The next request of a connection; None when the peer closed between requests.

    Answers `Expect: 100-continue` itself, so that clients do not wait for it.
    Raises: MalformedRequest; OSError when the connection broke.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise MalformedRequest("the connection ended inside a request head") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise MalformedRequest("the request head is too long") from error
    request_line, *header_lines = head[:-4].decode("latin-1").split("\r\n")
    parts = request_line.split(" ")
    if len(parts) != 3:  # noqa: PLR2004 - method, target, version
        raise MalformedRequest("the request line has not three parts")
    pairs = [line.partition(":") for line in header_lines]
    headers = tuple((name, value.strip()) for name, _, value in pairs)
    lowered = {name.lower(): value for name, value in headers}
    if lowered.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return SeenRequest(
        method=parts[0],
        target=parts[1],
        headers=headers,
        body=await _read_body(reader, lowered),
        connection=connection,
        is_tls=writer.get_extra_info("ssl_object") is not None,
        server_name=server_name,
    )


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_REQUEST_BODY_BYTES:
        raise MalformedRequest("the request body has no usable length")
    try:
        return await reader.readexactly(int(length))
    except asyncio.IncompleteReadError as error:
        raise MalformedRequest("the connection ended inside a request body") from error


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = bytearray()
    try:
        while size := int(await reader.readuntil(b"\r\n"), 16):
            if len(chunks) + size > MAX_REQUEST_BODY_BYTES:
                raise MalformedRequest("the request body is too long")
            chunks += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
    except asyncio.IncompleteReadError as error:
        raise MalformedRequest("the connection ended inside a request body") from error
    return bytes(chunks)
