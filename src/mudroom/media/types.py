"""Media types as declared in headers: parsed leniently, never trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["MediaType", "header_values", "name_type", "parse_content_type"]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,127}")
_ESSENCE = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,127}/[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,127}")
_MAX_PARAMETERS = 16
_MAX_LENGTH = 4096
_MAX_CHARSET = 64
_WELL_KNOWN = frozenset(
    {
        "application/gzip",
        "application/javascript",
        "application/json",
        "application/octet-stream",
        "application/pdf",
        "application/xhtml+xml",
        "application/xml",
        "application/zip",
        "audio/aac",
        "audio/flac",
        "audio/mp4",
        "audio/mpeg",
        "audio/ogg",
        "audio/wav",
        "audio/webm",
        "font/woff",
        "font/woff2",
        "image/avif",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/svg+xml",
        "image/webp",
        "multipart/form-data",
        "multipart/mixed",
        "multipart/x-mixed-replace",
        "text/css",
        "text/csv",
        "text/event-stream",
        "text/html",
        "text/javascript",
        "text/markdown",
        "text/plain",
        "text/xml",
        "video/mp2t",
        "video/mp4",
        "video/mpeg",
        "video/ogg",
        "video/quicktime",
        "video/webm",
        "video/x-msvideo",
    }
)
"""Types that messages name; any other could be a sentence of the peer's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaType:
    """A declared type: what the peer says the bytes are."""

    essence: str
    """Type and subtype in lower case, for example text/html."""
    charset: str | None = None
    """The label as declared, lower case; at most 64 characters. None when it was not declared."""
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The rest of the parameters, names in lower case; the first of a name wins."""


def parse_content_type(untrusted_value: str) -> MediaType | None:
    """The type that a Content-Type header declares, or None where it declares none.

    Parameters may be quoted, repeated (the first wins), malformed (skipped).
    Source: WHATWG MIME Sniffing section 4.4.
    """
    head, _, rest = untrusted_value[:_MAX_LENGTH].partition(";")
    essence = head.strip(" \t\r\n").lower()
    if not _ESSENCE.fullmatch(essence):
        return None
    parameters = _parse_parameters(rest)
    charset = parameters.pop("charset", "").strip().strip("'").lower()
    return MediaType(
        essence=essence,
        charset=charset if 0 < len(charset) <= _MAX_CHARSET else None,
        parameters=MappingProxyType(parameters),
    )


def name_type(declared: MediaType | None) -> str:
    """A declared type as a message may show it: nothing that a peer made up (decision 13)."""
    if declared is None:
        return "no declared type"
    return declared.essence if declared.essence in _WELL_KNOWN else "another type"


def header_values(headers: tuple[tuple[str, str], ...], name: str) -> tuple[str, ...]:
    """Every value of a header, in order; names compare without case."""
    wanted = name.lower()
    return tuple(value for key, value in headers if key.lower() == wanted)


def _parse_parameters(rest: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    while position < len(rest) and len(found) < _MAX_PARAMETERS:
        equals, semicolon = rest.find("=", position), rest.find(";", position)
        if equals < 0:
            break
        if 0 <= semicolon < equals:
            position = semicolon + 1
            continue
        name = rest[position:equals].strip().lower()
        value, position = _parse_value(rest, equals + 1)
        if _TOKEN.fullmatch(name):
            found.setdefault(name, value)
    return found


def _parse_value(rest: str, start: int) -> tuple[str, int]:
    """A parameter's value and the place behind its semicolon."""
    opening = len(rest) - len(rest[start:].lstrip(" \t"))
    if rest[opening : opening + 1] != '"':
        end = rest.find(";", start)
        end = len(rest) if end < 0 else end
        return rest[start:end].strip(" \t\r\n"), end + 1
    value: list[str] = []
    position = opening + 1
    while position < len(rest) and rest[position] != '"':
        if rest[position] == "\\" and position + 1 < len(rest):
            position += 1
        value.append(rest[position])
        position += 1
    end = rest.find(";", position)
    return "".join(value), (len(rest) if end < 0 else end) + 1
