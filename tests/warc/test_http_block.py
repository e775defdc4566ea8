from __future__ import annotations

import pytest

from mudroom.warc import build_http_block

_HEADERS = (("Content-Type", "text/html"), ("X-A", "1"))

_ROWS = [
    (
        "as received",
        b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n",
        b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n",
        "WARC/1.1 6.3: as it was received",
    ),
    (
        "no reason phrase",
        b"HTTP/1.0 200\r\nA: b\r\n\r\n",
        b"HTTP/1.0 200\r\nA: b\r\n\r\n",
        "RFC 9112 section 4",
    ),
    (
        "HTTP/2 becomes HTTP/1.1",
        b"HTTP/2 200 \r\ncontent-type: text/html\r\n\r\n",
        b"HTTP/1.1 200 \r\ncontent-type: text/html\r\n\r\n",
        "RFC 9113 section 8.8",
    ),
    (
        "chunked is renamed, since the body is not",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Orig-Transfer-Encoding: chunked\r\nA: b\r\n\r\n",
        "RFC 9112 section 6.1",
    ),
    (
        "a true length stays",
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
        "RFC 9112 section 6.3",
    ),
    (
        "a length that lies is renamed",
        b"HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Orig-Content-Length: 70\r\n\r\n",
        "RFC 9112 section 6.3",
    ),
    (
        "content coding stays, as the body has it",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n",
        "WARC/1.1 6.3",
    ),
    (
        "interim answers are left out",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
        "RFC 9110 section 15.2",
    ),
    (
        "trailers are left out",
        b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nX-Checksum: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
        "RFC 9110 section 6.5",
    ),
    (
        "bare line feeds are mended",
        b"HTTP/1.1 200 OK\nA: b\n\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
        "RFC 9112 section 2.2",
    ),
    (
        "nothing received: made of the headers",
        b"",
        b"HTTP/1.1 200 \r\nContent-Type: text/html\r\nX-A: 1\r\n\r\n",
        "own",
    ),
    (
        "another status: made of the headers",
        b"HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n",
        b"HTTP/1.1 200 \r\nContent-Type: text/html\r\nX-A: 1\r\n\r\n",
        "own",
    ),
    (
        "a folded line: made of the headers",
        b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        b"HTTP/1.1 200 \r\nContent-Type: text/html\r\nX-A: 1\r\n\r\n",
        "RFC 9112 section 5.2",
    ),
    (
        "a line without colon: made of the headers",
        b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
        b"HTTP/1.1 200 \r\nContent-Type: text/html\r\nX-A: 1\r\n\r\n",
        "own",
    ),
]


@pytest.mark.parametrize(("name", "raw", "expected", "source"), _ROWS, ids=[row[0] for row in _ROWS])
def test_the_block_is_as_received_save_what_would_lie(
    name: str, raw: bytes, expected: bytes, source: str
) -> None:
    block = build_http_block(untrusted_raw_header=raw, status=200, headers=_HEADERS, body_bytes=7)
    assert block == expected


def test_a_made_up_block_leaves_out_what_cannot_stand_in_a_line() -> None:
    headers = (
        (":status", "200"),
        ("", "x"),
        ("Bad Name", "x"),
        ("Good", "a\r\nInjected: b"),
        ("Umlaut", "ä"),
    )
    block = build_http_block(untrusted_raw_header=b"", status=200, headers=headers, body_bytes=0)
    assert block == b"HTTP/1.1 200 \r\nGood: a Injected: b\r\nUmlaut: \xe4\r\n\r\n"


def test_a_made_up_block_has_no_false_length_either() -> None:
    headers = (("content-length", "5"), ("transfer-encoding", "chunked"))
    block = build_http_block(untrusted_raw_header=b"", status=200, headers=headers, body_bytes=7)
    assert block == b"HTTP/1.1 200 \r\nX-Orig-content-length: 5\r\nX-Orig-transfer-encoding: chunked\r\n\r\n"
