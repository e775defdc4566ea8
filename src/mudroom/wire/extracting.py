"""An extraction asked for, and its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from mudroom.model import ExtractedDocument, Link, LinkRelation, View, WarningCode
from mudroom.wire.codec import PayloadReader, PayloadWriter
from mudroom.wire.columns import put_numbers, put_security_text, take_numbers, take_security_text
from mudroom.wire.frame import refuse
from mudroom.wire.limits import AnswerLimits

__all__ = [
    "ExtractOrder",
    "decode_extract_request",
    "decode_extracted",
    "encode_extract_request",
    "encode_extracted",
]

_VIEWS = {1: View.MARKDOWN, 2: View.TEXT}
_VIEW_NUMBERS = {view: number for number, view in _VIEWS.items()}
_WARNINGS = tuple(WarningCode)
_WARNING_NUMBERS = {code: number for number, code in enumerate(_WARNINGS)}
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,99}/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}", re.ASCII)
_CHARSET = re.compile(r"[a-z0-9][a-z0-9:_.+-]{0,39}|", re.ASCII)
_LINK_FLAGS = {
    (relation, is_nofollow): 2 * number + is_nofollow
    for number, relation in enumerate(LinkRelation)
    for is_nofollow in (False, True)
}
_LINKS = {flag: (is_nofollow, relation) for (relation, is_nofollow), flag in _LINK_FLAGS.items()}
_MAX_NAME_BYTES = 64 * 1024
_MAX_LIMITS = 64
_MAX_U32 = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOrder:
    """A document to be read, and what is known of it: the arguments of an extraction, flat."""

    body: bytes
    url: str
    content_type: str
    filename: str | None
    no_sniff: bool
    views: frozenset[View]
    limits: tuple[int, ...]
    """The extraction limits in the order of their declaration."""


def encode_extract_request(order: ExtractOrder) -> bytes:
    """The payload that asks for an extraction."""
    writer = PayloadWriter()
    writer.put_text(order.url)
    writer.put_text(order.content_type)
    writer.put_u8(order.filename is not None)
    writer.put_text(order.filename or "")
    writer.put_u8(order.no_sniff)
    _put_bytes_of(writer, sorted(_VIEW_NUMBERS[view] for view in order.views))
    writer.put_u8(len(order.limits))
    for limit in order.limits:
        writer.put_u64(limit)
    writer.put_bytes(order.body)
    return writer.finish()


def decode_extract_request(payload: bytes | bytearray | memoryview) -> ExtractOrder:
    """The order in a payload. Raises GuestFailed(GUEST_PROTOCOL) on any departure from the schema."""
    reader = PayloadReader(payload)
    url = reader.take_text(_MAX_NAME_BYTES)
    content_type = reader.take_text(_MAX_NAME_BYTES)
    has_filename = reader.take_flag()
    filename = reader.take_text(_MAX_NAME_BYTES)
    no_sniff = reader.take_flag()
    views = frozenset(_take_views(reader))
    limit_count = reader.take_u8()
    if limit_count > _MAX_LIMITS:
        raise refuse("more limits than there are")
    limits = tuple(reader.take_u64() for _ in range(limit_count))
    body = reader.take_bytes(_MAX_U32)
    reader.finish()
    return ExtractOrder(
        body=body,
        url=url,
        content_type=content_type,
        filename=filename if has_filename else None,
        no_sniff=no_sniff,
        views=views,
        limits=limits,
    )


def encode_extracted(document: ExtractedDocument) -> bytes:
    """The payload that holds what was read. Raises UnicodeEncodeError on a lone surrogate."""
    writer = PayloadWriter()
    writer.put_text(document.media_type)
    writer.put_text(document.charset)
    writer.put_text(document.title)
    writer.put_text(document.base_url)
    for number in (document.visible_chars, document.hidden_chars, document.removed_chars):
        writer.put_u32(number)
    writer.put_u8(document.needs_render)
    _put_bytes_of(writer, (_WARNING_NUMBERS[code] for code in document.warnings))
    _put_bytes_of(writer, (_VIEW_NUMBERS[view] for view in document.views))
    for text in document.views.values():
        writer.put_text(text)
    _put_links(writer, document.links)
    put_security_text(writer, document.security_text)
    return writer.finish()


def decode_extracted(
    untrusted_payload: bytes | bytearray | memoryview, limits: AnswerLimits
) -> ExtractedDocument:
    """The document in an answer, whole and within the limits. Its text is as untrusted as before.

    Raises: GuestFailed(GUEST_PROTOCOL) on any departure from the schema or above a limit.
    """
    reader = PayloadReader(untrusted_payload)
    media_type = reader.take_text(_MAX_NAME_BYTES)
    charset = reader.take_text(_MAX_NAME_BYTES)
    if not _MEDIA_TYPE.fullmatch(media_type) or not _CHARSET.fullmatch(charset):
        raise refuse("a media type or charset that is none")
    title = reader.take_text(limits.max_title_bytes)
    base_url = reader.take_text(limits.max_url_bytes)
    visible, hidden, removed = (reader.take_u32(_MAX_U32) for _ in range(3))
    needs_render = reader.take_flag()
    warnings = _take_warnings(reader)
    views = {view: reader.take_text(limits.max_view_bytes) for view in _take_views(reader)}
    links = _take_links(reader, limits)
    security_text = take_security_text(reader, limits)
    reader.finish()
    return ExtractedDocument(
        media_type=media_type,
        charset=charset,
        title=title,
        views=views,
        links=links,
        base_url=base_url,
        security_text=security_text,
        visible_chars=visible,
        hidden_chars=hidden,
        removed_chars=removed,
        needs_render=needs_render,
        warnings=warnings,
    )


def _put_bytes_of(writer: PayloadWriter, numbers: Iterable[int]) -> None:
    packed = bytes(numbers)
    writer.put_u8(len(packed))
    writer.put_raw(packed)


def _take_views(reader: PayloadReader) -> tuple[View, ...]:
    numbers = reader.take_raw(reader.take_u8())
    if len(set(numbers)) != len(numbers) or not _VIEWS.keys() >= set(numbers):
        raise refuse("a view that is unknown or comes twice")
    return tuple(_VIEWS[number] for number in numbers)


def _take_warnings(reader: PayloadReader) -> tuple[WarningCode, ...]:
    numbers = reader.take_raw(reader.take_u8())
    if len(set(numbers)) != len(numbers) or max(numbers, default=0) >= len(_WARNINGS):
        raise refuse("a warning that is unknown or comes twice")
    return tuple(_WARNINGS[number] for number in numbers)


def _put_links(writer: PayloadWriter, links: tuple[Link, ...]) -> None:
    hrefs = [link.untrusted_href for link in links]
    writer.put_u32(len(links))
    put_numbers(writer, [len(href) for href in hrefs])
    writer.put_raw(bytes(_LINK_FLAGS[link.relation, link.is_nofollow] for link in links))
    writer.put_text("".join(hrefs))


def _take_links(reader: PayloadReader, limits: AnswerLimits) -> tuple[Link, ...]:
    """Links; their lengths are in characters, so that all of them are decoded at once."""
    count = reader.take_u32(limits.max_links)
    lengths = take_numbers(reader, count)
    flags = reader.take_raw(count)
    text = reader.take_text(limits.max_links_bytes)
    if flags.translate(None, bytes(_LINKS)) or sum(lengths) != len(text):
        raise refuse("links that do not fill their text")
    if max(lengths, default=0) > limits.max_url_bytes:
        raise refuse("a link longer than is read")
    ends = tuple(accumulate(lengths))
    hrefs = (text[start:end] for start, end in zip((0, *ends), ends, strict=False))
    if not any(flags):
        return tuple(map(Link, hrefs))
    return tuple(Link(href, *_LINKS[flag]) for href, flag in zip(hrefs, flags, strict=True))
