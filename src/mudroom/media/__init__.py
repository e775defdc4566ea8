"""Types, charsets and content codings: what bytes are, read within bounds."""

from mudroom.media.charset import CharsetSource, DecodedText, TextKind, decode_text
from mudroom.media.codings import BodyDecoder
from mudroom.media.sniff import SniffedType, is_text_type, sniff_type
from mudroom.media.types import MediaType, header_values, name_type, parse_content_type

__all__ = [
    "BodyDecoder",
    "CharsetSource",
    "DecodedText",
    "MediaType",
    "SniffedType",
    "TextKind",
    "decode_text",
    "header_values",
    "is_text_type",
    "name_type",
    "parse_content_type",
    "sniff_type",
]
