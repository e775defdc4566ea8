import re
import string

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from mudroom.extract import (
    ExtractLimits,
    ExtractSource,
    clean_exposed,
    expose_url,
    extract_document,
    is_clean,
    make_slug,
)
from mudroom.model import View

TAGS = ["p", "div", "span", "b", "i", "em", "code", "pre", "ul", "ol", "li", "table", "tr", "td", "th", "h1", "h3",
        "blockquote", "dl", "dt", "dd", "a", "br", "section", "sup", "font", "center", "figure"]  # fmt: skip
WORDS = st.text(
    st.sampled_from(string.ascii_letters + string.digits + " \n*_#>-+.`[]()!<&|\\~=:é東"), max_size=12
)
PIECES = st.one_of(
    WORDS.map(lambda text: text.replace("<", "&lt;").replace("&l", "&amp;l") if "<" in text else text),
    st.sampled_from(TAGS).map(lambda tag: f"<{tag}>"),
    st.sampled_from(TAGS).map(lambda tag: f"</{tag}>"),
    st.just('<a href="/x">'),
    st.just('<img alt="z" src="https://evil.example/beacon">'),
)
PAGES = st.lists(PIECES, max_size=30).map("".join)
ODD = st.sampled_from(
    "\u200b\u200c\u200d\ufe0f\ufe0e\u202e\u2066\U000e0041\u00ad\r\n\x00\x85\u2028\ud800a❤👩1ی\u094dक#\u20e3"
)


def read(html: str, content_type: str = "text/html; charset=utf-8"):  # noqa: ANN201 - an ExtractedDocument
    source = ExtractSource(url="https://example.org/", content_type=content_type, views=frozenset(View))
    return extract_document(html.encode(), source, ExtractLimits())


@settings(max_examples=300)
@given(st.text(ODD | st.characters(), max_size=40))
def test_cleaning_twice_changes_nothing_and_leaves_nothing(text: str) -> None:
    once = clean_exposed(text)
    assert clean_exposed(once.text).text == once.text
    assert clean_exposed(once.text).removed == 0
    assert is_clean(text) is (once.text == text)
    once.text.encode()
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\U000e0000-\U000e007f]", once.text
    )


@settings(max_examples=200)
@given(title=st.text(max_size=90), url=st.text(max_size=90))
def test_a_slug_is_always_a_safe_name(title: str, url: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", make_slug(title, url))
    assert len(make_slug(title, url)) <= 65
    assert expose_url(url).isprintable() or not expose_url(url) or "\n" not in expose_url(url)


@settings(max_examples=150)
@given(PAGES)
def test_the_text_is_the_one_a_second_parser_reads(page: str) -> None:
    tree = LexborHTMLParser(f"<!doctype html><body>{page}")
    seen = "".join((tree.body.text(deep=True, separator="") if tree.body else "").split())
    ours = read(f"<!doctype html><body>{page}").views[View.TEXT]
    noise = re.compile(r"[\s|•◦▪·\-*>.\d^_()⁰¹²³⁴-⁹⁺⁻⁼ⁿⁱz]|CELL")
    assert noise.sub("", ours) == noise.sub("", seen)


@settings(max_examples=200)
@given(PAGES)
def test_markdown_renders_to_nothing_that_was_not_meant(page: str) -> None:
    text = read(page).views[View.MARKDOWN]
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    rendered = LexborHTMLParser(html)
    assert not rendered.css("img, script, style, iframe")
    assert {link.attributes.get("href") for link in rendered.css("a")} <= {"https://example.org/x"}
    assert not text.startswith(("---", "+++", "{", "%"))


@settings(max_examples=100)
@given(WORDS)
def test_a_paragraph_renders_to_its_own_words(words: str) -> None:
    page = "<p>" + words.replace("&", "&amp;").replace("<", "&lt;")
    html = (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .render(read(page).views[View.MARKDOWN])
    )
    body = LexborHTMLParser(html).body
    assert " ".join((body.text() if body else "").split()) == " ".join(words.split())
    assert html.count("<p>") == (1 if words.split() else 0)


@settings(max_examples=150)
@given(body=st.binary(max_size=300), kind=st.sampled_from(["text/html", "text/plain", "text/markdown", "application/json",
       "text/csv", "application/xml", "application/rss+xml", "application/xhtml+xml", "application/x-ndjson"]))  # fmt: skip
def test_any_bytes_are_read_or_refused(body: bytes, kind: str) -> None:
    from mudroom.errors import ContentRefused

    source = ExtractSource(url="https://example.org/", content_type=kind, views=frozenset(View))
    try:
        document = extract_document(body, source, ExtractLimits())
    except ContentRefused:
        return
    for view in (*document.views.values(), document.title):
        assert clean_exposed(view).removed == 0
        assert clean_exposed(view).text == view
    document.security_text.blob.decode()
