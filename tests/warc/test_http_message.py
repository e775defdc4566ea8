"""HTTP answers as archives hold them."""

from __future__ import annotations

import pytest

from mudroom.warc import does_digest_hold, parse_http_answer

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ROWS = {
    "plain": (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", 200, (("A", "b"),), b"body"),
    "lines without CR": (b"HTTP/1.0 404\nA: b\n\nbody", 404, (("A", "b"),), b"body"),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, (), b""),
    "all header": (b"HTTP/1.1 200 OK\r\nA: b\r\n", 200, (("A", "b"),), b""),
    "a version of later": (b"HTTP/2 200\r\n\r\nx", 200, (), b"x"),
    "a folded field": (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", 200, (("A", "b c"),), b""),
    "a line that is no field": (b"HTTP/1.1 200 OK\r\nnonsense\r\nA: b\r\n\r\n", 200, (("A", "b"),), b""),
    "an answer before it": (b"HTTP/1.1 103 Hints\r\nL: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", 200, (), b"x"),
    "chunks": (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", 200, None, b"abcde"),
    "chunks without an end": (CHUNKED + b"3\r\nabc\r\n", 200, None, b"3\r\nabc\r\n"),
    "chunks that are none": (CHUNKED + b"<p>not chunked", 200, None, b"<p>not chunked"),
    "a chunk that lies": (CHUNKED + b"ff\r\nabc\r\n0\r\n\r\n", 200, None, b"ff\r\nabc\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize(("block", "status", "headers", "body"), ROWS.values(), ids=ROWS)
def test_an_answer_is_read(
    block: bytes, status: int, headers: tuple[tuple[str, str], ...] | None, body: bytes
) -> None:
    message = parse_http_answer(block)
    assert message is not None
    assert (message.status, message.body) == (status, body)
    assert headers is None or message.headers == headers


@pytest.mark.parametrize(
    "block",
    [b"", b"body", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 99 X\r\n\r\n", b"HTTP/1.1 200", b"x" * 300_000,
     b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 2000 + b"\r\n"],
)  # fmt: skip
def test_what_is_no_answer_is_none(block: bytes) -> None:
    assert parse_http_answer(block) is None


@pytest.mark.parametrize(
    ("digest", "holds"),
    [
        ("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", True),
        ("SHA-1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", True),
        ("sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", True),
        ("md5:5d41402abc4b2a76b9719d911017c592", True),
        ("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", False),
        ("sha256:", False),
        ("crc32:3610a686", None),
        ("", None),
        ("hello", None),
    ],
)
def test_a_digest_holds_or_not_or_cannot_be_judged(digest: str, holds: bool | None) -> None:
    assert does_digest_hold(digest, b"other", b"hello") is holds
