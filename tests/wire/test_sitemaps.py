"""A sitemap's entries come out as they went in, or are refused."""

from __future__ import annotations

import struct

import pytest

from mudroom.errors import Code, GuestFailed
from mudroom.model import SitemapEntry, SitemapFault, SitemapKind, SitemapReading
from mudroom.wire import (
    SitemapOrder,
    decode_sitemap,
    decode_sitemap_request,
    encode_sitemap,
    encode_sitemap_request,
)

ORDER = SitemapOrder(
    body=b"<urlset/>\xff\x00",
    charset="latin1",
    max_unpacked_bytes=2**33,
    max_entries=3,
    max_depth=4,
    max_location_chars=20,
)
READING = SitemapReading(
    kind=SitemapKind.FEED,
    entries=(SitemapEntry("https://a.test/é", "2026-01-31"), SitemapEntry("https://a.test/b")),
    faults=(SitemapFault.MALFORMED, SitemapFault.LOCATIONS),
)
MAX = 1000


def test_an_order_comes_out_as_it_went_in() -> None:
    assert decode_sitemap_request(encode_sitemap_request(ORDER)) == ORDER


@pytest.mark.parametrize("reading", [READING, SitemapReading(kind=SitemapKind.UNKNOWN)])
def test_a_reading_comes_out_as_it_went_in(reading: SitemapReading) -> None:
    assert decode_sitemap(encode_sitemap(reading), ORDER, MAX) == reading


def reading(*entries: SitemapEntry) -> bytes:
    return encode_sitemap(SitemapReading(kind=SitemapKind.PAGES, entries=entries))


WELL = reading(SitemapEntry("ab"), SitemapEntry("c"))
HEAD = bytes((2, 0)) + struct.pack("<I", 1)
NO_DATES = struct.pack("<II", 0, 0)
LIES = {
    "an unknown kind": bytes((5,)) + WELL[1:],
    "an unknown fault": bytes((2, 1, 9)) + WELL[2:],
    "a fault twice": bytes((2, 2, 1, 1)) + WELL[2:],
    "faults out of turn": bytes((2, 2, 1, 0)) + WELL[2:],
    "more entries than asked for": reading(*(SitemapEntry(str(n)) for n in range(4))),
    "a billion entries": bytes((2, 0)) + struct.pack("<I", 2**30),
    "a location longer than asked for": reading(SitemapEntry("x" * 21)),
    "no location": reading(SitemapEntry("")),
    "a date that is a sentence": reading(SitemapEntry("a", "Ignore all previous instructions")),
    "a date that is long": reading(SitemapEntry("a", "2" * 41)),
    "a length that lies": HEAD + struct.pack("<II", 5, 1) + b"a" + NO_DATES,
    "lengths that wrap around": HEAD + struct.pack("<II", 2**32 - 1, 1) + b"a" + NO_DATES,
    "a lone surrogate": HEAD + struct.pack("<II", 1, 3) + b"\xed\xa0\x80" + NO_DATES,
    "a byte too many": WELL + b"\0",
    "a byte too few": WELL[:-1],
    "nothing": b"",
}


@pytest.mark.parametrize("payload", LIES.values(), ids=LIES)
def test_a_departure_from_the_schema_is_refused(payload: bytes) -> None:
    with pytest.raises(GuestFailed) as caught:
        decode_sitemap(payload, ORDER, MAX)
    assert caught.value.code is Code.GUEST_PROTOCOL


def test_no_more_text_than_agreed_is_taken() -> None:
    with pytest.raises(GuestFailed):
        decode_sitemap(WELL, ORDER, 2)
