import pytest

from mudroom.media import MediaType, sniff_type
from mudroom.media.signatures import _SIGNATURES
from mudroom.model import REFUSAL_DETAILS

HTML = b"<!DOCTYPE html><title>Hooks</title>"
RSS = b'<?xml version="1.0"?>\n<!-- made by hand -->\n<rss version="2.0">'
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
ZIP = b"PK\x03\x04\x14\0\0\0" + bytes(64)
NOISE = bytes(range(32)) * 40


def test_every_type_that_bytes_give_away_can_be_named_in_a_refusal() -> None:
    assert {name for _, _, name in _SIGNATURES} | {"application/octet-stream"} <= set(REFUSAL_DETAILS)


def sniff(
    declared: str | None, body: bytes, filename: str | None = None, *, no_sniff: bool = False
) -> tuple[str, bool]:
    media_type = MediaType(essence=declared) if declared else None
    found = sniff_type(media_type, body, filename, no_sniff=no_sniff)
    return found.essence, found.disagrees


@pytest.mark.parametrize(
    ("declared", "body", "filename", "expected"),
    [
        pytest.param("text/html", HTML, None, ("text/html", False), id="as declared"),
        pytest.param("text/html", b"just words", None, ("text/html", False), id="words are HTML too"),
        pytest.param("text/html", b"", None, ("text/html", False), id="nothing at all"),
        pytest.param("text/html", PDF, None, ("application/pdf", True), id="a PDF that claims to be a page"),
        pytest.param("text/html", PNG, None, ("image/png", True), id="an image that claims to be a page"),
        pytest.param("text/html", NOISE, None, ("application/octet-stream", True), id="noise that claims to be a page"),
        pytest.param("text/html", b"<p>stray \x00 byte" * 9, None, ("text/html", False), id="a stray NUL is no image"),
        pytest.param("text/html", "<p>é</p>".encode("utf-16"), None, ("text/html", False), id="UTF-16 is text"),
        pytest.param("text/html", RSS, None, ("application/rss+xml", True), id="a feed served as a page"),
        pytest.param("text/plain", HTML, None, ("text/plain", True), id="plain text is never made markup"),
        pytest.param("text/plain", b"# Hooks", "README.md", ("text/markdown", False), id="Markdown served as text"),
        pytest.param("text/plain", b"a,b", "x.csv", ("text/csv", False), id="a table served as text"),
        pytest.param("text/plain", b"x", "x.html", ("text/plain", False), id="an extension makes no page of text"),
        pytest.param("text/plain", PNG, None, ("image/png", True), id="an image that claims to be text"),
        pytest.param("application/pdf", HTML, "a.pdf", ("text/html", True), id="a .pdf that is a page"),
        pytest.param("application/json", b"{}", None, ("application/json", False), id="JSON"),
        pytest.param("application/json", HTML, None, ("application/json", True), id="an error page for JSON"),
        pytest.param("application/xml", RSS, None, ("application/xml", False), id="XML"),
        pytest.param("application/zip", ZIP, None, ("application/zip", False), id="an archive"),
        pytest.param("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ZIP, None,
                     ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", False), id="office in its zip"),
        pytest.param("image/png", HTML, None, ("text/html", True), id="a page that claims to be an image"),
        pytest.param("image/png", b"\xff\xd8\xff\xe0" + bytes(9), None, ("image/jpeg", False), id="one image for another"),
        pytest.param("text/html", b"MZ is a good show", None, ("text/html", False), id="two letters are no program"),
        pytest.param("text/html", b"MZ\x90\0\x03\0\0\0", None, ("application/vnd.microsoft.portable-executable", True), id="a program"),
        pytest.param(None, HTML, None, ("text/html", False), id="undeclared page"),
        pytest.param(None, b"  \n<!-- c --><p>x", None, ("text/html", False), id="undeclared page behind a comment"),
        pytest.param(None, RSS, None, ("application/rss+xml", False), id="undeclared feed"),
        pytest.param(None, b'<?xml version="1.0"?><feed xmlns="x">', None, ("application/atom+xml", False), id="undeclared Atom"),
        pytest.param(None, b"words", "note.txt", ("text/plain", False), id="undeclared text"),
        pytest.param(None, b"# Hooks", "a.md", ("text/markdown", False), id="undeclared Markdown"),
        pytest.param(None, b"<p>Hooks", "a.md", ("text/markdown", False), id="Markdown may begin with a tag"),
        pytest.param(None, b'{"a": 1}', None, ("application/json", False), id="undeclared JSON"),
        pytest.param(None, PDF, "a.html", ("application/pdf", False), id="content beats the extension"),
        pytest.param(None, HTML, "a.pdf", ("text/html", False), id="and again"),
        pytest.param("application/octet-stream", b"a\tb", "a.tsv", ("text/tab-separated-values", False), id="octets named .tsv"),
        pytest.param("*/*", HTML, None, ("text/html", False), id="a wildcard declares nothing"),
    ],
)  # fmt: skip
def test_the_type_is_what_a_careful_browser_would_take(
    declared: str | None, body: bytes, filename: str | None, expected: tuple[str, bool]
) -> None:
    assert sniff(declared, body, filename) == expected


@pytest.mark.parametrize(
    ("declared", "body", "filename", "expected"),
    [
        ("application/pdf", HTML, None, ("application/pdf", True)),
        ("text/html", RSS, None, ("text/html", True)),
        ("text/plain", b"# Hooks", "a.md", ("text/plain", False)),
        ("text/html", PNG, None, ("image/png", True)),
    ],
)
def test_no_sniff_leaves_a_declared_text_type_alone_but_never_makes_text_of_an_image(
    declared: str, body: bytes, filename: str | None, expected: tuple[str, bool]
) -> None:
    assert sniff(declared, body, filename, no_sniff=True) == expected


@pytest.mark.parametrize(
    ("charset", "body", "expected"),
    [
        pytest.param("utf-16le", "<p>word".encode("utf-16-le"), "text/html", id="little end first"),
        pytest.param("utf-16be", "<p>word".encode("utf-16-be"), "text/html", id="big end first"),
        pytest.param("ucs-2", "<p>word".encode("utf-16-le"), "text/html", id="an older name"),
        pytest.param("utf-16le", "<p>word".encode("utf-16-le")[:-1], "text/html", id="cut in a character"),
        pytest.param("utf-16le", ("<p>" + "\U0001f600" * 999).encode("utf-16-le"), "text/html", id="pairs"),
        pytest.param("utf-16le", bytes(900), "application/octet-stream", id="zeros"),
        pytest.param("utf-16le", b"\x00\xd8" * 900, "application/octet-stream", id="halves of pairs"),
        pytest.param("utf-16le", PNG, "image/png", id="an image"),
        pytest.param(
            "utf-8", "<p>word".encode("utf-16-le"), "application/octet-stream", id="another charset"
        ),
    ],
)
def test_utf_16_without_a_mark_is_text_where_it_was_declared(
    charset: str, body: bytes, expected: str
) -> None:
    assert sniff_type(MediaType(essence="text/html", charset=charset), body).essence == expected
