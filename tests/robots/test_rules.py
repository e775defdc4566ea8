"""What a robots.txt lets us request: groups, rules, wildcards, spellings, and lines as people write them."""

from typing import Any

import pytest

from mudroom.robots import (
    ALLOW_ALL,
    MAX_BODY_BYTES,
    MAX_CRAWL_DELAY_SECONDS,
    RobotsVerdict,
    parse_robots,
)


def is_allowed(body: str | bytes, target: str, agent: str = "mudroom") -> bool:
    untrusted_body = body if isinstance(body, bytes) else body.encode()
    return parse_robots(untrusted_body, agent).may_fetch(target).is_allowed


# id, robots.txt, what is asked for, whether it may be had, source
GROUP_ROWS = [
    ("empty file", "", "/x", True, "RFC 9309 2.2.1"),
    ("for all", "User-agent: *\nDisallow: /x", "/x", False, "RFC 9309 2.2.1"),
    ("for us", "User-agent: mudroom\nDisallow: /x", "/x", False, "RFC 9309 2.2.1"),
    ("for us, other case", "User-agent: MudRoom\nDisallow: /x", "/x", False, "RFC 9309 2.2.1"),
    ("for us, with version", "User-agent: mudroom/1.0 (reader)\nDisallow: /x", "/x", False, "RFC 9309 2.2.1"),
    ("for somebody else", "User-agent: other\nDisallow: /x", "/x", True, "RFC 9309 2.2.1"),
    ("for one who starts like us", "User-agent: mudroom-images\nDisallow: /x", "/x", True, "RFC 9309 2.2.1"),
    ("for one whom we start like", "User-agent: mud\nDisallow: /x", "/x", True, "RFC 9309 2.2.1"),
    (
        "ours replaces all",
        "User-agent: *\nDisallow: /\n\nUser-agent: mudroom\nDisallow: /x",
        "/y",
        True,
        "RFC 9309 2.2.1",
    ),
    (
        "ours without rules replaces all",
        "User-agent: *\nDisallow: /\n\nUser-agent: mudroom\nDisallow:",
        "/y",
        True,
        "RFC 9309 2.2.1",
    ),
    (
        "two of ours are one",
        "User-agent: mudroom\nDisallow: /x\n\nUser-agent: other\nDisallow: /y\n\nUser-agent: mudroom\nDisallow: /z",
        "/z",
        False,
        "RFC 9309 2.2.1",
    ),
    (
        "several agents share a group",
        "User-agent: other\nUser-agent: mudroom\nDisallow: /x",
        "/x",
        False,
        "RFC 9309 2.2.1",
    ),
    ("an empty line ends no group", "User-agent: mudroom\n\n\nDisallow: /x", "/x", False, "RFC 9309 2.2"),
    (
        "a rule ends the agents",
        "User-agent: mudroom\nAllow: /y\nUser-agent: other\nDisallow: /x",
        "/x",
        True,
        "RFC 9309 2.2",
    ),
    (
        "an unknown line ends nothing",
        "User-agent: mudroom\nHost: a\nUser-agent: other\nDisallow: /x",
        "/x",
        False,
        "RFC 9309 2.2.4",
    ),
    (
        "a sitemap ends nothing",
        "User-agent: mudroom\nSitemap: http://a/s\nUser-agent: b\nDisallow: /x",
        "/x",
        False,
        "RFC 9309 2.2.4",
    ),
    ("a rule without agent", "Disallow: /x\nUser-agent: other\nDisallow: /y", "/x", True, "RFC 9309 2.2.1"),
]

