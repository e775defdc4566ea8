"""Bytes to two readings: what a person sees, and all that a model could see."""

from mudroom.extract.clean import CleanText, clean_exposed, is_clean
from mudroom.extract.entry import extract_document, read_sitemap
from mudroom.extract.limits import ExtractLimits, ExtractSource, SitemapLimits
from mudroom.extract.names import expose_url, make_slug, normalise_title

__all__ = [
    "CleanText",
    "ExtractLimits",
    "ExtractSource",
    "SitemapLimits",
    "clean_exposed",
    "expose_url",
    "extract_document",
    "is_clean",
    "make_slug",
    "normalise_title",
    "read_sitemap",
]
