"""What the tests of this floor share: a document from a few words."""

from collections.abc import Callable

import pytest

from mudroom.extract import ExtractLimits, ExtractSource, extract_document
from mudroom.model import Channel, ExtractedDocument, Hiding, View

Read = Callable[..., ExtractedDocument]


def read_document(
    body: str | bytes,
    content_type: str = "text/html",
    *,
    limits: ExtractLimits | None = None,
    **source: object,
) -> ExtractedDocument:
    options = {"url": "https://example.org/guide/page", "views": frozenset(View), **source}
    raw = body.encode() if isinstance(body, str) else body
    return extract_document(
        raw, ExtractSource(content_type=content_type, **options), limits or ExtractLimits()
    )


@pytest.fixture
def read() -> Read:
    return read_document


@pytest.fixture
def markdown() -> Callable[..., str]:
    return lambda body, content_type="text/html", **source: (
        read_document(body, content_type, **source).views[View.MARKDOWN].rstrip("\n")
    )


@pytest.fixture
def strings() -> Callable[[ExtractedDocument], list[tuple[Channel, Hiding, str]]]:
    return lambda document: [
        (piece.channel, piece.hiding, piece.text) for piece in document.security_text.pieces()
    ]
