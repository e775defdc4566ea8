"""Hostile sitemaps: whatever the bytes, a reading within bounds and no error."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from mudroom.extract import SitemapLimits, read_sitemap
from mudroom.model import SitemapFault

MIB = 1 << 20
LOC = b"<url><loc>https://site.example/1</loc></url>"

HOSTILE = {
    "a bomb": gzip.compress(b"\0" * (64 * MIB)),
    "a bomb in a bomb": gzip.compress(gzip.compress(b"<" * (200 * MIB))),
    "a bomb behind a good start": gzip.compress(b"<urlset>" + LOC + b" " * (64 * MIB)),
    "a hundred thousand members": gzip.compress(b"") * 100_000,
    "packed nine times": None,
    "open elements": b"<urlset>" + b"<url>" * 1_000_000,
    "open elements of many names": b"<urlset>" + b"".join(b"<e%d>" % n for n in range(200_000)),
    "attributes": b"<urlset " + b" ".join(b"a%d='x'" % n for n in range(200_000)) + b"/>",
    "equal attributes": b"<urlset " + b"a='x' " * 200_000 + b"/>",
    "one long location": b"<urlset><url><loc>" + b"x" * (8 * MIB) + b"</loc></url></urlset>",
    "one long line": b"http://site.example/" + b"x" * (8 * MIB),
    "CDATA by the piece": b"<urlset><url><loc>" + b"<![CDATA[x]]>" * 500_000 + b"</loc></url></urlset>",
    "references by the piece": b"<urlset><url><loc>" + b"&amp;" * MIB + b"</loc></url></urlset>",
    "a comment without end": b"<urlset><!--" + b"-" * (8 * MIB),
    "a declaration without end": b"<?xml" + b" version='1.0'" * 500_000,
    "lines": b"\n" * (8 * MIB),
    "the first bytes of gzip": b"\x1f\x8b",
    "gzip with a name without end": b"\x1f\x8b\x08\x08" + b"\0" * 6 + b"n" * (8 * MIB),
    "an external entity": b"<!DOCTYPE u [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>&x;",
    "an external subset": b"<!DOCTYPE u SYSTEM 'http://127.0.0.1/x.dtd'><urlset/>",
    "a parameter entity": b"<!DOCTYPE u [<!ENTITY % x SYSTEM 'http://127.0.0.1/'> %x;]><urlset/>",
    "a stylesheet": b"<?xml-stylesheet href='http://127.0.0.1/'?><urlset/>",
    "an inclusion": b"<urlset xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='/etc/passwd'/></urlset>",
    "lone surrogates": b"<urlset><url><loc>&#xD800;</loc></url></urlset>",
    "a NUL": b"<urlset>" + LOC + b"\0</urlset>",
}


def nest(body: bytes, layers: int) -> bytes:
    for _ in range(layers):
        body = gzip.compress(body, mtime=0)
    return body


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_any_bytes_have_a_reading_within_bounds(body: bytes | None) -> None:
    limits = SitemapLimits()
    tracemalloc.start()
    try:
        reading = read_sitemap(nest(b"x", 9) if body is None else body, None, limits)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(reading.entries) <= 1
    assert all(len(entry.untrusted_location) <= limits.max_location_chars for entry in reading.entries)
    assert peak < 160 * MIB


def test_what_stands_before_a_bomb_is_kept() -> None:
    reading = read_sitemap(HOSTILE["a bomb behind a good start"] or b"", None, SitemapLimits())
    assert len(reading.entries) == 1
    assert SitemapFault.BYTES in reading.faults
