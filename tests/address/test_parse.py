"""The browser's parse, taken apart."""

from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest

from mudroom.address import MAX_URL_CHARS, parse_url

# URL as written, href, host, port, normalized, request target
PARSE_ROWS = [
    (
        "https://Example.COM./p?q=1#f",
        "https://example.com./p?q=1#f",
        "example.com",
        443,
        "https://example.com/p?q=1",
        "/p?q=1",
    ),
    ("HTTP://EXAMPLE.org:80", "http://example.org/", "example.org", 80, "http://example.org/", "/"),
    (
        "http://a.example:8080/x/../y",
        "http://a.example:8080/y",
        "a.example",
        8080,
        "http://a.example:8080/y",
        "/y",
    ),
    (
        "https://[2001:DB8:0::1]:8443/?",
        "https://[2001:db8::1]:8443/?",
        "2001:db8::1",
        8443,
        "https://[2001:db8::1]:8443/?",
        "/?",
    ),
    ("http://u:p@a.example/#@x", "http://u:p@a.example/#@x", "a.example", 80, "http://a.example/", "/"),
    ("http://a.example?x=/y", "http://a.example/?x=/y", "a.example", 80, "http://a.example/?x=/y", "/?x=/y"),
    (
        "http://a.example/\ud800",
        "http://a.example/%EF%BF%BD",
        "a.example",
        80,
        "http://a.example/%EF%BF%BD",
        "/%EF%BF%BD",
    ),
    (
        "http://a.example/ä ö",
        "http://a.example/%C3%A4%20%C3%B6",
        "a.example",
        80,
        "http://a.example/%C3%A4%20%C3%B6",
        "/%C3%A4%20%C3%B6",
    ),
]


@pytest.mark.parametrize("row", PARSE_ROWS, ids=[row[1] for row in PARSE_ROWS])
def test_a_url_comes_apart_as_a_browser_takes_it(row: tuple[Any, ...]) -> None:
    url = parse_url(row[0])
    assert (url.href, url.host, url.port, url.normalized, url.request_target) == row[1:]
    assert url.path == url.request_target.partition("?")[0]


def test_a_literal_host_carries_its_address() -> None:
    assert parse_url("http://[::ffff:127.0.0.1]/").address == IPv6Address("::ffff:7f00:1")
    assert parse_url("http://0x7f.1/").address == IPv4Address("127.0.0.1")
    assert parse_url("http://a1.example/").address is None


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://example.org:443/x", "https://example.org"),
        ("https://example.org:8443/x", "https://example.org:8443"),
        ("http://[::1]/", "http://[::1]"),
        ("http://example.org./", "http://example.org"),
    ],
)
def test_the_origin_has_no_default_port_and_no_last_dot(url: str, origin: str) -> None:
    assert parse_url(url).origin == origin


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "about:blank", "//example.org/", "http://a b/", "http://[1::2::3]/"]
)
def test_what_is_no_web_url_has_no_parts(url: str) -> None:
    assert parse_url(url) is None


def test_a_url_of_the_greatest_length_is_read_and_a_longer_one_is_not() -> None:
    longest = "http://a.example/".ljust(MAX_URL_CHARS, "x")
    assert parse_url(longest) is not None
    assert parse_url(longest + "x") is None


def test_credentials_are_seen_in_the_authority_only() -> None:
    assert parse_url("http://u@a.example/").has_credentials
    assert not parse_url("http://a.example/@u").has_credentials
