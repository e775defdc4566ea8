"""Routes of peers that act in bad faith: floods without end, frames nobody agreed on, answers out of turn.

The HTTP/2 routes speak on stream 1, so each needs a connection of its own. Frames are written byte by byte, past
the library that keeps the rules for honest answers.

Source: RFC 9113; CVE-2019-9512 (ping), -9515 (settings), -9516 to -9518 (empty headers and data), CVE-2023-44487
(resets), CVE-2024-28182 (continuations).
"""

from __future__ import annotations

from mudroom.testing.routes import Drop, Endless, Route, Stall

__all__ = ["HTTP1_HOSTILITIES", "HTTP2_HOSTILITIES", "http2_frame"]

(
    DATA,
    HEADERS,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    ALTSVC,
    CONTINUATION,
    ORIGIN,
) = (0, 1, 3, 4, 5, 6, 7, 8, 10, 9, 12)
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_STATUS_200 = b"\x88"
"""HPACK: the entry `:status 200` of the static table."""
_MANY = 500


def http2_frame(kind: int, payload: bytes, *, stream: int = 0, flags: int = 0) -> bytes:
    """Any HTTP/2 frame, byte by byte; for `Route.frames` and `Route.raw`.

    Source: RFC 9113 section 4.1; RFC 7838 section 4; RFC 8336 section 2.1.
    """
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def _literal(name: bytes, value: bytes) -> bytes:
    """A field as HPACK writes it without its tables; each part shorter than 127 bytes."""
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value


def _http2(*steps: bytes | Endless | Drop | Stall) -> Route:
    return Route(path="/", raw=steps)


_HEAD = http2_frame(HEADERS, _STATUS_200, stream=1, flags=_END_HEADERS)
_EARLY_HINT = http2_frame(HEADERS, b"\x08\x03103", stream=1, flags=_END_HEADERS)
_OPEN_HEAD = http2_frame(HEADERS, _STATUS_200, stream=1)
_PADDING = http2_frame(CONTINUATION, _literal(b"x-pad", b"a" * 100) * 100, stream=1)
_BIG_ENTRY = b"\x40\x05x-big\x7f\xe1\x1d" + b"a" * 3936
"""HPACK: a field of almost the whole dynamic table, which one byte refers to from then on."""

HTTP2_HOSTILITIES: dict[str, Route] = {
    "a reset of every stream": _http2(http2_frame(RST_STREAM, (11).to_bytes(4), stream=1), Stall()),
    "a flood of resets": _http2(Endless(http2_frame(RST_STREAM, (8).to_bytes(4), stream=1) * _MANY)),
    "a flood of settings": _http2(Endless(http2_frame(SETTINGS, b"") * _MANY)),
    "a flood of settings that change": _http2(Endless(http2_frame(SETTINGS, b"\0\x01\0\0\x10\0") * _MANY)),
    "a flood of acknowledgements": _http2(Endless(http2_frame(SETTINGS, b"", flags=_ACK) * _MANY)),
    "a flood of pings": _http2(Endless(http2_frame(PING, bytes(8)) * _MANY)),
    "a flood of empty continuations": _http2(
        _OPEN_HEAD, Endless(http2_frame(CONTINUATION, b"", stream=1) * _MANY)
    ),
    "headers without end": _http2(_OPEN_HEAD, Endless(_PADDING)),
    "one field, a hundred thousand times": _http2(
        http2_frame(HEADERS, _STATUS_200 + _BIG_ENTRY + b"\xbe" * 12_000, stream=1),
        Endless(http2_frame(CONTINUATION, b"\xbe" * 16_000, stream=1)),
    ),
    "interim answers without end": _http2(Endless(_EARLY_HINT * _MANY)),
    "a flood of empty data": _http2(_HEAD, Endless(http2_frame(DATA, b"", stream=1) * _MANY)),
    "data beyond its window": _http2(_HEAD, Endless(http2_frame(DATA, bytes(16_384), stream=1) * 100)),
    "data before headers": _http2(http2_frame(DATA, b"early", stream=1), Stall()),
    "data of another stream": _http2(_HEAD, http2_frame(DATA, b"lost", stream=3), Stall()),
    "a window that grows by nothing": _http2(http2_frame(WINDOW_UPDATE, bytes(4), stream=1), Stall()),
    "windows beyond the largest": _http2(http2_frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff") * 2, Stall()),
    "a flood of windows": _http2(Endless(http2_frame(WINDOW_UPDATE, bytes(3) + b"\x01", stream=1) * _MANY)),
    "a push": _http2(
        http2_frame(PUSH_PROMISE, (2).to_bytes(4) + b"\x82\x87\x84", stream=1, flags=_END_HEADERS), Stall()
    ),
    "a frame larger than agreed": _http2(http2_frame(DATA, bytes(1 << 20), stream=1), Stall()),
    "a farewell instead of an answer": _http2(http2_frame(GOAWAY, bytes(8)), Stall()),
    "a farewell in the body": _http2(
        _HEAD, http2_frame(DATA, b"part", stream=1), http2_frame(GOAWAY, bytes(4) + (2).to_bytes(4)), Stall()
    ),
    "a farewell in the body, and no end": _http2(
        _HEAD, http2_frame(DATA, b"part", stream=1), http2_frame(GOAWAY, (1).to_bytes(4) + bytes(4)), Drop()
    ),
    "unknown frames without end": _http2(Endless(http2_frame(0xFA, bytes(1000)) * 16)),
    "HTTP/1 on an HTTP/2 connection": _http2(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Stall()),
}
"""What to expect of each: a typed failure within the deadline, and memory that stays where it was."""


def _http1(*steps: bytes | Endless | Drop | Stall) -> Route:
    return Route(path="/", raw=steps)


_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"

HTTP1_HOSTILITIES: dict[str, Route] = {
    "interim answers without end": _http1(Endless(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100)),
    "header lines without end": _http1(_OK, Endless(b"X-Pad: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 100)),
    "a header line without end": _http1(_OK + b"X: ", Endless(b"a" * 4000)),
    "a folded header without end": _http1(_OK + b"X: a\r\n", Endless(b" folded again\r\n" * 300)),
    "a status line without end": _http1(b"HTTP/1.1 200 ", Endless(b"O" * 4000)),
    "empty lines without end": _http1(Endless(b"\r\n" * 2000)),
    "trailers without end": _http1(_CHUNKED + b"0\r\n", Endless(b"X-Pad: aaaaaaaaaaaaaaaaaaa\r\n" * 100)),
    "a chunk size without end": _http1(_CHUNKED, Endless(b"0" * 4000)),
    "a chunk extension without end": _http1(_CHUNKED + b"1;", Endless(b"x" * 4000)),
    "a chunk size that is none": _http1(_CHUNKED + b"zz\r\nab\r\n", Stall()),
    "a negative chunk size": _http1(_CHUNKED + b"-2\r\nab\r\n", Stall()),
    "a chunk longer than it says": _http1(_CHUNKED + b"2\r\nabcd\r\n0\r\n\r\n", Stall()),
    "a switch of protocols": _http1(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", Stall()),
    "a status of four digits": _http1(b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", Stall()),
    "a version that is none": _http1(b"HTTP/7.3 200 OK\r\nContent-Length: 0\r\n\r\n", Stall()),
    "HTTP/2 unasked": _http1(http2_frame(SETTINGS, b""), Stall()),
    "one byte, then silence": _http1(b"H", Stall()),
}
"""As `HTTP2_HOSTILITIES`."""