RULE_ROWS = [
    ("prefix", "Disallow: /fish", "/fishing?a", False, "RFC 9309 2.2.2"),
    ("case counts", "Disallow: /fish", "/Fish", True, "RFC 9309 2.2.2"),
    ("folder", "Disallow: /fish/", "/fish", True, "RFC 9309 2.2.2"),
    ("longest wins, allow", "Disallow: /a\nAllow: /a/b", "/a/b/c", True, "RFC 9309 2.2.2"),
    ("longest wins, disallow", "Allow: /a\nDisallow: /a/b", "/a/b/c", False, "RFC 9309 2.2.2"),
    ("order does not count", "Disallow: /a/b\nAllow: /a", "/a/b/c", False, "RFC 9309 2.2.2"),
    ("allow wins a draw", "Disallow: /a\nAllow: /a", "/a", True, "RFC 9309 2.2.2"),
    ("empty disallow", "Disallow:", "/a", True, "RFC 9309 2.2.2"),
    ("empty allow", "Allow:\nDisallow: /", "/a", False, "RFC 9309 2.2.2"),
    ("the root without a slash", "Disallow: /", "http://a.example", False, "RFC 9309 2.2.2"),
    ("the whole URL", "Disallow: /a", "https://a.example:8443/a?b#c", False, "RFC 9309 2.2.2"),
    ("a query right after the host", "Disallow: /?a", "https://a.example?a", False, "RFC 9309 2.2.2"),
    (
        "a path that holds a URL",
        "Disallow: /https://b.example",
        "/https://b.example/",
        False,
        "RFC 9309 2.2.2",
    ),
    ("a rule without a slash", "Disallow: a", "/a", True, "RFC 9309 2.2.2"),
    ("an absolute URL as rule", "Disallow: http://other.example/", "/", True, "scrapy/protego#4"),
    (
        "an absolute URL of the same site",
        "Disallow: http://a.example/x",
        "http://a.example/x",
        True,
        "scrapy/protego#4",
    ),
    ("index page allows its folder", "Disallow: /\nAllow: /a/index.html", "/a/", True, "google/robotstxt"),
    ("index page allows no more", "Disallow: /\nAllow: /a/index.html", "/a/b", False, "google/robotstxt"),
]

WILDCARD_ROWS = [
    ("any run", "Disallow: /*.php", "/a/b.php?c", False, "RFC 9309 2.2.3"),
    ("the empty run", "Disallow: /a*b", "/ab", False, "RFC 9309 2.2.3"),
    ("anchored", "Disallow: /*.php$", "/a.php", False, "RFC 9309 2.2.3"),
    ("anchored, longer URL", "Disallow: /*.php$", "/a.php5", True, "RFC 9309 2.2.3"),
    ("anchored, found twice", "Disallow: /*a$", "/aba", False, "RFC 9309 2.2.3"),
    ("anchored, tail would overlap", "Disallow: /ab*ba$", "/aba", True, "RFC 9309 2.2.3"),
    ("anchored after a wildcard", "Disallow: /a*$", "/abc", False, "RFC 9309 2.2.3"),
    ("anchored without wildcard", "Disallow: /a$", "/a", False, "RFC 9309 2.2.3"),
    ("anchored without wildcard, longer URL", "Disallow: /a$", "/a?", True, "RFC 9309 2.2.3"),
    ("the root alone", "Allow: /$\nDisallow: /", "/", True, "RFC 9309 2.2.3"),
    ("many stars are one", "Disallow: /a****b", "/axb", False, "RFC 9309 2.2.3"),
    ("pieces keep their order", "Disallow: /*b*a", "/ab", True, "RFC 9309 2.2.3"),
    ("a star first", "Disallow: *.pdf", "/x.pdf", False, "RFC 9309 2.2.3"),
    ("a dollar inside is a dollar", "Disallow: /a$b", "/a$b", False, "RFC 9309 2.2.3"),
    ("an escaped star is a star", "Disallow: /a%2Ab", "/a*b", False, "RFC 9309 2.2.3"),
    ("an escaped star is no wildcard", "Disallow: /a%2Ab", "/axb", True, "RFC 9309 2.2.3"),
    ("an escaped dollar is no anchor", "Disallow: /a%24", "/a$b", False, "RFC 9309 2.2.3"),
    ("a bracket is a bracket", "Disallow: /a[bc]*", "/ab", True, "fnmatch would match"),
    ("a question mark is one", "Disallow: /a?c", "/abc", True, "fnmatch would match"),
    ("a query", "Disallow: /*s=", "/?s=asd", False, "scrapy/protego#28"),
    ("an empty query", "Disallow: /*?", "/a?", False, "scrapy/protego"),
    ("an escaped question mark is no query", "Disallow: /*?", "/a%3F", True, "RFC 9309 2.2.2"),
]

