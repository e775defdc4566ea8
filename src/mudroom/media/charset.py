"""Bytes to text by the order browsers use, and what was odd on the way.

BOM, then the header, then the document's own declaration, then valid UTF-8, then a guess (marked as one),
then windows-1252. Labels mean what WHATWG says they mean: latin-1 is windows-1252.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum, unique

import webencodings

from mudroom.media.signatures import is_utf16
from mudroom.model import WarningCode

__all__ = ["CharsetSource", "DecodedText", "TextKind", "decode_text"]

_PRESCAN_BYTES = 8192  # the standard asks for 1024; pages with long heads declare later
_GUESS_BYTES = 65_536
_MIN_CONFIDENCE = 0.15  # below it, chardet on a Latin sentence is noise: windows-1252 is right more often
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_XML_DECLARATION = re.compile(
    rb"""\s{0,64}<\?xml[^>]{0,256}?encoding\s{0,16}=\s{0,16}["']?([A-Za-z0-9._:-]{1,64})"""
)
_ATTRIBUTE = re.compile(rb"""([^\s=>"'/]{1,64})\s{0,16}(?:=\s{0,16}(?:"([^"]*)"|'([^']*)'|([^\s>"']*)))?""")
_CHARSET_IN_CONTENT = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,64})""", re.IGNORECASE)
_HTTP_EQUIV = re.compile(rb"http.{0,2}equ?iv", re.IGNORECASE)
_MEDIA_TYPE_START = re.compile(rb"\s*[\w.+-]{1,32}/[\w.+-]{1,32}\s*;")
_CHARDET_NAMES = {"CP932": "shift_jis", "CP949": "euc-kr"}
# WHATWG gives the five bytes that Python's codec lacks their C1 controls.
_WINDOWS_1252 = "".join(bytes((value,)).decode("cp1252", "ignore") or chr(value) for value in range(256))


@unique
class TextKind(StrEnum):
    """Where a declaration inside the bytes may stand."""

    PLAIN = "plain"
    HTML = "html"
    XML = "xml"


@unique
class CharsetSource(StrEnum):
    """What decided the charset."""

    BOM = "bom"
    HEADER = "header"
    META = "meta"
    XML_DECLARATION = "xml-declaration"
    UTF8 = "utf-8"
    GUESS = "guess"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedText:
    """Text, without a byte order mark and without surrogates."""

    text: str
    charset: str
    """The WHATWG name, lower case."""
    source: CharsetSource
    warnings: tuple[WarningCode, ...] = ()


def decode_text(
    untrusted_body: bytes, declared_charset: str | None, kind: TextKind = TextKind.PLAIN
) -> DecodedText:
    """The text of a body; any bytes have one.

    Invalid sequences become U+FFFD and a warning; unknown labels a warning and the next step of the order.
    Source: WHATWG Encoding and HTML section 13.2.3; tests/media/test_charset.py.
    """
    for bom, name in _BOMS:
        if untrusted_body.startswith(bom):
            return _decode(untrusted_body[len(bom) :], name, CharsetSource.BOM, ())
    warnings: tuple[WarningCode, ...] = ()
    for untrusted_label, source in _declarations(untrusted_body, declared_charset, kind):
        was_ascii = source is not CharsetSource.HEADER and not is_utf16(untrusted_body)
        if resolved := _resolve(untrusted_label, was_ascii=was_ascii):
            return _decode(untrusted_body, resolved, source, warnings)
        warnings = (WarningCode.CHARSET_UNKNOWN,)
    try:
        text = untrusted_body.decode()
    except UnicodeDecodeError:
        return _guess(untrusted_body, warnings)
    return DecodedText(text=text, charset="utf-8", source=CharsetSource.UTF8, warnings=warnings)


def _declarations(body: bytes, declared: str | None, kind: TextKind) -> list[tuple[str, CharsetSource]]:
    found: list[tuple[str, CharsetSource]] = []
    if declared:
        found.append((declared, CharsetSource.HEADER))
    if kind is TextKind.PLAIN:
        return found
    head = body[:_PRESCAN_BYTES]
    if kind is TextKind.HTML and (meta := _prescan_meta(head)):
        found.append((meta.decode("ascii"), CharsetSource.META))
    if is_utf16(head):
        found.append(("utf-16be" if head[0] == 0 else "utf-16le", CharsetSource.XML_DECLARATION))
    elif match := _XML_DECLARATION.match(head):
        found.append((match[1].decode("ascii"), CharsetSource.XML_DECLARATION))
    return found


def _resolve(label: str, *, was_ascii: bool) -> str | None:
    """The WHATWG name behind a label, or None for one that means nothing.

    `was_ascii`: the label stood in the document, in bytes read as ASCII, so it cannot be UTF-16 as it claims.
    """
    encoding = webencodings.lookup(label) if label.isascii() else None
    if encoding is None or encoding.name == "replacement":
        return None
    name: str = encoding.name
    if was_ascii and name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if was_ascii and name == "x-user-defined" else name


def _prescan_meta(head: bytes) -> bytes | None:
    """The label that a meta element declares; comments are skipped, attributes taken in any order."""
    position = head.find(b"<")
    while position >= 0:
        if head.startswith(b"<!--", position):
            position = head.find(b"-->", position + 2)
            if position < 0:
                return None
        elif (
            head[position : position + 5].lower() == b"<meta"
            and head[position + 5 : position + 6] in b" \t\r\n\f/"
        ):
            end = _tag_end(head, position + 5)
            if label := _label_of_meta(head[position + 5 : end]):
                return label
            position = end
        position = head.find(b"<", position + 1)
    return None


def _tag_end(head: bytes, start: int) -> int:
    """Where a tag ends; a > inside quotes does not end it."""
    for match in re.finditer(rb""""[^"]*"|'[^']*'|>""", head[start:]):
        if match[0] == b">":
            return start + match.end()
    end = head.find(b">", start)
    return len(head) if end < 0 else end


