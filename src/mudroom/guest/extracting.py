"""The reader: bytes of a document or a sitemap in, what was read of it out."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip

import webencodings
from chardet.models import get_rowmax

from mudroom.errors import ContentRefused
from mudroom.extract import ExtractLimits, ExtractSource, SitemapLimits, extract_document, read_sitemap
from mudroom.model import View
from mudroom.wire import (
    FrameKind,
    decode_extract_request,
    decode_sitemap_request,
    encode_extracted,
    encode_sitemap,
    refuse,
)

__all__ = ["ExtractRole"]

_LIMITS = tuple(field.name for field in dataclasses.fields(ExtractLimits))
_PAGE = b"""<!DOCTYPE html><html><head><title>Warm</title><meta name=description content=x><style>.a{display:none}
</style><script>let a = 1</script></head><body><h1>One</h1><p class=a>two <a href="/b">three</a> <b>four</b>
<img alt=five src=c.png><ul><li>six</ul><table><tr><th>seven<td>eight</table><pre><code>nine</code></pre>
<blockquote>ten</blockquote><!-- eleven --><template>twelve</template><svg><text>13</text></svg></body></html>"""
# One of each kind that is read, so that each reader's own imports happen now.
_WARM = (
    ("text/html; charset=utf-8", _PAGE),
    ("", _PAGE),
    ("text/plain", b"plain words\n"),
    ("text/markdown", b"# Words\n\n- one\n"),
    ("application/json", b'{"a": ["b", 1, null]}'),
    ("text/csv", b"a,b\n1,2\n"),
    ("application/xml", b"<?xml version='1.0'?><a b='c'>d<![CDATA[e]]></a>"),
    (
        "application/rss+xml",
        b"<rss version='2.0'><channel><title>a</title><item><title>b</title></item></channel></rss>",
    ),
    # Bytes that are not what they are declared to be: the second opinion has a table to load.
    ("text/html", b"\x00\x01\x02\x03" * 64),
    ("application/octet-stream", b"%PDF-1.4 "),
    # No declaration and no UTF-8: the guess has models to load, not all of them for each guess.
    ("text/plain", "Привет, мир! Как дела сегодня?\n".encode("cp1251") * 20),
    ("text/html", "Très bien, ça va être déjà là. ".encode("cp1252") * 20),
    ("text/plain", "日本語のテキストです。".encode("euc_jp") * 20),
    ("text/plain", b"\x80\x81\x82" * 500),
)
_WARM_SITEMAPS = (
    b"<?xml version='1.0' encoding='utf-8'?><urlset><url><loc>https://a.invalid/</loc></url></urlset>",
    gzip.compress(b"https://a.invalid/\n", mtime=0),
    b"<urlset><url",
)


class ExtractRole:
    """Extraction as a guest's work."""

    def warm(self) -> None:
        """Every kind of document read once, every codec of the encoding standard loaded."""
        for label in set(webencodings.LABELS.values()):
            webencodings.lookup(label)
        # The one table of the guess that no short text makes it load.
        get_rowmax()
        for content_type, body in _WARM:
            source = ExtractSource(
                url="https://warm.invalid/", content_type=content_type, views=frozenset(View)
            )
            with contextlib.suppress(ContentRefused):
                encode_extracted(extract_document(body, source, ExtractLimits()))
        for body in _WARM_SITEMAPS:
            encode_sitemap(read_sitemap(body, None, SitemapLimits()))

    def configure(self, settings: tuple[int, ...]) -> None:
        """Takes none: limits come with each document."""

    def answer(self, kind: FrameKind, payload: bytes | bytearray | memoryview) -> tuple[FrameKind, bytes]:
        """What was read of one document or sitemap. Raises ContentRefused as extraction does."""
        if kind is FrameKind.SITEMAP:
            return FrameKind.SITEMAP_READ, _read_sitemap(payload)
        if kind is not FrameKind.EXTRACT:
            raise refuse(f"a {kind.name} to a guest that reads")
        order = decode_extract_request(payload)
        source = ExtractSource(
            url=order.url,
            content_type=order.content_type,
            views=order.views,
            filename=order.filename,
            no_sniff=order.no_sniff,
        )
        limits = ExtractLimits(**dict(zip(_LIMITS, order.limits, strict=True)))
        return FrameKind.EXTRACTED, encode_extracted(extract_document(order.body, source, limits))


def _read_sitemap(payload: bytes | bytearray | memoryview) -> bytes:
    order = decode_sitemap_request(payload)
    limits = SitemapLimits(
        max_unpacked_bytes=order.max_unpacked_bytes,
        max_entries=order.max_entries,
        max_depth=order.max_depth,
        max_location_chars=order.max_location_chars,
    )
    return encode_sitemap(read_sitemap(order.body, order.charset or None, limits))