SPELLING_ROWS = [
    (
        "escaped colon in the URL",
        "Disallow: /*q=*:relevance*",
        "/s?q=x%3arelevance",
        False,
        "scrapy/protego#29",
    ),
    (
        "escaped colon in the rule",
        "Disallow: /*q=*%3Arelevance*",
        "/s?q=x:relevance",
        False,
        "scrapy/protego#29",
    ),
    ("umlaut in the rule", "Disallow: /ä", "/%C3%A4", False, "RFC 9309 2.2.2"),
    ("umlaut in the URL", "Disallow: /%c3%a4", "/ä", False, "RFC 9309 2.2.2"),
    ("bytes that are not UTF-8", b"User-agent: *\nDisallow: /\xe4", "/%E4", False, "RFC 9309 2.2.2"),
    (
        "bytes that are not UTF-8 are other bytes",
        b"User-agent: *\nDisallow: /\xe4",
        "/%C3%A4",
        True,
        "RFC 9309 2.2.2",
    ),
    ("escaped tilde", "Disallow: /%7Ejoe", "/~joe", False, "RFC 9309 2.2.2"),
    ("a letter escaped in the URL", "Disallow: /private", "/%70rivate", False, "RFC 9309 2.2.2"),
    ("a letter escaped in the rule", "Disallow: /%70rivate", "/private", False, "RFC 9309 2.2.2"),
    ("a letter escaped in an allow", "Disallow: /\nAllow: /%62", "/b", False, "google/robotstxt"),
    ("a letter escaped in the URL of an allow", "Disallow: /\nAllow: /b", "/%62", False, "google/robotstxt"),
    ("a letter escaped in both", "Disallow: /\nAllow: /%62", "/%62", True, "google/robotstxt"),
    ("an escaped slash is no slash in a path", "Disallow: /a/b", "/a%2Fb", True, "RFC 9309 2.2.2"),
    (
        "an escaped slash is one in a query",
        "Disallow: /*?u=http://b",
        "/a?u=http%3A%2F%2Fb",
        False,
        "RFC 9309 2.2.2",
    ),
    ("and the other way", "Disallow: /*?u=http%3A%2F%2Fb", "/a?u=http://b", False, "RFC 9309 2.2.2"),
    ("an escaped percent stays", "Disallow: /%2541", "/A", True, "RFC 9309 2.2.2"),
    ("a space in the rule", "Disallow: /a b", "/a%20b", False, "google/robotstxt"),
]

LINE_ROWS = [
    (
        "BOM before the first rule",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /x",
        "/x",
        False,
        "scrapy/scrapy#6195",
    ),
    ("old Mac line ends", "User-agent: *\rDisallow: /x\r", "/x", False, "RFC 9309 2.2"),
    ("Windows line ends", "User-agent: *\r\nDisallow: /x\r\n", "/x", False, "RFC 9309 2.2"),
    ("no line end", "User-agent: *\nDisallow: /x", "/x", False, "RFC 9309 2.2"),
    ("comment", "User-agent: * # all\nDisallow: /x # secret", "/x", False, "RFC 9309 2.2"),
    ("comment in a pattern", "User-agent: *\nDisallow: /x#y", "/x", False, "RFC 9309 2.2"),
    ("capitals", "USER-AGENT: *\nDISALLOW: /x", "/x", False, "RFC 9309 2.2"),
    ("spaces around", "  User-agent  :  *  \n\tDisallow\t:\t/x\t", "/x", False, "RFC 9309 2.2"),
    ("no colon", "User-agent *\nDisallow /x", "/x", False, "google/robotstxt"),
    ("no colon, three words", "User-agent: *\nDisallow /x /y", "/x", True, "google/robotstxt"),
    ("misspelt", "Useragent: *\nDissallow: /x", "/x", False, "google/robotstxt"),
    ("NUL bytes", b"\0User-agent: *\0\nDisallow: /x", "/x", False, "seen in the wild"),
    ("an HTML page", "<!DOCTYPE html><title>Disallow: /</title>", "/x", True, "seen in the wild"),
]


@pytest.mark.parametrize("row", GROUP_ROWS, ids=[row[0] for row in GROUP_ROWS])
def test_a_group_holds_for_the_agents_it_names(row: tuple[Any, ...]) -> None:
    assert is_allowed(row[1], row[2]) is row[3], row[4]


@pytest.mark.parametrize("row", RULE_ROWS + WILDCARD_ROWS, ids=[row[0] for row in RULE_ROWS + WILDCARD_ROWS])
def test_the_longest_rule_that_matches_decides(row: tuple[Any, ...]) -> None:
    assert is_allowed("User-agent: *\n" + row[1], row[2]) is row[3], row[4]


@pytest.mark.parametrize("row", SPELLING_ROWS, ids=[row[0] for row in SPELLING_ROWS])
def test_rules_and_urls_are_compared_in_one_spelling(row: tuple[Any, ...]) -> None:
    body = row[1] if isinstance(row[1], bytes) else "User-agent: *\n" + row[1]
    assert is_allowed(body, row[2]) is row[3], row[4]


