"""Sitemaps as sites really serve them: which entries are read, and what is said to be wrong."""

from __future__ import annotations

import gzip

import pytest

from mudroom.extract import SitemapLimits, read_sitemap
from mudroom.model import SitemapEntry, SitemapFault, SitemapKind, SitemapReading

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
A, B = "https://site.example/a", "https://site.example/b?x=1&y=2"
BODY = (
    f"<url><loc>{A}</loc><lastmod>2026-01-31</lastmod></url><url><loc>{B.replace('&', '&amp;')}</loc></url>"
)
PLAIN = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NAMESPACE}">{BODY}</urlset>'


def read(body: str | bytes, charset: str | None = None, **limits: int) -> SitemapReading:
    data = body.encode() if isinstance(body, str) else body
    return read_sitemap(data, charset, SitemapLimits(**limits))


def locations(reading: SitemapReading) -> list[str]:
    return [entry.untrusted_location for entry in reading.entries]


WELL = {
    "as the protocol says": PLAIN,
    "without a namespace": f"<urlset>{BODY}</urlset>",
    "with a wrong namespace": f'<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">{BODY}</urlset>',
    "with a prefix": f'<s:urlset xmlns:s="{NAMESPACE}">'
    + BODY.replace("</", "<\0").replace("<", "<s:").replace("<s:\0", "</s:")
    + "</s:urlset>",
    "with an unbound prefix": "<x:urlset>" + BODY + "</x:urlset>",
    "in capitals": f"<URLSET>{BODY.replace('loc>', 'LOC>').replace('url>', 'URL>')}</URLSET>",
    "with a blank line before the declaration": "\n \r\n" + PLAIN,
    "with a byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "with a blank line before its byte order mark": "\n\ufeff" + PLAIN,
    "in UTF-16": PLAIN.replace("UTF-8", "UTF-16").encode("utf-16"),
    "that lies about its encoding": PLAIN.replace("UTF-8", "UTF-16"),
    "packed": gzip.compress(PLAIN.encode()),
    "packed twice": gzip.compress(gzip.compress(PLAIN.encode())),
    "packed in two members": gzip.compress(PLAIN[:90].encode()) + gzip.compress(PLAIN[90:].encode()),
    "packed in two members, the first larger than a piece": gzip.compress(
        PLAIN[:90].encode() + b" " * (3 << 20), mtime=0
    )
    + gzip.compress(PLAIN[90:].encode()),
    "packed with padding behind": gzip.compress(PLAIN.encode()) + b"\0" * 900,
    "in CDATA": PLAIN.replace(f"<loc>{A}", f"<loc> <![CDATA[{A}]]>\n "),
    "with comments and instructions": PLAIN.replace("<loc>", "<!-- c --><loc><?p i?>"),
    "with numeric references": PLAIN.replace("&amp;", "&#38;"),
    "with extensions": PLAIN.replace(
        "</loc>",
        "</loc><i:image xmlns:i='i'><i:loc>https://site.example/p.png</i:loc></i:image>"
        "<h:link xmlns:h='h' rel='alternate' href='https://site.example/de'/>",
    ),
    "with an element around its entries": PLAIN.replace('0.9">', '0.9"><group>').replace("</urlset>", "</group></urlset>"),
    "with each entry twice": PLAIN.replace("</urlset>", BODY + "</urlset>"),
}  # fmt: skip


@pytest.mark.parametrize("body", WELL.values(), ids=WELL)
def test_a_set_of_urls_is_read(body: str | bytes) -> None:
    reading = read(body)
    assert reading == SitemapReading(
        kind=SitemapKind.PAGES, entries=(SitemapEntry(A, "2026-01-31"), SitemapEntry(B))
    )


def test_an_index_leads_to_sitemaps() -> None:
    reading = read(
        f"<sitemapindex xmlns='{NAMESPACE}'><sitemap><loc>{A}</loc><lastmod>2026</lastmod></sitemap>"
        f"<url><loc>{A}2</loc></url></sitemapindex>"
    )
    assert reading.kind is SitemapKind.INDEX
    assert reading.entries == (SitemapEntry(A, "2026"), SitemapEntry(f"{A}2"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{A}\n{B}\n", [A, B]),
        (f"\ufeff{A}\r\n\r\n  {B}", [A, B]),
        (f"{A}\r{B}", [A, B]),
        (f"HTTP://site.example/\n# a comment\nwww.site.example\n{A}\n{A}", ["HTTP://site.example/", A]),
        (gzip.compress(A.encode()), [A]),
    ],
)
def test_a_text_holds_a_url_a_line(body: str | bytes, expected: list[str]) -> None:
    reading = read(body)
    assert (reading.kind, locations(reading), reading.faults) == (SitemapKind.TEXT, expected, ())


ESCAPED = B.replace("&", "&amp;")
RSS = f"""<rss version='2.0'><channel><title>t</title><link>https://site.example/</link>
<item><title>x</title><link>{A}</link><link rel='self'>no</link></item>
<item><link><![CDATA[{B}]]></link></item></channel></rss>"""
ATOM = f"""<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://site.example/'/>
<entry><link rel='edit' href='no'/><link href='{A}'/></entry>
<entry><link rel='alternate' href='{ESCAPED}'/></entry></feed>"""
RDF = f"""<r:RDF xmlns:r='r' xmlns='s'><channel/><item><link>{A}</link></item>
<item><link>{ESCAPED}</link></item></r:RDF>"""


