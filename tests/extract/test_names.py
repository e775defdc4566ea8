import pytest

from mudroom.extract import expose_url, make_slug, normalise_title


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("  Coats\n and\tboots ", "Coats and boots"),
        ("a\u202eb\u200b\x1b]52;c\x07", "ab]52;c"),
        ("", ""),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_a_title_is_one_clean_line(title: str, expected: str) -> None:
    assert normalise_title(title) == expected


@pytest.mark.parametrize(
    ("title", "url", "slug"),
    [
        ("Coats & Boots: a guide", "https://x.org/", "coats-boots-a-guide"),
        ("Größe Übergröße", "https://x.org/", "grosse-ubergrosse"),
        ("../../etc/passwd", "https://x.org/", "etc-passwd"),
        ("..\\..\\windows", "https://x.org/", "windows"),
        ("CON", "https://x.org/", "con-page"),
        ("lpt1", "https://x.org/", "lpt1-page"),
        ("日本語", "https://x.org/a/guide.html", "guide-html"),
        ("", "https://x.org/a%2F..%252F/", "x-org"),
        ("", "https://x.org/", "x-org"),
        ("", "", "page"),
        ("word " * 40, "https://x.org/", "word-word-word-word-word-word-word-word-word-word-word-word"),
        ("x" * 90, "https://x.org/", "x" * 60),
        ("\0\x1b[0m", "https://x.org/?q=secret", "0m"),
    ],
)
def test_a_slug_is_a_file_name_and_nothing_more(title: str, url: str, slug: str) -> None:
    assert make_slug(title, url) == slug


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("https://x.org/a%20b", "https://x.org/a b"),
        ("https://x.org/%2569gnore%2520this", "https://x.org/ignore this"),
        ("https://x.org/%0A%0Dnew%E2%80%A8line", "https://x.org/ new line"),
        ("https://x.org/%E2%80%AEa%00", "https://x.org/a"),
        ("https://x.org/%zz%", "https://x.org/%zz%"),
        ("https://x.org/%ff", "https://x.org/\ufffd"),
    ],
)
def test_a_url_is_exposed_as_a_person_reads_it(href: str, expected: str) -> None:
    assert expose_url(href) == expected


def test_layers_of_encoding_are_undone_up_to_a_bound() -> None:
    href = "https://x.org/%" + "25" * 5000 + "41"
    assert len(expose_url(href)) <= 4096