@pytest.mark.parametrize("row", LINE_ROWS, ids=[row[0] for row in LINE_ROWS])
def test_lines_are_read_as_their_writers_meant_them(row: tuple[Any, ...]) -> None:
    assert is_allowed(row[1], row[2]) is row[3], row[4]


def test_an_agent_without_a_name_is_in_no_group_but_that_for_all() -> None:
    assert is_allowed("User-agent: 123\nDisallow: /", "/x", agent="")
    assert not is_allowed("User-agent: *\nDisallow: /", "/x", agent="")


def test_a_verdict_names_the_rule() -> None:
    rules = parse_robots("User-agent: *\nDisallow: /a ä\nAllow: /b".encode(), "mudroom")
    assert rules.may_fetch("/a%20%C3%A4/x") == RobotsVerdict(is_allowed=False, rule="Disallow: /a%20%C3%A4")
    assert rules.may_fetch("/b") == RobotsVerdict(is_allowed=True, rule="Allow: /b")
    assert rules.may_fetch("/c") == RobotsVerdict(is_allowed=True, rule=None)


def test_the_ready_answer_is_all() -> None:
    assert ALLOW_ALL.may_fetch("/x") == RobotsVerdict(is_allowed=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("0", 0.0),
        ("5 # slowly", 5.0),
        ("1000000000001", MAX_CRAWL_DELAY_SECONDS),
        ("9" * 5000, MAX_CRAWL_DELAY_SECONDS),
        ("-1", None),
        ("1e3", None),
        ("nan", None),
        ("inf", None),
        ("1.2.3", None),
        ("five", None),
        ("\u0663", None),
        (".", None),
        ("", None),
    ],
)
def test_a_crawl_delay_is_a_plain_number_of_seconds_within_bounds(value: str, seconds: float | None) -> None:
    rules = parse_robots(f"User-agent: *\nCrawl-delay: {value}\nDisallow: /x".encode(), "mudroom")
    assert rules.crawl_delay_seconds == seconds


def test_the_crawl_delay_is_that_of_our_own_group_if_there_is_one() -> None:
    body = b"User-agent: *\nCrawl-delay: 9\nDisallow: /a\n\nUser-agent: mudroom\nDisallow: /b\n"
    assert parse_robots(body, "mudroom").crawl_delay_seconds is None
    assert parse_robots(body, "other").crawl_delay_seconds == 9.0


def test_of_two_delays_the_longer_counts() -> None:
    body = b"User-agent: *\nCrawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3\nDisallow: /a"
    assert parse_robots(body, "mudroom").crawl_delay_seconds == 7.0


def test_sitemaps_are_listed_as_written_once_and_in_order_whatever_the_group() -> None:
    body = b"Sitemap: https://a.example/b.xml\nUser-agent: other\nSITEMAP: /a.xml # ours\nSitemap: https://a.example/b.xml\nSitemap:\n"
    assert parse_robots(body, "mudroom").sitemaps == ("https://a.example/b.xml", "/a.xml")


def test_a_file_within_the_limit_is_read_to_its_end() -> None:
    tail = b"\nDisallow: /x"
    body = b"User-agent: *\n#".ljust(MAX_BODY_BYTES - len(tail), b".") + tail
    rules = parse_robots(body, "mudroom")
    assert (len(body), rules.is_truncated, rules.may_fetch("/x").is_allowed) == (MAX_BODY_BYTES, False, False)


def test_of_a_longer_file_the_whole_lines_within_the_limit_count_and_it_says_so() -> None:
    head = b"User-agent: *\nDisallow: /x\nAllow: /x/y\n#".ljust(MAX_BODY_BYTES - 20, b".")
    rules = parse_robots(head + b"\nAllow: /x/z/only/this\nAllow: /x", "mudroom")
    assert rules.is_truncated
    assert rules.may_fetch("/x/y").is_allowed
    assert not rules.may_fetch("/x/z/only/that").is_allowed


def test_of_a_line_that_is_too_long_only_a_disallow_counts() -> None:
    long = "a" * 20_000
    assert not is_allowed(f"User-agent: *\nDisallow: /{long}", f"/{long}")
    assert not is_allowed(f"User-agent: *\nDisallow: /\nAllow: /{long}", f"/{long}")
