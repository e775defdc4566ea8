"""The way in to the readers, which are loaded with the first document.

Why: everyone names sources and limits, but only a guest reads; whoever starts guests must not pay for
parsers that it never uses.
"""

from __future__ import annotations

from mudroom.extract.limits import ExtractLimits, ExtractSource, SitemapLimits
from mudroom.model import ExtractedDocument, SitemapReading

__all__ = ["extract_document", "read_sitemap"]


def extract_document(
    untrusted_body: bytes, source: ExtractSource, limits: ExtractLimits
) -> ExtractedDocument:
    """A document read twice: as a person sees it, and as a model could.

    Raises ContentRefused: UNSUPPORTED_CONTENT_TYPE for bytes that are no text, whatever was declared;
    EXTRACTION_LIMIT where a bound is passed.
    """
    from mudroom.extract.document import extract_document as read_document  # noqa: PLC0415 - see above

    return read_document(untrusted_body, source, limits)


def read_sitemap(untrusted_body: bytes, charset: str | None, limits: SitemapLimits) -> SitemapReading:
    """The entries of a sitemap, as far as it could be read. Raises: nothing."""
    from mudroom.extract.sitemap import read_sitemap as read  # noqa: PLC0415 - see above

    return read(untrusted_body, charset, limits)
