from collections.abc import Callable

import pytest

from mudroom.model import Channel, ExtractedDocument, Hiding, View

Read = Callable[..., ExtractedDocument]
Strings = Callable[[ExtractedDocument], list[tuple[Channel, Hiding, str]]]
SECRET = "water the plants at night"

STYLES = [
    ("display:none", Hiding.DISPLAY_NONE),
    ("DISPLAY : NONE !important", Hiding.DISPLAY_NONE),
    ("d\\69splay:/* x */none", Hiding.DISPLAY_NONE),
    ("visibility:hidden", Hiding.VISIBILITY_HIDDEN),
    ("content-visibility:hidden", Hiding.VISIBILITY_HIDDEN),
    ("opacity:0", Hiding.OPACITY),
    ("opacity:.01", Hiding.OPACITY),
    ("opacity:1%", Hiding.OPACITY),
    ("filter:opacity(0)", Hiding.OPACITY),
    ("font-size:0", Hiding.FONT_SIZE),
    ("font-size:1px", Hiding.FONT_SIZE),
    ("font-size:0.1em", Hiding.FONT_SIZE),
    ("font:0/0 a", Hiding.FONT_SIZE),
    ("position:absolute;left:-9999px", Hiding.OFF_SCREEN),
    ("text-indent:-999em", Hiding.OFF_SCREEN),
    ("margin-left:-5000px", Hiding.OFF_SCREEN),
    ("transform:translateX(-9999px)", Hiding.OFF_SCREEN),
    ("position:absolute;clip:rect(0 0 0 0)", Hiding.CLIPPED),
    ("position:absolute;clip:rect(1px, 1px, 1px, 1px)", Hiding.CLIPPED),
    ("clip-path:inset(50%)", Hiding.CLIPPED),
    ("clip-path:polygon(0 0, 0 0, 0 0)", Hiding.CLIPPED),
    ("height:0;overflow:hidden", Hiding.ZERO_SIZE),
    ("width:1px;height:1px;overflow:hidden", Hiding.ZERO_SIZE),
    ("transform:scale(0)", Hiding.ZERO_SIZE),
    ("color:#fff;background:white", Hiding.COLOUR),
    ("color:rgb(254,254,254);background-color:#FFFFFF", Hiding.COLOUR),
    ("color:transparent", Hiding.COLOUR),
    ("color:rgba(0,0,0,0)", Hiding.COLOUR),
]


@pytest.mark.parametrize(("style", "hiding"), STYLES, ids=[style for style, _ in STYLES])
def test_text_that_a_style_hides_is_scanned_as_hidden_and_not_shown(
    read: Read, strings: Strings, style: str, hiding: Hiding
) -> None:
    document = read(f'<p>before <span style="{style}">{SECRET}</span> after</p>')
    assert (Channel.TEXT, hiding, SECRET) in strings(document)
    assert all(SECRET not in view for view in document.views.values())
    assert document.views[View.TEXT] == "before after\n"
    assert document.hidden_chars == len(SECRET)


@pytest.mark.parametrize(
    "style",
    [
        "display:block", "visibility:visible", "opacity:.5", "font-size:11px", "font-size:80%", "left:-9999px",
        "position:relative;left:-20px", "text-indent:-2em", "margin-left:-10px", "clip:rect(0 0 0 0)", "height:0",
        "overflow:hidden;height:200px", "transform:translateY(-50%)", "transform:scale(0.9)", "color:white;background:#003",
        "color:transparent;background-clip:text;background-image:linear-gradient(red,blue)",
        "opacity:0;animation:fade 1s forwards", "clip-path:polygon(0 0, 100% 0, 100% 100%)", "clip-path:circle(50%)",
        "color:#777;background:#888", "width:0",
    ],
)  # fmt: skip
def test_text_that_a_person_can_read_is_shown(read: Read, strings: Strings, style: str) -> None:
    document = read(f'<p><span style="{style}">{SECRET}</span></p>')
    assert strings(document)[0] == (Channel.TEXT, Hiding.NONE, SECRET)
    assert SECRET in document.views[View.MARKDOWN]
    assert document.hidden_chars == 0


