"""What bytes are: declared type against content, and where the two disagree."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.media.signatures import binary_share, is_utf16_text, match_markup, match_signature
from mudroom.media.types import MediaType

__all__ = ["SniffedType", "is_text_type", "sniff_type"]

_UNKNOWN = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown"}
)
_MAX_BINARY_SHARE = 0.1  # pages with a stray control byte exist; a tenth of the head is no text
_HTML = "text/html"
_PLAIN = "text/plain"
_BINARY = "application/octet-stream"
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml"})
_TEXT_APPLICATIONS = frozenset(
    {
        "application/json",
        "application/ld+json",
        "application/jsonl",
        "application/x-ndjson",
        "application/x-jsonlines",
        "application/json-seq",
        "application/xml",
        "application/xhtml+xml",
        "application/javascript",
        "application/ecmascript",
        "application/x-javascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-sh",
        "application/sql",
        "application/csv",
        "image/svg+xml",
    }
)
_EXTENSIONS = {
    "html": _HTML,
    "htm": _HTML,
    "xhtml": "application/xhtml+xml",
    "xht": "application/xhtml+xml",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "mkd": "text/markdown",
    "json": "application/json",
    "geojson": "application/json",
    "jsonl": "application/jsonl",
    "ndjson": "application/jsonl",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tab": "text/tab-separated-values",
    "xml": "application/xml",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SniffedType:
    """The type to read bytes as."""

    essence: str
    disagrees: bool
    """The content is not what was declared; for the record, and for a finding."""


def is_text_type(essence: str) -> bool:
    """Whether bytes of this type are text that can be decoded and read."""
    return essence.startswith("text/") or essence in _TEXT_APPLICATIONS or essence.endswith(("+xml", "+json"))


def sniff_type(
    declared: MediaType | None, untrusted_body: bytes, filename: str | None = None, *, no_sniff: bool = False
) -> SniffedType:
    """The type that a careful browser would read these bytes as.

    Binary content is never text, whatever was declared. Text stays what was declared: plain text is never
    made markup. Without a declaration the content decides, then the file's extension. `filename` is a hint
    among kinds of text only; `no_sniff` (the header of that name) leaves a declared type alone.
    Source: WHATWG MIME Sniffing; rows in tests/media/test_sniff.py.
    """
    essence = declared.essence if declared else ""
    content = _binary_type(untrusted_body, declared.charset if declared else None)
    if content:
        return _judge_binary(essence, content)
    if essence in _UNKNOWN or "*" in essence:
        return SniffedType(essence=_sniff_text(untrusted_body, filename), disagrees=False)
    markup = match_markup(untrusted_body)
    if not is_text_type(essence):
        found = _sniff_text(untrusted_body, filename)
        return SniffedType(
            essence=essence if no_sniff or not markup else found, disagrees=bool(untrusted_body)
        )
    if essence == _HTML:
        return SniffedType(
            essence=markup if markup in _FEEDS and not no_sniff else _HTML, disagrees=markup in _FEEDS
        )
    if essence == _PLAIN:
        hint = _hint(filename)
        is_hint_safe = not no_sniff and hint in {"text/markdown", "text/csv", "text/tab-separated-values"}
        return SniffedType(essence=hint if hint and is_hint_safe else _PLAIN, disagrees=markup == _HTML)
    is_other = markup == _HTML and not essence.endswith(("xml", "svg")) and essence != "text/markdown"
    return SniffedType(essence=essence, disagrees=is_other)


def _binary_type(body: bytes, charset: str | None) -> str | None:
    """The type of content that is not text, or None for text."""
    signature = match_signature(body)
    if signature:
        return signature
    if binary_share(body) <= _MAX_BINARY_SHARE or is_utf16_text(body, charset):
        return None
    return _second_opinion(body)


def _second_opinion(body: bytes) -> str:
    # Only a guest sniffs; the parent, which imports this floor too, is spared the table.
    import puremagic  # noqa: PLC0415

    try:
        found = puremagic.magic_string(body[:65_536])
    except (puremagic.PureError, ValueError):
        return _BINARY
    types = [match.mime_type for match in found if match.mime_type and not is_text_type(match.mime_type)]
    return types[0] if types else _BINARY


def _judge_binary(essence: str, content: str) -> SniffedType:
    if essence in _UNKNOWN or "*" in essence:
        return SniffedType(essence=content, disagrees=False)
    if is_text_type(essence) or content == "application/pdf" or essence == "application/pdf":
        return SniffedType(essence=content, disagrees=essence != content)
    is_container = content in {"application/zip", "application/x-ole-storage", _BINARY}
    is_same_kind = essence.partition("/")[0] == content.partition("/")[0]
    return SniffedType(
        essence=essence if is_container else content, disagrees=not (is_container or is_same_kind)
    )


def _sniff_text(body: bytes, filename: str | None) -> str:
    """The kind of text that undeclared bytes are: by their first words, then by the extension."""
    markup, hint = match_markup(body), _hint(filename)
    if markup == "application/xml" and hint and hint.endswith("xml"):
        return hint
    if markup and hint not in {"text/markdown", "image/svg+xml"}:
        return markup
    if hint:
        return hint
    return "application/json" if body[:64].lstrip()[:2] in {b'{"', b"[{", b'["'} else _PLAIN


def _hint(filename: str | None) -> str | None:
    if not filename or "." not in filename:
        return None
    return _EXTENSIONS.get(filename.rpartition(".")[2].lower())
