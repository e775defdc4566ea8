from collections.abc import Callable

import pytest

from mudroom.model import Channel, ExtractedDocument, Hiding, View

Read = Callable[..., ExtractedDocument]
Render = Callable[..., str]
Strings = Callable[[ExtractedDocument], list[tuple[Channel, Hiding, str]]]

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>Mat news</title>
<description>All of it</description><!-- under the mat -->
<item><title>New &amp;lt;mat&amp;gt;</title><link>https://example.org/mat</link><pubDate>Mon, 1 Jan 2026</pubDate>
<description>&lt;p&gt;It is &lt;b&gt;red&lt;/b&gt;.&lt;span hidden&gt;psst&lt;/span&gt;</description></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Hooks</title><entry><title>One</title>
<link rel="self" href="/self"/><link href="/one"/><updated>2026-01-01</updated><content type="html">&lt;i&gt;fine</content></entry></feed>"""


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        pytest.param("text/plain", "One line\nand another.\n\nNew.", "One line\nand another.\n\nNew.", id="prose"),
        pytest.param("text/plain", "# no\n- no\n[x](y)\n<b>", "\\# no\n\\- no\n\\[x\\](y)\n\\<b>", id="prose smuggles nothing"),
        pytest.param("text/plain", "a   b\n1   2\n\nprose", "```\na   b\n1   2\n```\n\nprose", id="columns as they stand"),
        pytest.param("text/plain", "```\n   x\n```", "````\n```\n   x\n```\n````", id="a fence in a text"),
        pytest.param("text/plain", "---\na: b\n---\nx", "\\---\na: b\n\\---\nx", id="front matter in a text"),
        pytest.param("text/css", "a{}\n", "```css\na{}\n```", id="a style sheet"),
        pytest.param("application/javascript", "f()", "```javascript\nf()\n```", id="a script"),
        pytest.param("text/markdown", "# A *b*\n\n- x\n- [y](z)\n", "# A *b*\n\n- x\n- [y](https://example.org/guide/z)", id="Markdown keeps its form"),
        pytest.param("text/markdown", "a <span hidden>b</span> c", "a c", id="Markdown with HTML"),
        pytest.param("text/markdown", "![a](http://t/?q)", "a", id="an image in Markdown"),
        pytest.param("text/markdown", "---\nt: x\n---\n# A", "```yaml\nt: x\n```\n\n# A", id="Markdown with front matter"),
        pytest.param("text/markdown", "|a|b|\n|-|-|\n|1|2|", "| a | b |\n| --- | --- |\n| 1 | 2 |", id="a table in Markdown"),
        pytest.param("text/markdown", ">" * 90 + "deep", "\\" + ">" * 90 + "deep", id="Markdown deeper than its parser is shown as text"),
        pytest.param("application/json", '{"a": [1, "b"]}', '```json\n{"a": [1, "b"]}\n```', id="JSON"),
        pytest.param("application/x-ndjson", '{"a":1}\n{"a":2}\n', '```json\n{"a":1}\n{"a":2}\n```', id="JSON lines"),
        pytest.param("text/csv", 'a,b\n"x,y",[z](w)\n', "| a | b |\n| --- | --- |\n| x,y | \\[z\\](w) |", id="a table"),
        pytest.param("text/csv", "a;b\n1,5;2\n", "| a | b |\n| --- | --- |\n| 1,5 | 2 |", id="a table with semicolons"),
        pytest.param("text/tab-separated-values", "a\tb|c\n", "| a | b\\|c |\n| --- | --- |", id="a table with tabs"),
        pytest.param("application/xml", "<a><b>x</b></a>", "```xml\n<a><b>x</b></a>\n```", id="XML as it stands"),
        pytest.param("application/xml", "<a><b></a>", "```xml\n<a><b></a>\n```", id="broken XML as it stands"),
        pytest.param("application/rss+xml", RSS, "# Mat news\n\nAll of it\n\n## [New \\<mat>](https://example.org/mat)\n\nMon, 1 Jan 2026\n\nIt is **red**.", id="RSS"),
        pytest.param("application/atom+xml", ATOM, "# Hooks\n\n## [One](https://example.org/one)\n\n2026-01-01\n\n*fine*", id="Atom"),
        pytest.param("application/xhtml+xml", '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a"/></head><body><p>x</p></body></html>', "x", id="XHTML closes what HTML would not"),
        pytest.param("application/xhtml+xml", "<html><body><p>x&nbsp;y<br></body></html>", "x y", id="XHTML that is not well formed"),
        pytest.param("text/html", '<?xml version="1.0"?><!DOCTYPE html><p>x', "x", id="an XML declaration in HTML"),
        pytest.param("image/svg+xml", "<svg><text>x</text></svg>", "```xml\n<svg><text>x</text></svg>\n```", id="a drawing"),
    ],
)  # fmt: skip
def test_each_format_becomes_blocks_and_is_escaped_anew(
    markdown: Render, content_type: str, body: str, expected: str
) -> None:
    assert markdown(body, content_type) == expected


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", '{"k": "w\\u006frds \\n here"}', (Channel.JSON, Hiding.NONE, "words \n here\nk")),
        ("text/csv", "a,b\nwords,here\n", (Channel.CELL, Hiding.NONE, "words\there")),
        ("text/markdown", '[//]: # "words nobody sees"\nx', (Channel.LINK, Hiding.NOT_RENDERED, "// words nobody sees #")),
        ("text/markdown", "<!-- words -->x", (Channel.COMMENT, Hiding.NOT_RENDERED, "words")),
        ("application/xml", "<a><!-- words --></a>", (Channel.COMMENT, Hiding.NOT_RENDERED, "words")),
        ("application/xml", "<a><![CDATA[words]]></a>", (Channel.CDATA, Hiding.NONE, "words")),
        ("application/xml", "<a><?say words?></a>", (Channel.INSTRUCTION, Hiding.NOT_RENDERED, "say words")),
        ("application/xml", "<a note='words and words'/>", (Channel.ATTRIBUTE, Hiding.NOT_RENDERED, "words and words")),
        ("application/rss+xml", RSS, (Channel.TEXT, Hiding.HIDDEN_ATTRIBUTE, "psst")),
    ],
)  # fmt: skip
def test_what_formats_hide_is_scanned(
    read: Read, strings: Strings, content_type: str, body: str, expected: tuple[Channel, Hiding, str]
) -> None:
    found = strings(read(body, content_type))
    assert any(
        c is expected[0] and h is expected[1] and set(t.split()) >= set(expected[2].split())
        for c, h, t in found
    )


def test_entities_are_never_expanded(read: Read) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bang"><!ENTITY c "&b;&b;">]><a>&c;</a>'
    assert "bangbang" not in read(bomb, "application/xml").views[View.MARKDOWN]


def test_the_title_of_a_feed_is_the_title(read: Read) -> None:
    document = read(RSS, "application/rss+xml")
    assert document.title == "Mat news"
    assert [link.untrusted_href for link in document.links] == ["https://example.org/mat"]
