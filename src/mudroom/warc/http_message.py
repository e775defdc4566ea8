"""The HTTP answer in a record's block, as somebody kept it: status, fields, and the body as it was sent.

Transfer coding is no part of a body, but many archives keep it: a body that is chunked, and says so, is put
together; one that says so and is not stays as it is.
Source: RFC 9112 sections 2, 4, 5 and 7.1; WARC/1.1 section 6.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["HttpMessage", "parse_http_answer"]

_STATUS_LINE = re.compile(rb"HTTP/[0-9](?:\.[0-9])?[ \t]+([1-9][0-9]{2})(?:[ \t]([^\r\n]*))?")
_MAX_HEAD_BYTES = 256 * 1024
_MAX_FIELDS = 1000
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]{0,4096})?")
_INFORMATIONAL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpMessage:
    """An answer; all of it untrusted."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    raw_header: bytes
    """Status line and field lines with the empty line, as kept."""
    body: bytes
    """Without transfer coding; content codings stay."""
    kept_body: bytes
    """As it stood in the record."""


def parse_http_answer(untrusted_block: bytes) -> HttpMessage | None:
    """The answer in a block; None where it holds none that can be read. Answers of 1xx before it are passed over."""
    block = untrusted_block
    while (parts := _split(block)) is not None:
        head, body = parts
        lines = head.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
        match = _STATUS_LINE.fullmatch(lines[0])
        if match is None or len(lines) > _MAX_FIELDS:
            return None
        status = int(match[1])
        if status < _INFORMATIONAL and status != 101 and _STATUS_LINE.match(body):  # noqa: PLR2004 - a switch is final
            block = body
            continue
        headers = tuple(_fields(lines[1:]))
        return HttpMessage(
            status=status,
            reason=(match[2] or b"").decode("latin-1"),
            headers=headers,
            raw_header=head,
            body=_join_chunks(body) if _is_chunked(headers) else body,
            kept_body=body,
        )
    return None


def _split(block: bytes) -> tuple[bytes, bytes] | None:
    """The header block with its empty line, and what follows; a block without an empty line is all header."""
    end = block.find(b"\r\n\r\n", 0, _MAX_HEAD_BYTES)
    short_end = block.find(b"\n\n", 0, _MAX_HEAD_BYTES if end < 0 else end)
    if short_end >= 0:
        return block[: short_end + 2], block[short_end + 2 :]
    if end >= 0:
        return block[: end + 4], block[end + 4 :]
    return (block, b"") if len(block) < _MAX_HEAD_BYTES and block.endswith(b"\n") else None


def _fields(lines: list[bytes]) -> list[tuple[str, str]]:
    """Field lines; folded ones joined, others that are none left out."""
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in {b" ", b"\t"} and fields:
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {_text(line)}".strip())
            continue
        name_bytes, colon, value_bytes = line.partition(b":")
        if colon and name_bytes.strip():
            fields.append((_text(name_bytes), _text(value_bytes)))
    return fields


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip(" \t")


def _is_chunked(headers: tuple[tuple[str, str], ...]) -> bool:
    return any(
        name.lower() == "transfer-encoding" and value.lower().rpartition(",")[2].strip() == "chunked"
        for name, value in headers
    )


def _join_chunks(body: bytes) -> bytes:
    """The chunks put together; the body as it is where they are none, or do not end."""
    parts: list[bytes] = []
    place = 0
    while True:
        end = body.find(b"\n", place, place + 8192)
        size = _CHUNK_SIZE.fullmatch(body[place:end].removesuffix(b"\r")) if end >= 0 else None
        if size is None:
            return body
        length, start = int(size[1], 16), end + 1
        if length == 0:
            return b"".join(parts)
        if start + length > len(body):
            return body
        parts.append(body[start : start + length])
        place = start + length
        if body.startswith(b"\r\n", place):
            place += 2
        elif body.startswith(b"\n", place):
            place += 1
        else:
            return body
