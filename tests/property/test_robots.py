"""What holds of any bytes and any URL."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.robots import RobotsRules, parse_robots
from mudroom.robots.pattern import Pattern
from mudroom.robots.spelling import decode_target, spell_pattern, spell_target

LINES = st.sampled_from(
    [
        b"User-agent: *",
        b"User-agent: mudroom",
        b"User-agent: other",
        b"Disallow: /",
        b"Disallow: /a*b$",
        b"Allow: /a",
        b"Allow:",
        b"Crawl-delay: 3",
        b"Sitemap: /s.xml",
        b"\xef\xbb\xbf",
        b"%",
        b":",
        b"\xff",
        b"",
    ]
)
BODIES = st.one_of(
    st.binary(max_size=200),
    st.lists(st.one_of(LINES, st.binary(max_size=12)), max_size=12).map(b"\n".join),
)


@settings(max_examples=400, deadline=None)
@given(BODIES, st.text(max_size=40), st.text(max_size=10))
def test_any_bytes_are_a_robots_txt_and_any_text_has_a_verdict(body: bytes, url: str, agent: str) -> None:
    rules = parse_robots(body, agent)
    assert isinstance(rules, RobotsRules)
    verdict = rules.may_fetch(url)
    assert verdict.rule is None or (verdict.rule.isascii() and verdict.rule.isprintable())
    assert verdict.is_allowed or verdict.rule is not None


@settings(max_examples=300, deadline=None)
@given(BODIES)
def test_line_ends_of_any_kind_mean_the_same(body: bytes) -> None:
    if b"\r" in body:
        return
    assert parse_robots(body.replace(b"\n", b"\r\n"), "mudroom") == parse_robots(body, "mudroom")


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab*$", max_size=12), st.text(alphabet="ab", max_size=12))
def test_a_pattern_matches_what_its_regular_expression_matches(pattern: str, path: str) -> None:
    text = spell_pattern("/" + pattern)
    is_anchored = text.endswith("$")
    body = text[:-1] if is_anchored else text
    expression = ".*".join(map(re.escape, body.split("*"))) + (r"\Z" if is_anchored else "")
    assert Pattern.parse(text).matches("/" + path) == (re.match(expression, "/" + path) is not None)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_the_plain_spelling_of_a_url_is_its_own_spelling(target: str) -> None:
    spelled = spell_target(target)
    assert spelled.isascii()
    assert spelled.isprintable()
    if "%%" not in spelled:
        assert spell_target(spelled) == spelled
    assert len(decode_target(spelled)) <= len(spelled)
