"""The header block of a response record: as received, save what would now be a lie.

The body is stored without transfer coding, so `Transfer-Encoding` (and a `Content-Length` that is not the
body's) is kept under the name that the crawlers of webrecorder use, `X-Orig-…`: readers then neither
de-chunk what is not chunked nor cut it. The status line of HTTP/2 and HTTP/3 becomes one of HTTP/1.1, since
WARC has no form for theirs; the record's WARC-Protocol says what it was.
Source: WARC/1.1 section 6.3; RFC 9112 sections 4, 6.1 and 6.3; RFC 9113 section 8.8.
"""

from __future__ import annotations

import re

__all__ = ["build_http_block"]

_STATUS_LINE = re.compile(rb"HTTP/(1\.[01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?")
_OTHER_STATUS_LINE = re.compile(rb"HTTP/[0-9.]{1,8} +[0-9]{3}(?: +([^\r\n\0]*))?")
_FIELD_LINE = re.compile(rb"[^\s:\0][^\r\n:\0]*:[^\r\n\0]*")
_NOT_IN_A_NAME = re.compile(r"[^!#-'*+.0-9A-Z^-z|~-]")
_NOT_IN_A_VALUE = re.compile(r"[\r\n\0]+")


def build_http_block(
    *,
    untrusted_raw_header: bytes,
    status: int,
    headers: tuple[tuple[str, str], ...],
    body_bytes: int,
) -> bytes:
    """An HTTP/1.1 header block with its empty line, true of the body that will follow it.

    Shapes: of several blocks (100, 103, trailers behind) the last that has a status line counts. Where the
    raw bytes are no header block, or there are none, one is made of `status` and `headers`.
    """
    lines = _last_block(untrusted_raw_header, status) or _made_up(status, headers)
    out = [lines[0]]
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        match name.lower():
            case b"transfer-encoding":
                out.append(b"X-Orig-" + line)
            case b"content-length" if value.strip() != b"%d" % body_bytes:
                out.append(b"X-Orig-" + line)
            case _:
                out.append(line)
    return b"\r\n".join((*out, b"", b""))


def _last_block(untrusted_raw: bytes, status: int) -> list[bytes] | None:
    """Status line and field lines of the last block of this status, or None when it cannot be kept so."""
    for block in reversed(untrusted_raw.replace(b"\r\n", b"\n").split(b"\n\n")):
        lines = block.strip(b"\n").split(b"\n")
        first = _status_line(lines[0], status)
        if first is None:
            continue
        if all(_FIELD_LINE.fullmatch(line) for line in lines[1:]):
            return [first, *lines[1:]]
        return None
    return None


def _status_line(line: bytes, status: int) -> bytes | None:
    """The line as received, or as HTTP/1.1 writes it; None when it is none of this status."""
    if kept := _STATUS_LINE.fullmatch(line):
        return line if int(kept[2]) == status else None
    other = _OTHER_STATUS_LINE.fullmatch(line)
    if other is None or str(status).encode() not in line:
        return None
    return b"HTTP/1.1 %d %s" % (status, (other[1] or b"").strip())


def _made_up(status: int, headers: tuple[tuple[str, str], ...]) -> list[bytes]:
    """A block of our own; HTTP/2's pseudo fields and what cannot stand in a line are left out."""
    lines = [b"HTTP/1.1 %d " % status]
    for name, value in headers:
        if name and not _NOT_IN_A_NAME.search(name):
            text = f"{name}: {_NOT_IN_A_VALUE.sub(' ', value)}"
            lines.append(text.encode("latin-1" if text.isascii() or max(text) <= "\xff" else "utf-8"))
    return lines
