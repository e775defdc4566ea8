"""robots.txt files that want to cost time or to be misread."""

from itertools import pairwise

import pytest

from mudroom.robots import parse_robots
from mudroom.robots.pattern import Pattern

HEAD = b"User-agent: *\n"


class _CountingText(str):
    """A URL that counts how much of it is looked at."""

    __slots__ = ()
    looked_at = 0

    def find(self, *arguments: object) -> int:  # type: ignore[override] # only what Pattern uses
        found = super().find(*arguments)  # type: ignore[arg-type] # the same arguments
        start = arguments[1] if len(arguments) > 1 else 0
        assert isinstance(start, int)
        _CountingText.looked_at += (len(self) if found < 0 else found + 1) - start
        return found


@pytest.mark.parametrize(
    "text",
    ["/" + "*a" * 8000 + "b", "/" + "*" * 16_000 + "b", "/*" + "a*b*" * 4000, "/" + "*aa" * 5000 + "$"],
)
def test_a_pattern_of_thousands_of_stars_looks_at_each_character_once(text: str) -> None:
    target = _CountingText("/" + "a" * 60_000)
    _CountingText.looked_at = 0
    Pattern.parse(text).matches(target)
    assert _CountingText.looked_at <= 2 * len(target)


def test_wildcard_rules_times_a_long_url_are_refused_rather_than_compared() -> None:
    rules = parse_robots(HEAD + b"".join(b"Disallow: /*a%dz\n" % n for n in range(25_000)), "mudroom")
    assert rules.may_fetch("/" + "a" * 100).is_allowed
    verdict = rules.may_fetch("/" + "a" * 60_000)
    assert (verdict.is_allowed, verdict.rule) == (False, "too many rules for a URL of this length")


def test_plain_rules_are_compared_however_long_the_url_is() -> None:
    rules = parse_robots(HEAD + b"".join(b"Disallow: /p%d\n" % n for n in range(25_000)), "mudroom")
    assert rules.may_fetch("/" + "a" * 60_000).is_allowed
    assert not rules.may_fetch("/p24999" + "a" * 60_000).is_allowed


@pytest.mark.parametrize(
    "body",
    [
        b"\0" * 600_000,
        b"\n" * 600_000,
        b"\r" * 600_000,
        b":" * 600_000,
        b"#" * 600_000,
        b"%" * 600_000,
        b"\xff" * 600_000,
        b"User-agent:" * 50_000,
        b"User-agent: mudroom\n" * 25_000,
        HEAD + b"Disallow: /" + b"%" * 500_000,
        HEAD + b"Disallow: /" + b"%61" * 150_000,
        HEAD + b"Sitemap: http://a.example/\n" * 18_000,
        HEAD + b"".join(b"Sitemap: http://a.example/%d\n" % n for n in range(15_000)),
        HEAD + b"Crawl-delay: " + b"9" * 500_000,
        b"\xff\xfe" + "User-agent: *\nDisallow: /".encode("utf-16-le"),
    ],
    ids=[
        "NUL",
        "LF",
        "CR",
        "colons",
        "comment",
        "percents",
        "0xFF",
        "agents in a line",
        "agents",
        "stray",
        "escapes",
        "same map",
        "maps",
        "delay",
        "UTF-16",
    ],
)
def test_monstrous_files_give_bounded_rules(body: bytes) -> None:
    rules = parse_robots(body, "mudroom")
    assert len(rules.sitemaps) <= 1000
    assert rules.may_fetch("/x").rule is None or len(rules.may_fetch("/x").rule or "") <= 200


def test_equal_rules_are_kept_once() -> None:
    assert len(parse_robots(HEAD + b"Disallow: /*a*b\n" * 30_000, "mudroom").rules) == 1


@pytest.mark.parametrize("hostile", ["\x1b]52;c;AAAA\x07", "\u202e", "\u2028", "\u009b31m", "\ud800"])
def test_the_rule_in_a_verdict_is_inert_text(hostile: str) -> None:
    body = HEAD + f"Disallow: /{hostile}".encode("utf-8", "surrogatepass")
    rules = parse_robots(body, "mudroom")
    texts = [rule.text for rule in rules.rules]
    assert len(texts) == 1
    assert all(text.isascii() and text.isprintable() for text in texts)


def test_an_escape_in_the_url_does_not_get_round_a_disallow() -> None:
    rules = parse_robots(HEAD + b"Disallow: /private/", "mudroom")
    for target in ("/%70rivate/x", "/p%72iv%61te/x", "/%70%72%69%76%61%74%65/x"):
        assert not rules.may_fetch(target).is_allowed


def test_rules_stand_in_order_of_precedence() -> None:
    rules = parse_robots(HEAD + b"Disallow: /a\nAllow: /a\nAllow: /abc\nDisallow: /ab", "mudroom")
    assert all(one.precedence >= other.precedence for one, other in pairwise(rules.rules))
