"""Encoded passages of a text, decoded: each with the place it stood in.

A passage counts only when what comes out reads as text; how much is decoded, and how often, is bounded by
the caller.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote_to_bytes

import re2

from mudroom.screen.signs import Sign

__all__ = ["decode_passages"]


def _compile(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    return re2.compile(pattern, options)


Passage = tuple[int, int, bytes]
"""Where it stood (start and end in bytes), and what it says as UTF-8."""

_BASE64 = _compile(r"[A-Za-z0-9+/_-]{24,}(?:[\r\n]{1,2}[ \t]*[A-Za-z0-9+/_-]{24,})*={0,2}")
_BASE32 = _compile(r"\b[A-Z2-7]{24,}={0,6}|\b[a-z2-7]{32,}={1,6}")
_HEX = _compile(r"(?i)(?:(?:\\x|0x|%u00)?[0-9a-f]{2}[ ,:;]{0,2}){12,}")
_PERCENT = _compile(r"[^\s\"'<>]*%[0-9A-Fa-f]{2}[^\s\"'<>]*")
_ENTITY = _compile(r"[^\n]*&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-zA-Z]{2,31});[^\n]*")
_ESCAPE = _compile(r"[^\n]*(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}){2}[^\n]*")
# Of fixed length, so linear in any engine; this one hands on groups of bytes without a detour.
_ONE_ESCAPE = re.compile(rb"\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})")
_TAGS = _compile(r"[\x{e0020}-\x{e007e}]{8,}")
_SELECTORS = _compile(r"[\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]{4,}")
_ZERO_WIDTH = _compile(r"[\x{200b}-\x{200f}\x{2060}-\x{2064}\x{feff}\x{180e}]{16,}")
_READABLE = _compile(r"[\t\n\r\x20-\x7e\x{a0}-\x{ff}\x{370}-\x{52f}\x{3040}-\x{30ff}\x{4e00}-\x{9fff}]{8,}")
_MARKUP = _compile(r"<[a-zA-Z/!][^>]*>")
_HEX_NOISE = b" ,:;\\xX\t"
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")
_HEAD = 24
_MIN_READABLE = 8
_MOSTLY = 0.9
_ASCII = range(32, 127)


def decode_passages(text: bytes, signs: frozenset[Sign]) -> Iterator[Passage]:
    """Each passage of the text that is encoded and reads as text once it is decoded."""
    yield from _decode_base64(text)
    yield from _decode_runs(text, _BASE32, _from_base32)
    for sign, (pattern, decode) in _DECODERS.items():
        if sign in signs:
            yield from _decode_runs(text, pattern, decode)


def _decode_base64(text: bytes) -> Iterator[Passage]:
    """Runs of base64, whole and between slashes: in a path the slash parts, though it is a letter too."""
    for match in _BASE64.finditer(text):
        start, end = match.span()
        run = text[start:end]
        readable = _keep_readable(_from_base64(run))
        if len(readable) >= _MIN_READABLE:
            yield start, end, readable
        if b"/" not in run:
            continue
        for segment in run.split(b"/"):
            readable = _keep_readable(_from_base64(segment)) if len(segment) >= _HEAD else b""
            if len(readable) >= _MIN_READABLE:
                yield start, start + len(segment), readable
            start += len(segment) + 1


def _decode_runs(text: bytes, pattern: re2._Regexp, decode: Callable[[bytes], bytes]) -> Iterator[Passage]:
    for match in pattern.finditer(text):
        start, end = match.span()
        run = text[start:end]
        decoded = decode(run)
        if decoded and decoded != run:
            readable = _keep_readable(decoded)
            if len(readable) >= _MIN_READABLE:
                yield start, end, readable


def _keep_readable(decoded: bytes) -> bytes:
    """The parts that read as text, apart by line breaks; markup in them set aside, as a reader would."""
    # A part of noise must have a blank to count; what is readable as a whole may be another encoding.
    whole = _MOSTLY * len(decoded)
    spans = (part.span() for part in _READABLE.finditer(decoded))
    parts = [decoded[start:end] for start, end in spans if end - start > whole or b" " in decoded[start:end]]
    joined = b"\n".join(parts)
    if b"<" in joined:
        joined = bytes(_MARKUP.sub(b" ", joined))
    return joined


def _from_base64(run: bytes) -> bytes:
    # Long words and paths are of one case; what encodes prose is not, and begins without control characters.
    if run.islower() or run.isupper():
        return b""
    compact = run.translate(_URL_SAFE, b"\r\n \t=")
    if len(compact) < _HEAD:  # a segment can be shorter than it looks: line ends and padding are gone
        return b""
    compact = compact[: len(compact) - (len(compact) % 4 == 1)]
    head = binascii.a2b_base64(compact[:_HEAD])
    if len(head.translate(None, _CONTROLS)) != len(head):
        return b""
    return binascii.a2b_base64(compact + b"=" * (-len(compact) % 4))


def _from_base32(run: bytes) -> bytes:
    compact = run.rstrip(b"=").upper()
    compact = compact[: len(compact) - len(compact) % 8] if len(compact) % 8 in (1, 3, 6) else compact
    try:
        return base64.b32decode(compact + b"=" * (-len(compact) % 8))
    except binascii.Error:
        return b""


def _from_hex(run: bytes) -> bytes:
    digits = run.replace(b"0x", b"").replace(b"%u00", b"").translate(None, _HEX_NOISE)
    return binascii.a2b_hex(digits[: len(digits) - len(digits) % 2])


def _from_escapes(run: bytes) -> bytes:
    return _ONE_ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)).encode(errors="replace"), run)


def _from_tags(run: bytes) -> bytes:
    return bytes(ord(character) - 0xE0000 for character in run.decode())


def _from_selectors(run: bytes) -> bytes:
    """A byte a selector: the sixteen of the basic plane first, then the 240 of the supplement."""
    codes = (ord(character) for character in run.decode())
    return bytes(code - 0xFE00 if code <= 0xFE0F else code - 0xE0100 + 16 for code in codes)  # noqa: PLR2004 - VS16


def _from_zero_width(run: bytes) -> bytes:
    """Bits of two characters, eight or seven to a letter, whichever character is the one."""
    symbols = run.decode()
    kinds = sorted(set(symbols), key=symbols.count, reverse=True)[:2]
    found = []
    for one in kinds:
        bits = "".join("1" if symbol == one else "0" for symbol in symbols if symbol in kinds)
        for width in (8, 7):
            letters = (int(bits[at : at + width], 2) for at in range(0, len(bits) - width + 1, width))
            candidate = bytes(letter for letter in letters if letter)
            if candidate and sum(letter in _ASCII for letter in candidate) > _MOSTLY * len(candidate):
                found.append(candidate)
    return b"\n".join(found)


def _from_percent(run: bytes) -> bytes:
    return unquote_to_bytes(run.replace(b"+", b" "))


def _from_entities(run: bytes) -> bytes:
    return html.unescape(run.decode(errors="replace")).encode()


_DECODERS = {
    Sign.HEX: (_HEX, _from_hex),
    Sign.PERCENT: (_PERCENT, _from_percent),
    Sign.ENTITY: (_ENTITY, _from_entities),
    Sign.ESCAPE: (_ESCAPE, _from_escapes),
    Sign.TAGS: (_TAGS, _from_tags),
    Sign.SELECTORS: (_SELECTORS, _from_selectors),
    Sign.ZERO_WIDTH: (_ZERO_WIDTH, _from_zero_width),
}
