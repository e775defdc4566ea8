"""How bytes give their type away: signatures of what is not text, and the first words of what is."""

from __future__ import annotations

import re

import webencodings

__all__ = ["binary_share", "is_utf16", "is_utf16_text", "match_markup", "match_signature"]

_HEADER_BYTES = 1445  # the resource header of WHATWG MIME Sniffing

# (offset, bytes, type). Source: WHATWG MIME Sniffing sections 6 and 7; the formats' own specifications.
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (8, b"WEBPVP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"OggS\0", "application/ogg"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/avi"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"MZ", "application/vnd.microsoft.portable-executable"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
    (0, b"\0asm", "application/wasm"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
)
# Two or three printable letters are a type only where what follows is not text.
_WEAK = frozenset(
    {"image/bmp", "application/vnd.microsoft.portable-executable", "audio/mpeg", "application/x-bzip2"}
)
_BINARY = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_UTF16_MARKS = (b"\xfe\xff", b"\xff\xfe", b"<\0?\0", b"\0<\0?")

_MARKUP: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"<!doctype\s+html", re.IGNORECASE), "text/html"),
    (
        re.compile(
            rb"<(?:html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta)[\s>/]",
            re.IGNORECASE,
        ),
        "text/html",
    ),
    (re.compile(rb"<rss[\s>]"), "application/rss+xml"),
    (re.compile(rb"<feed[\s>]"), "application/atom+xml"),
    (re.compile(rb"<rdf:RDF[\s>]"), "application/rss+xml"),
    (re.compile(rb"<\?xml[\s]"), "application/xml"),
)
_SKIP = re.compile(rb"(?:\xef\xbb\xbf)?[\s]{0,1024}")
_PROLOG = re.compile(rb"<\?[^>]{0,512}>|<!--")


def match_signature(body: bytes) -> str | None:
    """The type whose signature the bytes bear, or None; a weak signature counts only on bytes that are not text."""
    for offset, signature, essence in _SIGNATURES:
        if body.startswith(signature, offset) and (essence not in _WEAK or binary_share(body) > 0):
            return essence
    return None


def match_markup(body: bytes) -> str | None:
    """The markup type that the first words announce: HTML, a feed, XML; None where they announce none."""
    head = body[:_HEADER_BYTES].replace(b"\0", b"") if is_utf16(body) else body[:_HEADER_BYTES]
    head = head[2:] if head[:2] in {b"\xff\xfe", b"\xfe\xff"} else head
    start = _skip_blank(head, 0)
    found = _first_match(head, start)
    if found != "application/xml" and not head.startswith(b"<!--", start):
        return found
    root = _first_match(head, _skip_prolog(head, start))
    return root or found


def is_utf16(body: bytes) -> bool:
    """Whether the bytes begin as UTF-16 does: with its mark, or with a declaration in it."""
    return body.startswith(_UTF16_MARKS)


def binary_share(body: bytes) -> float:
    """Which share of the first bytes no text has: 0.0 to 1.0."""
    if is_utf16(body):
        return 0.0
    head = body[:_HEADER_BYTES]
    return (len(head) - len(head.translate(None, _BINARY))) / len(head) if head else 0.0


def is_utf16_text(body: bytes, untrusted_charset: str | None) -> bool:
    """Whether the first bytes read as text in the UTF-16 that was declared without a mark."""
    encoding = webencodings.lookup(untrusted_charset or "")
    if encoding is None or not encoding.name.startswith("utf-16"):
        return False
    head = body[:_HEADER_BYTES]
    try:
        text, _ = encoding.codec_info.decode(head[: len(head) // 2 * 2])
    except UnicodeDecodeError as error:
        if error.end < len(head) - 2:  # else a pair that the window cut in two
            return False
        text, _ = encoding.codec_info.decode(head[: error.start])
    return binary_share(text.encode()) == 0.0


def _first_match(head: bytes, start: int) -> str | None:
    return next((essence for pattern, essence in _MARKUP if pattern.match(head, start)), None)


def _skip_blank(head: bytes, start: int) -> int:
    match = _SKIP.match(head, start)
    return match.end() if match else start


def _skip_prolog(head: bytes, start: int) -> int:
    """Where the root element may begin: behind declarations, instructions and comments."""
    while match := _PROLOG.match(head, start):
        end = match.end()
        if match[0] == b"<!--":
            closing = head.find(b"-->", end)
            if closing < 0:
                return len(head)
            end = closing + 3
        start = _skip_blank(head, end)
    return start
