"""Which links of a page are kept, how they are related to it, and whether they may be followed."""

from __future__ import annotations

import pytest

from mudroom.extract import ExtractLimits, ExtractSource, extract_document
from mudroom.model import Link, LinkRelation

ALTERNATE, CANONICAL, NEXT = LinkRelation.ALTERNATE, LinkRelation.CANONICAL, LinkRelation.NEXT
ROWS = [
    ("<link rel=canonical href=/a>", (Link("/a", relation=CANONICAL),)),
    ("<link rel=NEXT href=/a>", (Link("/a", relation=NEXT),)),
    ("<link rel='alternate canonical' href=/a>", (Link("/a", relation=CANONICAL),)),
    ("<link rel='alternate stylesheet' href=/a.css>", (Link("/a.css", relation=ALTERNATE),)),
    ("<link rel=stylesheet href=/a.css><link rel=icon href=/i><link rel=preload href=/p>", ()),
    ("<link rel=canonical><link href=/a>", ()),
    ("<link rel='next nofollow' href=/a>", (Link("/a", is_nofollow=True, relation=NEXT),)),
    ("<body><p>x<link rel=next href=/a>", (Link("/a", relation=NEXT),)),
    # What is linked to for a person too is a link for a person.
    ("<link rel=canonical href=/a><a href=/b>b</a><a href=/a>a</a>", (Link("/a"), Link("/b"))),
    ("<a href=/a>a</a><link rel=alternate href=/a>", (Link("/a"),)),
    ("<a rel=next href=/a>a</a>", (Link("/a"),)),
    ("<meta name=robots content='noindex,nofollow'><a href=/a>a</a>", (Link("/a", is_nofollow=True),)),
    ("<a href=/a>a</a><meta name=Mudroom content=none>", (Link("/a", is_nofollow=True),)),
    ("<meta name=otherbot content=nofollow><a href=/a>a</a>", (Link("/a"),)),
    ("<meta name=description content=nofollow><a href=/a>a</a>", (Link("/a"),)),
]


@pytest.mark.parametrize(("html", "links"), ROWS)
def test_links_are_kept_with_what_the_page_says_of_them(html: str, links: tuple[Link, ...]) -> None:
    source = ExtractSource(url="https://site.example/", content_type="text/html")
    assert extract_document(html.encode(), source, ExtractLimits()).links == links
