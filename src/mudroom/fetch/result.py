"""What comes back: a whole answer, or one that is still being read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from mudroom.address import ParsedUrl
from mudroom.errors import FetchFailed
from mudroom.media import BodyDecoder, MediaType, header_values, parse_content_type
from mudroom.model import Hop
from mudroom.net import Headers, WireResponse, declared_length

__all__ = ["Fetched", "ReplyHead", "Streamed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyHead:
    """What is known of an answer at its headers. All of it but the hops is the peer's word, and untrusted."""

    requested_url: str
    """As it was asked for, in normal form."""
    final: ParsedUrl
    hops: tuple[Hop, ...]
    """Every request made, the last one included."""
    status: int
    reason: str
    protocol: str
    headers: Headers
    raw_header: bytes
    """Status line and header lines of the last hop, as received."""
    exception: str | None
    """The exception through which the last hop was dialled; it is the scope of what the body links to."""
    sent_headers: Headers = field(default=(), repr=False)
    """What the last hop went out with, credentials included; for `read_validators`, and never to be kept."""

    @property
    def declared_bytes(self) -> int | None:
        """The length that the peer gave the body as it is sent; None where it gave none, or several."""
        try:
            return declared_length(self.headers)
        except FetchFailed:
            return None

    @property
    def content_type(self) -> MediaType | None:
        """The declared type; None where it is missing or cannot be read."""
        values = header_values(self.headers, "content-type")
        return parse_content_type(values[-1]) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(ReplyHead):
    """A whole answer of any status. Body and header fields are untrusted."""

    body: bytes
    """As received, with its content codings; this is what is archived."""
    decoded: bytes
    """Without content codings."""
    wire_bytes: int
    """Body bytes of every hop as received: those of redirects too, as far as they came."""
    duration_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed(ReplyHead):
    """An answer whose headers are here; its body is read once, by `chunks` or by `raw_chunks`."""

    response: WireResponse
    decoder: BodyDecoder
    earlier_bytes: int = 0
    """Body bytes of the redirects on the way."""

    @property
    def wire_bytes(self) -> int:
        """Body bytes of every hop as received so far."""
        return self.earlier_bytes + self.response.received_bytes

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body without content codings, as it comes. Raises: ContentRefused, FetchFailed."""
        received = 0
        async for chunk in self.response.chunks():
            received += len(chunk)
            decoded = self.decoder.feed(chunk)
            if decoded:
                yield decoded
        tail = self.decoder.finish() if received else b""
        if tail:
            yield tail

    def raw_chunks(self) -> AsyncIterator[bytes]:
        """The body as received, as it comes. Raises: ContentRefused, FetchFailed."""
        return self.response.chunks()
