from __future__ import annotations

import pytest

from mudroom.address import parse_url
from mudroom.crawl import page_key


def key_of(url: str) -> str:
    parsed = parse_url(url)
    assert parsed is not None
    return page_key(parsed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://x.example/", "https://www.x.example/"),
        ("https://x.example/", "https://x.example/#"),
        ("https://x.example/a", "https://x.example/a/"),
        ("https://x.example/a?q=1", "https://x.example/a/?q=1#part"),
        ("https://x.example/a", "https://x.example/a;jsessionid=0A1B"),
        ("https://x.example/a?b=1", "https://x.example/a;JSESSIONID=0A1B?b=1"),
        ("https://x.example/a", "https://x.example/a?PHPSESSID=abc"),
        ("https://x.example/a?b=1&c=2", "https://x.example/a?b=1&utm_source=x&c=2&utm_medium=y"),
        ("https://x.example/a?b=1", "https://x.example/a?sid=k3j2h4k5j6h7g8f9d0&b=1"),
        ("https://x.example/a", "https://x.example/a?gclid=1&fbclid=2"),
    ],
)
def test_twins_have_one_key(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)
    assert key_of(key_of(other)) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://x.example/", "https://x.example/"),
        ("https://x.example/a", "https://x.example/A"),
        ("https://x.example/a%2Fb", "https://x.example/a/b"),
        ("https://x.example/a%23b", "https://x.example/a"),
        ("https://x.example/a%25b", "https://x.example/ab"),
        ("https://x.example/a%3Bjsessionid=1", "https://x.example/a"),
        ("https://x.example/a?sid=12", "https://x.example/a?sid=13"),
        ("https://x.example/a?session=spring", "https://x.example/a?session=autumn"),
        ("https://x.example/a?a=1&b=2", "https://x.example/a?b=2&a=1"),
        ("https://x.example/a", "https://x.example/a?"),
        ("https://www.example/", "https://example/"),
        ("https://x.example/a//b", "https://x.example/a/b"),
    ],
)
def test_what_a_site_may_tell_apart_stays_apart(one: str, other: str) -> None:
    assert key_of(one) != key_of(other)