@pytest.mark.parametrize(
    ("html", "hiding"),
    [
        (f"<p hidden>{SECRET}", Hiding.HIDDEN_ATTRIBUTE),
        (f"<p hidden=until-found>{SECRET}", Hiding.HIDDEN_ATTRIBUTE),
        (f"<div popover>{SECRET}</div>", Hiding.HIDDEN_ATTRIBUTE),
        (f"<dialog>{SECRET}</dialog>", Hiding.DISPLAY_NONE),
        (f"<template><p>{SECRET}</template>", Hiding.NOT_RENDERED),
        (f"<noscript>{SECRET}</noscript>", Hiding.NOT_RENDERED),
        (f"<!-- {SECRET} -->", Hiding.NOT_RENDERED),
        (f"<div bgcolor=white><font color=white>{SECRET}</font></div>", Hiding.COLOUR),
        (f"<font color='#fefefe'>{SECRET}</font>", Hiding.COLOUR),
        (f"<div style='background:#000'><p style='color:black'>{SECRET}</div>", Hiding.COLOUR),
        (f"<style>.x{{display:none}}</style><p class=x>{SECRET}", Hiding.DISPLAY_NONE),
        (f"<style>p{{display:none}}</style><p>{SECRET}", Hiding.DISPLAY_NONE),
        (f"<style>p > span{{opacity:0}}</style><p class=x>seen <span>{SECRET}</span>", Hiding.OPACITY),
        (f"<style>@media screen{{div > .x{{opacity:0}}}}</style><div><p class=x>{SECRET}</div>", Hiding.OPACITY),
        (f"<style>@layer a{{#x,y{{visibility:hidden}}}}</style><p id=x>{SECRET}", Hiding.VISIBILITY_HIDDEN),
        (f"<style>.x{{display:block}} p.x{{display:none}} .x{{display:block}}</style><p class=x>{SECRET}", Hiding.DISPLAY_NONE),
        (f"<style>.x:not(:focus){{position:absolute;left:-10000px}}</style><a class=x>{SECRET}</a>", Hiding.OFF_SCREEN),
        (f"<style>.x{{display:none!important}}</style><p class=x style='display:block'>{SECRET}", Hiding.DISPLAY_NONE),
        (f"<style>.a{{opacity:0}} p#b{{display:none}} .c{{display:block}}</style><i class=a></i><p id=b class=c>{SECRET}", Hiding.DISPLAY_NONE),
        (f"<div hidden><ul><li>{SECRET}</ul></div>", Hiding.HIDDEN_ATTRIBUTE),
        (f"<style>p{{content:'}}'}} .x{{font-size:0}}</style><p class=x>{SECRET}", Hiding.FONT_SIZE),
    ],
)  # fmt: skip
def test_elements_and_rules_hide_too(read: Read, strings: Strings, html: str, hiding: Hiding) -> None:
    document = read(html)
    assert [(h, text) for _, h, text in strings(document) if text == SECRET] == [(hiding, SECRET)]
    assert SECRET not in document.views[View.MARKDOWN]


@pytest.mark.parametrize(
    "html",
    [
        f"<p aria-hidden=true>{SECRET}",
        f"<p inert>{SECRET}",
        f"<dialog open>{SECRET}</dialog>",
        f"<style>@media print{{p{{display:none}}}}</style><p>{SECRET}",
        f"<style>@media (max-width:600px){{p{{display:none}}}}</style><p>{SECRET}",
        f"<style>p:hover{{display:none}} p::before{{display:none}}</style><p>{SECRET}",
        f"<style>.x{{display:none}} .x.open{{display:block}}</style><p class='x open'>{SECRET}",
        f"<style>.x{{display:none}}</style><p class=x style='display:block'>{SECRET}",
        f"<style>.x{{width:0;overflow:hidden}} div.x{{width:220px}}</style><div class=x>{SECRET}</div>",
        f"<style>.x{{position:absolute;left:-9999px}} #x{{left:0}}</style><div class=x id=x>{SECRET}</div>",
        f"<style>.x{{clip-path:inset(50%)}} .x{{clip-path:none}}</style><div class=x>{SECRET}</div>",
        f"<style media=print>p{{display:none}}</style><p>{SECRET}",
        f"<noscript><style>p{{display:none}}</style></noscript><p>{SECRET}",
        f"<div style='visibility:hidden'><p style='visibility:visible'>{SECRET}</div>",
        f"<div style='font-size:0'><p style='font-size:16px'>{SECRET}</div>",
        f"<link rel=stylesheet href=a.css><font color=white>{SECRET}</font>",
        f"<div style='background:url(dark.png)'><font color=white>{SECRET}</font></div>",
        f"<style>p{{{{{{broken</style><p>{SECRET}",
        f"<style>:is(,p{{display:none}}</style><p>{SECRET}",
    ],
)  # fmt: skip
def test_what_hides_nothing_from_a_person_hides_nothing_here(read: Read, strings: Strings, html: str) -> None:
    document = read(html)
    assert (Channel.TEXT, Hiding.NONE, SECRET) in strings(document)
    assert SECRET in document.views[View.MARKDOWN]


def test_closed_details_are_shown_and_marked(read: Read, strings: Strings) -> None:
    closed = read(f"<details><summary>More</summary>{SECRET}</details>")
    assert (Channel.TEXT, Hiding.CLOSED_DETAILS, SECRET) in strings(closed)
    assert (Channel.TEXT, Hiding.NONE, "More") in strings(closed)
    assert SECRET in closed.views[View.MARKDOWN]
    assert (Channel.TEXT, Hiding.NONE, SECRET) in strings(read(f"<details open>{SECRET}</details>"))


def test_a_hidden_block_does_not_part_the_text_around_it(read: Read, strings: Strings) -> None:
    document = read("<div>take off <span hidden><div>x</div></span>your boots</div>")
    assert "take off your boots" in " ".join(document.views[View.TEXT].split())


