"""Why a document was not read, in words that were all written here: a guest only chooses among them."""

from __future__ import annotations

from enum import StrEnum, unique

__all__ = ["REFUSAL_DETAILS", "Limit"]


@unique
class Limit(StrEnum):
    """Which bound of extraction a document passed; a sentence goes on with it: it …"""

    BODY = "is larger than extract.max_body_bytes"
    DEPTH = "nests its elements deeper than extract.max_depth"
    NODES = "has more elements and texts than extract.max_nodes"
    ATTRIBUTES = "has an element with more attributes than extract.max_attributes"
    STYLE = "has more style rules than extract.max_selector_steps lets be tried"
    OUTPUT = "holds more text than extract.max_output_chars"
    STRINGS = "holds more strings than extract.max_pieces and extract.max_security_chars let be scanned"
    NESTING = "is nested deeper than can be read"
    COLUMNS = "has a table that is wider than is read"
    FIELD = "has a table with a field that is longer than is read"
    ANSWER = "makes a longer answer than a guest may give"


_TYPES = (
    "application/gzip",
    "application/java-vm",
    "application/octet-stream",
    "application/ogg",
    "application/pdf",
    "application/postscript",
    "application/rtf",
    "application/vnd.microsoft.portable-executable",
    "application/vnd.rar",
    "application/vnd.sqlite3",
    "application/wasm",
    "application/x-7z-compressed",
    "application/x-bzip2",
    "application/x-executable",
    "application/x-ole-storage",
    "application/x-tar",
    "application/x-xz",
    "application/zip",
    "application/zstd",
    "audio/flac",
    "audio/mpeg",
    "audio/wav",
    "font/woff",
    "font/woff2",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/tiff",
    "image/vnd.microsoft.icon",
    "image/webp",
    "video/avi",
    "video/mp4",
    "video/webm",
)
"""What bytes give themselves away as; a declared type can be a sentence of somebody's."""

REFUSAL_DETAILS: tuple[str, ...] = (*Limit, *_TYPES)
"""Everything that may be said of a refusal beside its code."""
