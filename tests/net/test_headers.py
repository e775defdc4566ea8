import pytest

from mudroom.errors import Code, FetchFailed
from mudroom.net.headers import (
    check_method,
    check_request_headers,
    declared_length,
    encode_headers,
    parse_fields,
    parse_status_line,
)

REFUSED = [
    ("a line break splits the request", "X-Token", "a\r\nHost: other.test"),
    ("a lone line feed", "X-Token", "a\nb"),
    ("a lone carriage return", "X-Token", "a\rb"),
    ("a NUL", "X-Token", "a\0b"),
    ("a delete character", "X-Token", "a\x7fb"),
    ("a character beyond Latin-1", "X-Token", "a\u2028b"),
    ("a lone surrogate", "X-Token", "a\udc80b"),
    ("a colon in the name", "X:Y", "a"),
    ("a line break in the name", "X\r\nY", "a"),
    ("a space in the name", "X Y", "a"),
    ("an empty name", "", "a"),
    ("a pseudo header", ":authority", "other.test"),
    ("the host", "Host", "other.test"),
    ("the host in capitals", "HOST", "other.test"),
    ("the length", "Content-Length", "3"),
    ("the framing", "Transfer-Encoding", "chunked"),
    ("the connection", "Connection", "close"),
    ("an upgrade", "Upgrade", "h2c"),
    ("a proxy's password", "Proxy-Authorization", "Basic eDp5"),
    ("an expectation", "Expect", "100-continue"),
    ("trailers", "TE", "trailers"),
]


@pytest.mark.parametrize(("name", "value"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_header_that_could_change_the_request_is_refused_without_its_value(name: str, value: str) -> None:
    with pytest.raises(FetchFailed) as caught:
        check_request_headers([("Accept", "*/*"), (name, value)])
    assert caught.value.code is Code.INVALID_HEADER
    assert "other.test" not in caught.value.message
    assert "eDp5" not in caught.value.message


def test_ordinary_headers_pass() -> None:
    check_request_headers([("X-Token", "caf\xe9\tand more"), ("Authorization", "Bearer x"), ("Empty", "")])


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "GET /", "", "G\r\nT"])
def test_a_method_that_is_not_ours_is_refused(method: str) -> None:
    with pytest.raises(FetchFailed) as caught:
        check_method(method)
    assert caught.value.code is Code.INVALID_HEADER


def test_headers_are_encoded_as_libcurl_takes_them() -> None:
    headers = (("Accept", "text/html"), ("X-Empty", ""), ("X-Blank", "  "), ("X-Latin", "caf\xe9"))
    assert encode_headers(headers, has_body=False) == (
        b"Accept: text/html",
        b"X-Empty;",
        b"X-Blank;",
        b"X-Latin: caf\xe9",
    )


def test_what_libcurl_would_add_by_itself_is_switched_off() -> None:
    assert encode_headers((), has_body=True) == (b"Accept:", b"Expect:", b"Content-Type:")


def test_fields_keep_their_order_and_their_duplicates() -> None:
    lines = [b"B: 1\r\n", b"a:2\r\n", b"B:  3 \r\n", b"no colon\r\n", b"C: x\r\n", b"\t folded\r\n", b"\r\n"]
    assert parse_fields(lines) == (("B", "1"), ("a", "2"), ("B", "3"), ("C", "x folded"))


STATUS_LINES = [
    (b"HTTP/1.1 200 OK\r\n", ("HTTP/1.1", 200, "OK")),
    (b"HTTP/2 404 \r\n", ("HTTP/2", 404, "")),
    (b"HTTP/1.0 302 Moved  for  now\n", ("HTTP/1.0", 302, "Moved  for  now")),
    (b"HTTP/1.1 \xb2\xb2\xb2 x\r\n", ("HTTP/1.1", 0, "x")),
    (b"HTTP/1.1\r\n", ("HTTP/1.1", 0, "")),
    (b"\r\n", ("", 0, "")),
]


@pytest.mark.parametrize(("line", "parts"), STATUS_LINES)
def test_a_status_line_is_taken_apart(line: bytes, parts: tuple[str, int, str]) -> None:
    assert parse_status_line(line) == parts


LENGTHS = [
    ("none declared", (), None),
    ("one", (("Content-Length", "12"),), 12),
    ("the same twice", (("Content-Length", "12"), ("content-length", "12")), 12),
    ("the same twice in one field", (("Content-Length", "12, 12"),), 12),
    ("chunked wins", (("Content-Length", "12"), ("Transfer-Encoding", "chunked")), None),
    ("longer than any number needs to be", (("Content-Length", "9" * 5000),), int("9" * 20)),
]


@pytest.mark.parametrize(
    ("headers", "expected"), [row[1:] for row in LENGTHS], ids=[row[0] for row in LENGTHS]
)
def test_the_declared_length_is_read(headers: tuple[tuple[str, str], ...], expected: int | None) -> None:
    assert declared_length(headers) == expected


@pytest.mark.parametrize("value", ["12, 13", "-1", "0x10", "", "1e3", "\xb2"])
def test_a_length_that_is_none_or_two_is_a_broken_protocol(value: str) -> None:
    with pytest.raises(FetchFailed) as caught:
        declared_length((("Content-Length", value),))
    assert caught.value.code is Code.PROTOCOL_ERROR