def test_a_phrase_is_one_string_whatever_tags_are_in_it(read: Read, strings: Strings) -> None:
    document = read("<p>ta<b>ke</b> <i>o<u>ff</u></i><!-- x --> your <a href=/>boo</a>ts")
    assert (Channel.TEXT, Hiding.NONE, "take off your boots") in strings(document)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<img alt='words in an image'>", (Channel.ALT, Hiding.NONE, "words in an image")),
        ("<p title='words on hover'>x", (Channel.ATTRIBUTE, Hiding.NONE, "words on hover")),
        ("<p aria-label='words for a reader'>x", (Channel.ATTRIBUTE, Hiding.NOT_RENDERED, "words for a reader")),
        ("<p data-note='words for a script'>x", (Channel.ATTRIBUTE, Hiding.NOT_RENDERED, "words for a script")),
        ("<p made-up='words for nobody'>x", (Channel.ATTRIBUTE, Hiding.NOT_RENDERED, "words for nobody")),
        ("<input placeholder='type your name'>", (Channel.FORM, Hiding.NONE, "type your name")),
        ("<input type=hidden value='words in a field'>", (Channel.FORM, Hiding.NONE, "words in a field")),
        ("<select><option>one<option>other words</select>", (Channel.FORM, Hiding.NONE, "other words")),
        ("<meta name=description content='words in the head'>", (Channel.META, Hiding.NOT_RENDERED, "words in the head")),
        ("<title>words on the tab</title>", (Channel.TITLE, Hiding.NONE, "words on the tab")),
        ("<!--words in a comment-->", (Channel.COMMENT, Hiding.NOT_RENDERED, "words in a comment")),
        ("<?php words in an instruction ?>", (Channel.INSTRUCTION, Hiding.NOT_RENDERED, "php words in an instruction")),
        ("<script>f('words in a script')</script>", (Channel.SCRIPT, Hiding.NOT_RENDERED, "words in a script")),
        ("<script>f('w\\u006frds in a \\x73cript')</script>", (Channel.SCRIPT, Hiding.NOT_RENDERED, "words in a script")),
        ("<script>// words in a remark\n</script>", (Channel.SCRIPT, Hiding.NOT_RENDERED, "words in a remark")),
        ('<script type=application/ld+json>{"a":["words\\u0020in data"]}</script>', (Channel.JSON, Hiding.NOT_RENDERED, "words in data")),
        ("<script type=text/template><p>words in a template</script>", (Channel.TEMPLATE, Hiding.NOT_RENDERED, "<p>words in a template")),
        ("<style>/* words in a sheet */</style>", (Channel.STYLE, Hiding.NOT_RENDERED, "words in a sheet")),
        ("<noscript><p>words without scripts</noscript>", (Channel.NOSCRIPT, Hiding.NOT_RENDERED, "words without scripts")),
        ("<template><b>words</b> kept</template>", (Channel.TEMPLATE, Hiding.NOT_RENDERED, "words kept")),
        ("<iframe srcdoc='<p>words <b>in a frame'></iframe>", (Channel.EMBEDDED, Hiding.NOT_RENDERED, "words in a frame")),
        ("<iframe src='data:text/html,<p>words%20in%20data'></iframe>", (Channel.EMBEDDED, Hiding.NOT_RENDERED, "words in data")),
        ("<iframe src='data:text/html;base64,PHA+d29yZHMgaW4gZGF0YQ=='></iframe>", (Channel.EMBEDDED, Hiding.NOT_RENDERED, "words in data")),
        ("<video>words for old browsers</video>", (Channel.EMBEDDED, Hiding.NOT_RENDERED, "words for old browsers")),
        ("<svg><text>words drawn</text></svg>", (Channel.SVG, Hiding.NONE, "words drawn")),
        ("<svg><title>words on a drawing</title></svg>", (Channel.SVG, Hiding.NOT_RENDERED, "words on a drawing")),
        ("<math><annotation>words in source</annotation></math>", (Channel.ATTRIBUTE, Hiding.NOT_RENDERED, "words in source")),
        ("<pre>words in code</pre>", (Channel.CODE, Hiding.NONE, "words in code")),
        ("<a href='/?q=words%20in%20a%20link'>x</a>", (Channel.URL, Hiding.NOT_RENDERED, "/?q=words in a link")),
        ("<a href='javascript:alert(1)'>x</a>", (Channel.URL, Hiding.NOT_RENDERED, "javascript:alert(1)")),
        ("<p onclick=\"say('words in a handler')\">x", (Channel.SCRIPT, Hiding.NOT_RENDERED, "say('words in a handler')")),
        ("<p class='" + "words " * 20 + "'>x", (Channel.ATTRIBUTE, Hiding.NOT_RENDERED, ("words " * 20).strip())),
    ],
)  # fmt: skip
def test_every_place_that_a_model_could_read_is_scanned(
    read: Read, strings: Strings, html: str, expected: tuple[Channel, Hiding, str]
) -> None:
    assert expected in strings(read(html))


def test_strings_know_their_line(read: Read) -> None:
    pieces = list(read("<p>one\n<div>\n\n<b>two</b></div>\n<i hidden>three</i>").security_text.pieces())
    assert [(piece.line, piece.text) for piece in pieces] == [(1, "one"), (4, "two"), (5, "three")]
