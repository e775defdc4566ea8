"""Origin, host and site."""

from pathlib import Path
from typing import Any

import pytest
from publicsuffixlist import PSLFILE, PublicSuffixList

from mudroom.address import is_same_host, is_same_origin, is_same_site, parse_url, registrable_domain, site_of


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.org", "example.org"),
        ("one.github.io", "one.github.io"),
        ("a.one.github.io", "one.github.io"),
        ("github.io", None),
        ("co.uk", None),
        ("org", None),
        ("localhost", None),
        ("a.b.unknownsuffix", "b.unknownsuffix"),
        ("shop.xn--bcher-kva.example.com", "example.com"),
        ("a.example.suffix1", "example.suffix1"),
        ("10.0.0.1", None),
        ("fd12::1", None),
        ("", None),
    ],
)
def test_the_registrable_domain_is_one_label_under_the_public_suffix(host: str, domain: str | None) -> None:
    assert registrable_domain(host) == domain


@pytest.mark.parametrize("top", ["jp", "ck", "io", "uk", "unknownsuffix", "xn--p1ai", "xn--55qx5d"])
def test_what_is_read_of_the_list_for_one_top_domain_answers_as_the_whole_list(top: str) -> None:
    whole = PublicSuffixList()
    lines = Path(PSLFILE).read_text(encoding="utf-8").splitlines()
    rules = [line.split()[0] for line in lines if line.strip() and not line.startswith("//")]
    suffixes = [rule.lstrip("!").replace("*", "any").encode("idna").decode() for rule in rules]
    hosts = [suffix for suffix in suffixes if suffix.rpartition(".")[2] == top] or [f"one.{top}"]
    for host in (f"{front}{host}" for host in hosts for front in ("", "a.", "b.a.")):
        assert registrable_domain(host) == whole.privatesuffix(host), host


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://docs.example.org:8443/a", "https://example.org"),
        ("http://docs.example.org/a", "http://example.org"),
        ("https://one.github.io/", "https://one.github.io"),
        ("https://github.io/", "https://github.io"),
        ("http://127.0.0.1:8000/a", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/a", "http://[::1]:8000"),
        ("http://intranet/", "http://intranet"),
    ],
)
def test_the_site_is_scheme_and_registrable_domain_and_a_literal_is_its_origin(url: str, site: str) -> None:
    assert site_of(parse_url(url)) == site


# one, other, same origin, same host, same site
PAIR_ROWS = [
    ("https://example.org/a", "https://example.org./b", True, True, True),
    ("http://example.org/", "https://example.org/", False, True, True),
    ("https://example.org/", "https://example.org:8443/", False, False, False),
    ("https://example.org/", "https://www.example.org/", False, False, True),
    ("https://one.github.io/", "https://two.github.io/", False, False, False),
    ("https://example.org/", "https://example.net/", False, False, False),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/x", True, True, True),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8001/", False, False, False),
    ("http://10.0.0.1/", "http://11.0.0.1/", False, False, False),
    ("http://com/", "http://example.com/", False, False, False),
]


@pytest.mark.parametrize("row", PAIR_ROWS, ids=[f"{row[0]} {row[1]}" for row in PAIR_ROWS])
def test_two_urls_share_an_origin_a_host_or_a_site(row: tuple[Any, ...]) -> None:
    one, other = parse_url(row[0]), parse_url(row[1])
    for pair in ((one, other), (other, one)):
        assert (is_same_origin(*pair), is_same_host(*pair), is_same_site(*pair)) == row[2:]
