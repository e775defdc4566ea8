from collections.abc import Callable

import pytest

from mudroom.errors import Code, ContentRefused
from mudroom.extract import ExtractLimits
from mudroom.model import ExtractedDocument, Limit, Link, View, WarningCode

Read = Callable[..., ExtractedDocument]


def refusal(read: Read, *arguments: object, **options: object) -> ContentRefused:
    with pytest.raises(ContentRefused) as caught:
        read(*arguments, **options)
    return caught.value


def test_a_page_is_read_whole(read: Read) -> None:
    document = read(
        "<title> Coats\n &amp; boots </title><p>One <a href=/a>a</a> <a href=b rel='x nofollow'>b</a> <a href=/a>again</a>"
    )
    assert document.media_type == "text/html"
    assert document.title == "Coats & boots"
    assert document.links == (Link(untrusted_href="/a"), Link(untrusted_href="b", is_nofollow=True))
    assert document.base_url == "https://example.org/guide/page"
    assert (document.visible_chars, document.hidden_chars, document.removed_chars) == (
        len("One a b again"),
        0,
        0,
    )
    assert not document.needs_render
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>a</title><title>b</title>", "a"),
        ("<h1>From <em>the</em> heading</h1>", "From the heading"),
        ("<title> </title><h2>x</h2>", "x"),
        ("<svg><title>drawing</title></svg><title>page</title>", "page"),
        ("<title>a\u202eb\u200b</title>", "ab"),
        ("<p>none", ""),
    ],
)
def test_the_title_is_the_first_that_names_the_page(read: Read, html: str, title: str) -> None:
    assert read(html).title == title


@pytest.mark.parametrize(
    ("html", "hrefs"),
    [
        ("<a href='#x'>x</a><a>y</a><a href=''>z</a>", []),
        ("<a href='  /a\n'>x</a>", ["/a"]),
        ("<area href=/map><frameset><frame src=/f></frameset>", ["/map"]),
        ("<frameset><frame src=/f></frameset>", ["/f"]),
        ("<meta http-equiv=refresh content='0; url=/next'>", ["/next"]),
        ("<nav hidden><a href=/menu>m</a></nav>", ["/menu"]),
        ("<template><a href=/t>t</a></template><noscript><a href=/n>n</a></noscript><!-- <a href=/c> -->", ["/t", "/n"]),
        ("<pre><a href=/code>x</a></pre>", ["/code"]),
        ("<a href='javascript:x()'>x</a>", ["javascript:x()"]),
    ],
)  # fmt: skip
def test_links_are_kept_as_written(read: Read, html: str, hrefs: list[str]) -> None:
    assert [link.untrusted_href for link in read(html).links] == hrefs


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"\x63\x61\x66\xe9", "text/plain; charset=windows-1252", ("café\n", "windows-1252", ())),
        (b"\xef\xbb\xbf<p>caf\xc3\xa9", "text/html", ("café\n", "utf-8", ())),
        ("<meta charset=Shift_JIS><p>お茶".encode("shift_jis"), "text/html", ("お茶\n", "shift_jis", ())),
        (
            b"<p>a\xff",
            "text/html; charset=utf-8",
            ("a\ufffd\n", "utf-8", (WarningCode.CHARSET_INVALID_BYTES,)),
        ),
        (b"<p>a", "text/html; charset=klingon", ("a\n", "utf-8", (WarningCode.CHARSET_UNKNOWN,))),
        (b"<p>caf\xe9", "text/html", ("café\n", "windows-1252", (WarningCode.CHARSET_GUESSED,))),
        (
            b"<rss><channel><title>t</title></channel></rss>",
            "text/html",
            ("t\n", "utf-8", (WarningCode.TYPE_DISAGREES,)),
        ),
        ("<p>a\u200bb".encode(), "text/html", ("ab\n", "utf-8", (WarningCode.TEXT_CLEANED,))),
    ],
)
def test_charsets_and_oddities_are_told(
    read: Read, body: bytes, content_type: str, expected: tuple[str, str, tuple[WarningCode, ...]]
) -> None:
    document = read(body, content_type)
    assert (document.views[View.TEXT], document.charset, document.warnings) == expected


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"%PDF-1.7\n", "text/html"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "text/html"),
        (b"PK\x03\x04" + bytes(40), ""),
        (bytes(range(32)) * 50, "text/plain"),
        (b"<p>x", "image/png; nosniff"),
    ],
)
def test_bytes_that_are_no_text_are_refused(read: Read, body: bytes, content_type: str) -> None:
    error = refusal(read, body, content_type, no_sniff="nosniff" in content_type)
    assert error.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div id=root></div><script src=app.js></script>", True),
        ("<div id=app></div><script>" + "x();" * 900 + "</script>", True),
        ("<noscript>Please enable JavaScript</noscript><script src=a.js></script><p>…", True),
        ("<div style='visibility:hidden'>" + "words " * 200 + "</div>", True),
        ("<p>A short page.</p><script src=stats.js></script>", False),
        ("<p>A short page.", False),
        ("", False),
        ("<div id=root>" + "words " * 200 + "</div><script src=app.js></script>", False),
    ],
)
def test_a_shell_asks_for_a_browser(read: Read, html: str, expected: bool) -> None:
    assert read(html).needs_render is expected


