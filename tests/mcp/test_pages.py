from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.mcp.pages import split_pages


@pytest.mark.parametrize(
    ("text", "max_chars", "pages"),
    [
        ("", 10, ("",)),
        ("short", 10, ("short",)),
        ("exact", 5, ("exact",)),
        ("one\n\ntwo\n\nthree", 10, ("one\n\ntwo\n\n", "three")),
        ("one\n\n\n\ntwo", 8, ("one\n\n\n\n", "two")),
        ("```\na\n\nb\n```\n\nend", 15, ("```\na\n\nb\n```\n\n", "end")),
        ("~~~\n```\n\nx\n~~~\n\nend", 17, ("~~~\n```\n\nx\n~~~\n\n", "end")),
        ("intro\n\n```\na\n\nb\n```\nx", 16, ("intro\n\n", "```\na\n\nb\n```\nx")),
        ("a\nb\nc\nd", 4, ("a\nb\n", "c\nd")),
        ("aaa bbb ccc", 8, ("aaa bbb ", "ccc")),
        ("abcdefghij", 4, ("abcd", "efgh", "ij")),
    ],
)
def test_a_text_is_cut_between_blocks_then_lines_then_words(
    text: str, max_chars: int, pages: tuple[str, ...]
) -> None:
    assert split_pages(text, max_chars) == pages


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from(list("ab \n`~#\r\u2028é")), max_size=400),
    max_chars=st.integers(min_value=1, max_value=60),
)
def test_the_pages_joined_are_the_text_and_none_is_too_long(text: str, max_chars: int) -> None:
    pages = split_pages(text, max_chars)
    assert "".join(pages) == text
    assert all(0 < len(page) <= max_chars for page in pages) or pages == ("",)
