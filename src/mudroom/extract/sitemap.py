"""Sitemaps read: an index, a set of URLs, a list of lines or a feed; packed once, twice or not at all.

What it is, its content says: names, declared types and namespaces are wrong too often to be asked. XML is
read by expat event by event, so that what stood before a fault is kept; a DOCTYPE ends the reading before
anything in it is looked at, and without one there are no entities but XML's own five.

Source: sitemaps.org/protocol.html; RSS 2.0; RFC 4287.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import Final, Protocol
from xml.parsers import expat

from mudroom.extract.limits import SitemapLimits
from mudroom.media import TextKind, decode_text
from mudroom.model import SitemapEntry, SitemapFault, SitemapKind, SitemapReading

__all__ = ["read_sitemap"]

_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_LAYERS: Final = 2
_MAX_MEMBERS: Final = 10_000
_READ_BYTES: Final = 1 << 16
_PIECE_BYTES: Final = 1 << 20
_BLANK: Final = " \t\r\n\f\v\ufeff\0"
_DATE: Final = re.compile(
    r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)
_URL_LINE: Final = re.compile(r"https?:[/\\]", re.IGNORECASE)
_ROOTS: Final = {
    "sitemapindex": SitemapKind.INDEX,
    "urlset": SitemapKind.PAGES,
    "rss": SitemapKind.FEED,
    "rdf": SitemapKind.FEED,
    "feed": SitemapKind.FEED,
}
_ITEMS: Final = {
    SitemapKind.INDEX: frozenset({"sitemap", "url"}),
    SitemapKind.PAGES: frozenset({"url"}),
    SitemapKind.FEED: frozenset({"item", "entry"}),
}
_LOCATIONS: Final = frozenset({"loc", "link"})
_DATES: Final = frozenset({"lastmod", "updated", "date"})
_FAULTS: Final = tuple(SitemapFault)


class _Inflate(Protocol):
    """What zlib gives to unpack with; its class has no name of its own."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """What so many bytes more unpack to."""
        ...


def read_sitemap(untrusted_body: bytes, charset: str | None, limits: SitemapLimits) -> SitemapReading:
    """The entries of a sitemap, as far as it could be read.

    Shapes: `charset` is what the peer declared, None for nothing; locations are as written, in order, each once.
    Raises: nothing; any bytes have a reading, and its faults say what was wrong.
    """
    faults: set[SitemapFault] = set()
    body = _unpack(untrusted_body, limits.max_unpacked_bytes, faults)
    text = decode_text(body, charset, TextKind.XML).text.lstrip(_BLANK)
    entries = _Entries(limits, faults)
    if not text:
        faults.add(SitemapFault.EMPTY)
        kind = SitemapKind.UNKNOWN
    elif text.startswith("<"):
        kind = _Xml(entries, limits, faults).read(text)
    else:
        kind = _read_lines(text, entries)
    if kind is SitemapKind.UNKNOWN and not faults:
        faults.add(SitemapFault.NO_SITEMAP)
    return SitemapReading(
        kind=kind,
        entries=tuple(entries.found.values()),
        faults=tuple(fault for fault in _FAULTS if fault in faults),
    )


def _unpack(untrusted_body: bytes, max_bytes: int, faults: set[SitemapFault]) -> bytes:
    """A body without gzip around it, by its first bytes, as far as it unpacks and the bound allows."""
    body = untrusted_body
    for _ in range(_MAX_LAYERS):
        if not body.startswith(_GZIP_MAGIC):
            break
        body = _gunzip(body, max_bytes, faults)
    if body.startswith(_GZIP_MAGIC):
        faults.add(SitemapFault.GZIP)
        return b""
    if len(body) > max_bytes:
        faults.add(SitemapFault.BYTES)
    return body[:max_bytes]


def _gunzip(packed: bytes, max_bytes: int, faults: set[SitemapFault]) -> bytes:
    """One layer undone, of several members; bytes behind the last that start no member are ignored."""
    out = bytearray()
    place = 0
    for _ in range(_MAX_MEMBERS):
        if not packed.startswith(_GZIP_MAGIC, place):
            return bytes(out)
        member = zlib.decompressobj(wbits=31)
        while place < len(packed) and not member.eof:
            piece, before = packed[place : place + _READ_BYTES], member.copy()
            try:
                out += member.decompress(piece, _PIECE_BYTES)
            except zlib.error:
                faults.add(SitemapFault.GZIP)
                return bytes(out) + _salvage(before, piece)
            # At the end of a member zlib may count what is left over in both.
            place += len(piece) - len(member.unused_data or member.unconsumed_tail)
            if len(out) > max_bytes:
                faults.add(SitemapFault.BYTES)
                return bytes(out[:max_bytes])
        if not member.eof:
            break
        while packed.startswith(b"\0", place):
            place += 1
    faults.add(SitemapFault.GZIP)
    return bytes(out)


def _salvage(member: _Inflate, piece: bytes) -> bytes:
    """What of a piece comes before the byte at which it cannot be unpacked."""
    out = bytearray()
    for value in piece:
        try:
            out += member.decompress(bytes((value,)), _PIECE_BYTES)
        except zlib.error:
            break
    return bytes(out)


class _Stopped(Exception):  # noqa: N818 - no error: the reader has seen enough
    """Ends a parse from within a handler."""


class _Entries:
    """The entries found so far, each location once, within bounds."""

    def __init__(self, limits: SitemapLimits, faults: set[SitemapFault]) -> None:
        self._limits = limits
        self._faults = faults
        self.found: dict[str, SitemapEntry] = {}

    def add(self, location: str, last_modified: str = "") -> None:
        """Keep one. Raises _Stopped when there are as many as are kept."""
        location = location.strip(_BLANK)
        if not location or len(location) > self._limits.max_location_chars:
            self._faults.add(SitemapFault.LOCATIONS)
        elif location not in self.found:
            if len(self.found) >= self._limits.max_entries:
                self._faults.add(SitemapFault.ENTRIES)
                raise _Stopped
            date = last_modified.strip(_BLANK)
            self.found[location] = SitemapEntry(location, date if _DATE.fullmatch(date) else "")


def _read_lines(text: str, entries: _Entries) -> SitemapKind:
    """A URL a line; a text without any is none."""
    try:
        for line in _lines(text):
            if _URL_LINE.match(line):
                entries.add(line)
    except _Stopped:
        pass
    return SitemapKind.TEXT if entries.found else SitemapKind.UNKNOWN


def _lines(text: str) -> Iterable[str]:
    return (line.strip(_BLANK) for line in re.split(r"[\r\n]", text))


class _Xml:
    """One document on its way through expat."""

    def __init__(self, entries: _Entries, limits: SitemapLimits, faults: set[SitemapFault]) -> None:
        self._entries = entries
        self._limits = limits
        self._faults = faults
        self._kind = SitemapKind.UNKNOWN
        self._depth = 0
        self._item_depth = 0
        """Where the item stands that is open; 0 for none."""
        self._field = ""
        """The field of the item whose text is kept."""
        self._fields: dict[str, str] = {}
        self._text: list[str] = []
        self._text_chars = 0

    def read(self, untrusted_text: str) -> SitemapKind:
        """What it is; its entries are where they were asked for."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        parser.CharacterDataHandler = self._take_text
        try:
            # Text, not bytes: whatever encoding the document declares, expat is told that this is UTF-8.
            parser.Parse(untrusted_text, True)
        except _Stopped:
            pass
        except (expat.ExpatError, UnicodeEncodeError):
            self._faults.add(SitemapFault.MALFORMED)
        return self._kind

    def _refuse_doctype(self, *_declaration: object) -> None:
        self._faults.add(SitemapFault.DOCTYPE)
        raise _Stopped

    def _open(self, untrusted_name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > self._limits.max_depth:
            self._faults.add(SitemapFault.DEPTH)
            raise _Stopped
        name = _local(untrusted_name)
        if self._depth == 1:
            self._open_root(name)
        elif not self._item_depth:
            if name in _ITEMS[self._kind]:
                self._item_depth, self._fields = self._depth, {}
        elif self._depth == self._item_depth + 1:
            self._open_field(name, attributes)

    def _open_root(self, name: str) -> None:
        self._kind = _ROOTS.get(name, SitemapKind.UNKNOWN)
        if self._kind is SitemapKind.UNKNOWN:
            self._faults.add(SitemapFault.NO_SITEMAP)
            raise _Stopped

    def _open_field(self, name: str, attributes: dict[str, str]) -> None:
        self._field = "loc" if name in _LOCATIONS else "date" if name in _DATES else ""
        self._text, self._text_chars = [], 0
        if name != "link":
            return
        if self._kind is not SitemapKind.FEED or attributes.get("rel", "alternate") != "alternate":
            self._field = ""
        elif "href" in attributes:
            self._fields.setdefault("loc", attributes["href"])

    def _take_text(self, data: str) -> None:
        # What is too long for a location by one character is too long; more of it need not be kept.
        if self._field and self._text_chars <= self._limits.max_location_chars:
            self._text.append(data)
            self._text_chars += len(data)

    def _close(self, _name: str) -> None:
        depth, self._depth = self._depth, self._depth - 1
        if not self._item_depth:
            return
        if depth == self._item_depth:
            self._item_depth = 0
            self._entries.add(self._fields.get("loc", ""), self._fields.get("date", ""))
        elif depth == self._item_depth + 1 and self._field:
            text = "".join(self._text)
            if text.strip(_BLANK):
                self._fields.setdefault(self._field, text)
            self._field = ""


def _local(untrusted_name: str) -> str:
    """A name without its prefix, in lower case: which prefix it has, or none, tells nothing."""
    return untrusted_name.rpartition(":")[2].lower()