def _label_of_meta(tag: bytes) -> bytes | None:
    attributes: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(tag):
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
    if charset := attributes.get(b"charset", b"").strip():
        return charset if charset.isascii() else None
    content = attributes.get(b"content", b"")
    match_charset = _CHARSET_IN_CONTENT.search(content)
    if match_charset is None:
        return None
    is_type = any(_HTTP_EQUIV.search(name) for name in attributes) or _MEDIA_TYPE_START.match(content)
    return match_charset[1] if is_type else None


def _guess(body: bytes, warnings: tuple[WarningCode, ...]) -> DecodedText:
    """A text that declares nothing and is not UTF-8: the best guess, said to be one."""
    # Only a guest ever guesses; the parent, which imports this floor too, is spared 50 ms and 10 MB.
    from chardet import EncodingEra, detect  # noqa: PLC0415

    warnings = (*warnings, WarningCode.CHARSET_GUESSED)
    guess = detect(body[:_GUESS_BYTES], encoding_era=EncodingEra.MODERN_WEB)
    found, confidence = guess["encoding"], guess["confidence"]
    label = _CHARDET_NAMES.get(found or "", found)
    name = _resolve(label, was_ascii=False) if label and confidence >= _MIN_CONFIDENCE else None
    if name and name != "utf-8":
        return _decode(body, name, CharsetSource.GUESS, warnings)
    return _decode(body, "windows-1252", CharsetSource.DEFAULT, warnings)


def _decode(body: bytes, name: str, source: CharsetSource, warnings: tuple[WarningCode, ...]) -> DecodedText:
    if name == "windows-1252":
        text, _ = codecs.charmap_decode(body, "strict", _WINDOWS_1252)
        return DecodedText(text=text, charset=name, source=source, warnings=warnings)
    codec = webencodings.lookup(name).codec_info
    try:
        text, _ = codec.decode(body, "strict")
    except UnicodeError:
        text, _ = codec.decode(body, "replace")
        warnings = (*warnings, WarningCode.CHARSET_INVALID_BYTES)
    return DecodedText(text=text, charset=name, source=source, warnings=warnings)
