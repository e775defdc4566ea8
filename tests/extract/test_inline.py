"""The short road of marked text against the long one, and links by their folder against the URL parser."""

import random

import pytest
from ada_url import join_url

from mudroom.extract.display import CLOSES, OPENS, Edge, Mark, end_of, end_of_link
from mudroom.extract.escape import escape_destination
from mudroom.extract.inline import _MarkdownRun, _render_plainly
from mudroom.extract.links import LinkCollector

WORDS = ["word", " ", "a", "*", "_b_", "!", "&amp", ";", "`", "<b", "~", "é", "[x](y)", " - ", "\n", "1."]
MARKS = [end_of(mark) for mark in (Mark.CODE, Mark.STRONG, Mark.EMPHASIS, Mark.STRIKE)]
LINK = end_of_link("https://example.org/a")


def some_inline(random_source: random.Random, depth: int = 0) -> list[str]:
    parts: list[str] = []
    for _ in range(random_source.randint(1, 4)):
        if depth < 3 and random_source.random() < 0.4:
            end: Edge = random_source.choice([*MARKS, LINK, LINK])
            parts += [end.partner, *some_inline(random_source, depth + 1), end]
        else:
            parts.append(random_source.choice(WORDS))
    return parts


def test_text_rendered_by_the_short_road_is_what_the_long_road_makes_of_it() -> None:
    random_source = random.Random(20261130)  # noqa: S311 - to be the same in every run, not secret
    taken = 0
    for _ in range(4000):
        inline = some_inline(random_source)
        plain = _render_plainly(inline)
        if plain is not None:
            taken += 1
            assert plain == _MarkdownRun(is_line=False).render(inline), inline
    assert taken > 1000


@pytest.mark.parametrize(
    "base",
    [
        "https://example.org/b/c/d.html?q#f", "https://example.org", "http://example.org/x", "file:///C:/a/b",
        "mailto:x@example.org", "https://u:p@example.org:444/", "https://example.org/%2e/é/..", "about:blank", "x:/a/b",
    ],
)  # fmt: skip
def test_links_below_a_folder_lead_where_the_url_parser_says(base: str) -> None:
    random_source = random.Random(7)  # noqa: S311 - to be the same in every run, not secret
    words = [
        "../",
        "a",
        "B",
        "1",
        ".",
        "..",
        "/",
        "-",
        "~",
        "#",
        "?",
        "%2e",
        "x.html",
        ":",
        "+",
        "(",
        ",",
        "é",
    ]
    links = LinkCollector(base, 10)
    for _ in range(3000):
        href = "".join(random_source.choices(words, k=random_source.randint(1, 7)))
        try:
            expected = join_url(base, href)
        except ValueError:
            expected = ""
        is_shown = expected.startswith(("http://", "https://", "mailto:")) and not href.startswith("#")
        end = links.mark(href)
        assert (end.markdown if end else "") == (f"]({escape_destination(expected)})" if is_shown else ""), (
            href
        )


@pytest.mark.parametrize(
    "inline",
    [
        [MARKS[1].partner, "a", MARKS[1], MARKS[1].partner, "b", MARKS[1]],
        [MARKS[2].partner, "a!", MARKS[2], "b"],
        [LINK.partner, MARKS[0].partner, "a`", MARKS[0], LINK],
        [LINK.partner, " ", LINK],
        [MARKS[0].partner, MARKS[2].partner, "a", MARKS[2], MARKS[0]],
    ],
    ids=[
        "marks that touch",
        "emphasis that would not close",
        "a backtick in code",
        "an empty link",
        "marks in code",
    ],
)
def test_what_must_be_moved_or_dropped_takes_the_long_road(inline: list[str]) -> None:
    assert _render_plainly(inline) is None


def test_an_edge_is_one_character_of_joined_text() -> None:
    parts = [LINK.partner, "word", LINK]
    assert "".join(parts) == f"{OPENS}word{CLOSES}"
    assert (LINK.partner.markdown, LINK.markdown) == ("[", "](https://example.org/a)")