@pytest.mark.parametrize("body", [RSS, ATOM, RDF], ids=["rss", "atom", "rdf"])
def test_a_feed_leads_to_the_pages_of_its_entries(body: str) -> None:
    reading = read(body)
    assert (reading.kind, locations(reading), reading.faults) == (SitemapKind.FEED, [A, B], ())


KEPT = {
    "cut off in an entry": (PLAIN[: PLAIN.index("</loc></url></urlset>")], SitemapFault.MALFORMED),
    "a bare ampersand": (PLAIN.replace("&amp;", "&"), SitemapFault.MALFORMED),
    "an entity of its own": (PLAIN.replace("&amp;", "&eacute;"), SitemapFault.MALFORMED),
    "a control character": (PLAIN.replace("&amp;", "\x01"), SitemapFault.MALFORMED),
    "crossed tags": (PLAIN.replace("&amp;", "</url></loc>"), SitemapFault.MALFORMED),
    "cut off in gzip": (gzip.compress(PLAIN.encode() * 40, mtime=0)[:-60], SitemapFault.GZIP),
    "a broken checksum": (gzip.compress(PLAIN.encode())[:-8] + b"\0" * 8, SitemapFault.GZIP),
    "no location": (PLAIN.replace(B.replace("&", "&amp;"), " "), SitemapFault.LOCATIONS),
    "too long a location": (PLAIN.replace("&amp;", "x" * 9000), SitemapFault.LOCATIONS),
    "too deep": (PLAIN.replace("&amp;", "<a>" * 80), SitemapFault.DEPTH),
}


@pytest.mark.parametrize(("body", "fault"), KEPT.values(), ids=KEPT)
def test_what_stood_before_a_fault_is_kept(body: str | bytes, fault: SitemapFault) -> None:
    reading = read(body)
    assert reading.kind is SitemapKind.PAGES
    assert locations(reading)[0] == A
    assert fault in reading.faults


def test_nothing_behind_a_doctype_is_read() -> None:
    bomb = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))
    reading = read(PLAIN.replace("<urlset", f"<!DOCTYPE u [<!ENTITY e0 'x'>{bomb}]><urlset", 1))
    assert (reading.kind, reading.entries) == (SitemapKind.UNKNOWN, ())
    assert reading.faults == (SitemapFault.DOCTYPE,)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("", SitemapFault.EMPTY),
        (" \n\ufeff\t", SitemapFault.EMPTY),
        (gzip.compress(b""), SitemapFault.EMPTY),
        ("<!DOCTYPE html><title>Not found</title>", SitemapFault.DOCTYPE),
        ("<!doctype html><title>Not found</title>", SitemapFault.MALFORMED),
        ("<html><body><a href='/a'>a</a></body></html>", SitemapFault.NO_SITEMAP),
        ("Not found", SitemapFault.NO_SITEMAP),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), SitemapFault.NO_SITEMAP),
        ("<", SitemapFault.MALFORMED),
        (gzip.compress(gzip.compress(gzip.compress(PLAIN.encode()))), SitemapFault.GZIP),
        (b"\x1f\x8bnot gzip", SitemapFault.GZIP),
    ],
)
def test_what_is_no_sitemap_has_no_entries(body: str | bytes, fault: SitemapFault) -> None:
    reading = read(body)
    assert (reading.kind, reading.entries) == (SitemapKind.UNKNOWN, ())
    assert fault in reading.faults


def test_no_more_entries_than_asked_for() -> None:
    reading = read(PLAIN, max_entries=1)
    assert (locations(reading), reading.faults) == ([A], (SitemapFault.ENTRIES,))
    assert read(PLAIN, max_entries=2).faults == ()
    assert read(f"{A}\n{B}", max_entries=1).faults == (SitemapFault.ENTRIES,)


def test_no_more_bytes_than_asked_for() -> None:
    size = len(PLAIN.encode())
    for packed in (
        PLAIN.encode(),
        gzip.compress(PLAIN.encode()),
        gzip.compress(gzip.compress(PLAIN.encode())),
    ):
        assert read(packed, max_unpacked_bytes=size).faults == ()
        cut = read(packed, max_unpacked_bytes=size - 1)
        assert cut.faults == (SitemapFault.MALFORMED, SitemapFault.BYTES)
        assert locations(cut) == [A, B]


def test_a_date_that_is_none_is_left_out() -> None:
    dates = {
        "2026-01-31T10:00:00+00:00": True,
        "2026": True,
        "31.1.2026": False,
        "yesterday": False,
        "2026" * 20: False,
    }
    for date, is_kept in dates.items():
        (entry,) = read(f"<urlset><url><loc>{A}</loc><lastmod> {date}\n</lastmod></url></urlset>").entries
        assert entry.last_modified == (date if is_kept else "")


def test_the_declared_charset_counts() -> None:
    body = "https://site.example/caf\xe9".encode("latin-1")
    assert locations(read(body, "iso-8859-1")) == ["https://site.example/café"]
