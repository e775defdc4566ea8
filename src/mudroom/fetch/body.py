"""What a request carries: bytes of a declared type, or a stream that can be sent again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from mudroom.net import UploadBody

__all__ = ["RequestBody", "StreamBody"]

_BINARY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class StreamBody:
    """An `UploadBody` made by a function: each call begins it anew."""

    factory: Callable[[], AsyncIterator[bytes]]
    length: int | None = None

    def open(self) -> AsyncIterator[bytes]:
        """The body from its beginning."""
        return self.factory()


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A body and its type, which is sent unless the request has a Content-Type of its own.

    A redirect by 307 or 308 sends it again; one that turns the method into GET drops it and its type.
    """

    content: bytes | UploadBody
    content_type: str = _BINARY

    @classmethod
    def of_json(cls, value: object) -> RequestBody:
        """A value as JSON. Raises: TypeError or ValueError for one that JSON cannot hold, NaN included."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return cls(text.encode(), "application/json")

    @classmethod
    def of_form(cls, fields: Mapping[str, str] | Iterable[tuple[str, str]]) -> RequestBody:
        """Names and values in order, as a browser sends a plain form."""
        pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
        return cls(urlencode(pairs).encode(), "application/x-www-form-urlencoded")

    @classmethod
    def of_text(cls, text: str) -> RequestBody:
        """Text, sent as UTF-8."""
        return cls(text.encode(), "text/plain; charset=utf-8")

    @classmethod
    def of_stream(
        cls,
        factory: Callable[[], AsyncIterator[bytes]],
        *,
        length: int | None = None,
        content_type: str = _BINARY,
    ) -> RequestBody:
        """What the factory's iterator gives; it is called again for every hop that carries the body."""
        return cls(StreamBody(factory, length), content_type)