def test_a_page_that_hides_most_of_itself_says_so(read: Read) -> None:
    document = read("<p>Loading</p><div hidden>" + "words " * 500 + "</div>")
    assert WarningCode.MOSTLY_HIDDEN in document.warnings
    assert document.hidden_chars > 100 * document.visible_chars


def test_too_many_links_are_cut_with_a_warning(read: Read) -> None:
    document = read("".join(f"<a href=/{i}>x</a>" for i in range(9)), limits=ExtractLimits(max_links=5))
    assert len(document.links) == 5
    assert document.warnings == (WarningCode.LINKS_CAPPED,)


@pytest.mark.parametrize(
    ("body", "limits", "limit"),
    [
        pytest.param("x" * 11, ExtractLimits(max_body_bytes=10), Limit.BODY, id="bytes"),
        pytest.param("<i>" * 60, ExtractLimits(max_depth=50), Limit.DEPTH, id="depth"),
        pytest.param("<p>x" * 60, ExtractLimits(max_nodes=50), Limit.NODES, id="nodes"),
        pytest.param("<p a b c d e f>", ExtractLimits(max_attributes=5), Limit.ATTRIBUTES, id="attributes"),
        pytest.param("<p>some words", ExtractLimits(max_output_chars=5), Limit.OUTPUT, id="output"),
        pytest.param("<p>some words", ExtractLimits(max_security_chars=5), Limit.STRINGS, id="strings"),
        pytest.param("<p>x" * 9, ExtractLimits(max_pieces=8), Limit.STRINGS, id="pieces"),
        pytest.param(
            "<style>p~i{display:none}</style>" + "<p>x" * 9,
            ExtractLimits(max_selector_steps=99),
            Limit.STYLE,
            id="selectors",
        ),
    ],
)
def test_each_bound_refuses_the_document_whole_and_is_named(
    read: Read, body: str, limits: ExtractLimits, limit: Limit
) -> None:
    refused = refusal(read, body, limits=limits)
    assert (refused.code, refused.detail) == (Code.EXTRACTION_LIMIT, limit)
    assert limit in refused.message


def test_only_the_views_that_were_asked_for_are_made(read: Read) -> None:
    assert set(read("<p>x", views=frozenset({View.TEXT})).views) == {View.TEXT}


def test_a_file_is_named_by_its_file_name(read: Read) -> None:
    document = read("a,b\n1,2\n", "", filename="sizes.csv")
    assert (document.media_type, document.title) == ("text/csv", "sizes.csv")


def test_reading_twice_gives_the_same(read: Read) -> None:
    html = "<title>t</title><style>.x{opacity:0}</style><p class=x>a</p><a href=/>b</a><!-- c -->"
    assert read(html) == read(html)
