"""Any bytes are a sitemap and an archive, at worst an empty one; what was written is read."""

from __future__ import annotations

import gzip
import io

from hypothesis import given
from hypothesis import strategies as st

from mudroom.extract import SitemapLimits, read_sitemap
from mudroom.warc import (
    ForeignLimits,
    ForeignRecord,
    RecordInput,
    RecordType,
    encode_record,
    parse_http_answer,
    read_foreign,
    serialize_record,
)
from mudroom.wire import SitemapOrder, decode_sitemap, encode_sitemap

FRAGMENTS = st.sampled_from(
    [b"<urlset>", b"</urlset>", b"<url>", b"</url>", b"<loc>", b"</loc>", b"http://a.test/", b"<![CDATA[", b"]]>", b"&amp;",
     b"&x;", b"<!DOCTYPE a [", b"<sitemapindex>", b"<sitemap>", b"<rss>", b"<item>", b"<link href='x'/>", b"\x1f\x8b\x08",
     b"<?xml version='1.0' encoding='utf-16'?>", b"\xef\xbb\xbf", b"\0", b"\n"]
)  # fmt: skip
SITEMAPS = st.one_of(st.binary(max_size=400), st.lists(FRAGMENTS, max_size=40).map(b"".join))
WARC_PIECES = st.sampled_from(
    [b"WARC/1.1\r\n", b"WARC/1.0\n", b"WARC-Type: response\r\n", b"Content-Length: 3\r\n", b"Content-Length: -1\r\n", b"\r\n",
     b"\n", b"abc", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n", gzip.compress(b"WARC/1.1\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"),
     b"\x1f\x8b\x08", b"\0"]
)  # fmt: skip
ARCHIVES = st.one_of(st.binary(max_size=400), st.lists(WARC_PIECES, max_size=40).map(b"".join))


@given(SITEMAPS, st.sampled_from([None, "utf-8", "utf-16", "shift_jis", "nonsense"]), st.integers(0, 2))
def test_any_bytes_are_a_sitemap_that_can_cross_the_wall(
    body: bytes, charset: str | None, layers: int
) -> None:
    for _ in range(layers):
        body = gzip.compress(body, mtime=0)
    reading = read_sitemap(body, charset, SitemapLimits())
    order = SitemapOrder(
        body=b"", charset="", max_unpacked_bytes=0, max_entries=100, max_depth=1, max_location_chars=8192
    )
    assert decode_sitemap(encode_sitemap(reading), order, 1 << 20) == reading


@given(ARCHIVES, st.booleans())
def test_any_bytes_are_an_archive(archive: bytes, is_packed: bool) -> None:
    source = gzip.compress(archive, mtime=0) if is_packed else archive
    for item in read_foreign(io.BytesIO(source), ForeignLimits(max_record_bytes=100)):
        if isinstance(item, ForeignRecord):
            assert len(item.block) <= 100
            parse_http_answer(item.block)


@given(st.lists(st.tuples(st.binary(max_size=200), st.booleans()), max_size=6), st.integers(0, 2))
def test_what_we_write_is_read(blocks: list[tuple[bytes, bool]], packing: int) -> None:
    records = [
        RecordInput(
            type=RecordType.RESPONSE if is_response else RecordType.RESOURCE,
            record_id=f"urn:uuid:{number}",
            date="2026-01-01T00:00:00Z",
            content_type="application/octet-stream",
            payload=block,
            head=b"HTTP/1.1 200 OK\r\n\r\n" if is_response else b"",
            target_uri="http://a.test/",
        )
        for number, (block, is_response) in enumerate(blocks)
    ]
    plain = b"".join(b"".join(serialize_record(record)) for record in records)
    archive = (plain, gzip.compress(plain), b"".join(map(encode_record, records)))[packing]
    found = list(read_foreign(io.BytesIO(archive), ForeignLimits()))
    assert [item.block for item in found if isinstance(item, ForeignRecord)] == [
        record.head + record.payload for record in records
    ]
