"""The gate and the location of matches: complete, bounded, and never silently deaf."""

from __future__ import annotations

import pytest

from mudroom.screen.matcher import Expression, Match, Matcher, TooManyMatches
from mudroom.screen.schema import Lane, expand_pattern
from mudroom.screen.text import LaneText

WORDS = {"colour": "(?:red|blue)"}


def build(*patterns: str, lane: Lane = Lane.PROSE, max_matches: int = 100, max_per_line: int = 3) -> Matcher:
    expressions = [
        Expression(owner=number, pattern=expand_pattern(pattern, WORDS, lane), lane=lane)
        for number, pattern in enumerate(patterns)
    ]
    return Matcher(expressions, max_per_line=max_per_line, max_matches=max_matches)


def find(matcher: Matcher, text: str) -> list[Match]:
    return list(matcher.find(LaneText(text.encode())))


class DeafSet:
    """A set that has run out of memory: it finds nothing, not even the sentinel."""

    def Match(self, text: bytes) -> None:  # noqa: N802 - the name of the library
        assert text


def test_a_gate_that_failed_is_told_from_one_that_found_nothing() -> None:
    matcher = build("green door", "%colour% fox")
    expected = find(matcher, "a red fox at the green door")
    assert [match.owner for match in expected] == [0, 1]
    matcher._groups = [(lane, DeafSet(), sentinel, items) for lane, _, sentinel, items in matcher._groups]
    assert find(matcher, "a red fox at the green door") == expected


PROSE = (
    ("case and blanks", "green door", "the GREEN \t\n door"),
    ("markup", "green door", "the *green* **door**"),
    ("quotes", "green door", "“green” «door»"),
    ("quote marks of mail", "green door", "> green\n> door"),
    ("no-break", "green door", "green\u00a0door"),
    ("apostrophe", "don't go", "don’t go"),  # noqa: RUF001 - the typographic one
    ("apostrophe left out", "don't go", "dont go"),
    ("word", "%colour% fox", "a blue fox"),
    ("gap", r"send (?:\S+ ){0,4}?@@to mars", "send all of it to Mars"),
    ("gap of nothing", r"send (?:\S+ ){0,4}?@@to mars", "send to mars"),
)


@pytest.mark.parametrize(("pattern", "text"), [row[1:] for row in PROSE], ids=[row[0] for row in PROSE])
def test_prose_is_matched_whatever_stands_between_its_words(pattern: str, text: str) -> None:
    assert len(find(build(pattern), text)) == 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("green door", "greendoor"),
        (r"send (?:\S+ ){0,4}?@@to mars", "send one two three four five to mars"),
        (r"send (?:\S+ ){0,4}?@@to mars", "to mars"),
    ],
)
def test_prose_is_not_matched_beyond_its_words(pattern: str, text: str) -> None:
    assert find(build(pattern), text) == []


def test_a_phrase_with_a_gap_is_found_again_and_again() -> None:
    text = "send it to mars. " * 2 + "x " * 2_000 + "send it to mars."
    assert len(find(build(r"send (?:\S+ ){0,4}?@@to mars", max_per_line=9), text)) == 3


def test_raw_patterns_see_punctuation_and_lines() -> None:
    matcher = build(r"(?m)^=> go", lane=Lane.RAW)
    assert len(find(matcher, "x\n=> go")) == 1
    assert find(matcher, "x => go") == []


def test_a_line_lists_so_many_and_the_last_says_that_there_are_more() -> None:
    text = "green door, " * 5 + "\n" + "green door, " * 3 + "\ngreen door"
    found = find(build("green door"), text)
    assert [match.is_capped for match in found] == [False, False, True, False, False, False, False]


def test_more_matches_than_the_bound_are_refused() -> None:
    with pytest.raises(TooManyMatches):
        find(build("green door", max_matches=4), "green door\n" * 5)
    assert len(find(build("green door", max_matches=5), "green door\n" * 5)) == 5
