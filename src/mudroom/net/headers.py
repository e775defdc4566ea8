"""Header fields: ours checked before a connection, the peer's read without guessing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from mudroom.errors import Code, FetchFailed
from mudroom.net.transport import Headers

__all__ = [
    "check_method",
    "check_request_headers",
    "declared_length",
    "encode_headers",
    "parse_fields",
    "parse_status_line",
]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_STATUS = re.compile(r"[1-9][0-9]{2}")
_VERSIONS = frozenset({"HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"})
_OURS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_FRAMING_LENGTHS = frozenset({len("content-length"), len("transfer-encoding")})
_KEPT_LINE_BYTES = 64
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def check_request_headers(headers: Sequence[tuple[str, str]]) -> None:
    """Nothing, when every field may be sent as it stands.

    Host, framing and hop-by-hop fields are decided by the URL and the transport alone.
    Raises: FetchFailed INVALID_HEADER; the message names the field, never its value.
    Source: RFC 9110 sections 5.1, 5.5 and 7.6.1; RFC 9112 section 11.1 (response splitting).
    """
    for name, value in headers:
        if not _TOKEN.fullmatch(name):
            raise FetchFailed(Code.INVALID_HEADER, "a header name holds characters that no name may hold")
        if name.lower() in _OURS:
            raise FetchFailed(Code.INVALID_HEADER, f"the header {name} is set by mudroom and cannot be given")
        if not _VALUE.fullmatch(value):
            raise FetchFailed(
                Code.INVALID_HEADER, f"the value of the header {name} holds a line break or control character"
            )


def check_method(method: str) -> None:
    """Nothing, when the method is one that we send. Raises: FetchFailed INVALID_HEADER."""
    if method not in _METHODS:
        raise FetchFailed(Code.INVALID_HEADER, f"the method must be one of {', '.join(sorted(_METHODS))}")


@lru_cache(maxsize=256)
def encode_headers(headers: Headers, *, has_body: bool) -> tuple[bytes, ...]:
    """The fields as libcurl takes them; its own additions are switched off.

    Shapes: a field without a value is "Name;" (libcurl's way), "Name:" removes what it would add.
    Raises: FetchFailed INVALID_HEADER, as `check_request_headers`.
    """
    check_request_headers(headers)
    names = {name.lower() for name, _ in headers}
    lines = [
        f"{name}: {value}".encode("latin-1") if value.strip() else f"{name};".encode("latin-1")
        for name, value in headers
    ]
    if "accept" not in names:
        lines.append(b"Accept:")
    if has_body:
        lines.append(b"Expect:")
        if "content-type" not in names:
            lines.append(b"Content-Type:")
    return tuple(lines)


def parse_fields(lines: Sequence[bytes]) -> Headers:
    """The fields of a header block in order, duplicates kept, values without outer white space.

    Shapes: `lines` is the block without its status line; bytes become characters one to one (Latin-1).
    Folded lines (obs-fold) join the field before them; a line without a colon is left out.
    Source: RFC 9112 section 5; RFC 9110 section 5.5.
    """
    fields: list[tuple[str, str]] = []
    folded: list[str] = []
    for text in b"".join(lines).decode("latin-1").split("\n"):
        if text[:1] in {" ", "\t"} and fields:
            folded.append(text.strip())
            continue
        if folded:
            _unfold(fields, folded)
        name, colon, value = text.partition(":")
        if colon:
            fields.append((name.strip(), value.strip()))
    if folded:
        _unfold(fields, folded)
    return tuple(fields)


def _unfold(fields: list[tuple[str, str]], folded: list[str]) -> None:
    """Put folded lines to the field before them, all at once: one by one, a flood of them took a third of a second."""
    name, value = fields[-1]
    fields[-1] = (name, " ".join(part for part in (value, *folded) if part))
    folded.clear()


def parse_status_line(line: bytes) -> tuple[str, int, str]:
    """Version, status code and reason phrase; the code is 0 where it is none, or the version one we do not speak.

    Source: RFC 9112 section 4: three digits.
    """
    # Nearly all answers begin with one of a few lines; one that is longer than those are is not kept.
    return _split_known_line(line) if len(line) <= _KEPT_LINE_BYTES else _split_status_line(line)


def _split_status_line(line: bytes) -> tuple[str, int, str]:
    version, _, rest = line.decode("latin-1").strip().partition(" ")
    code, _, reason = rest.partition(" ")
    is_status = _STATUS.fullmatch(code) is not None and version in _VERSIONS
    return version, int(code) if is_status else 0, reason.strip()


_split_known_line = lru_cache(maxsize=64)(_split_status_line)


def declared_length(headers: Headers) -> int | None:
    """The length that the peer declares, or None.

    Raises: FetchFailed PROTOCOL_ERROR when two declarations differ or one is not a number.
    Source: RFC 9112 section 6.3, items 3 to 5.
    """
    values: set[str] = set()
    for name, value in headers:
        if len(name) not in _FRAMING_LENGTHS:
            continue
        lowered = name.lower()
        if lowered == "transfer-encoding":
            return None
        if lowered == "content-length":
            values.update(part.strip() for part in value.split(","))
    if not values:
        return None
    if len(values) > 1 or not (text := values.pop()).isascii() or not text.isdecimal():
        raise FetchFailed(Code.PROTOCOL_ERROR, "the peer declared lengths that contradict each other")
    return int(text[:20])
