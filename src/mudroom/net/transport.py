"""The seam to the network: one request to one judged address, its answer as a bounded stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from mudroom.address import IPAddress, ParsedUrl
from mudroom.net.limits import NetLimits

__all__ = ["Headers", "Transport", "UploadBody", "WireRequest", "WireResponse"]

Headers = tuple[tuple[str, str], ...]
"""Names and values in order, duplicates kept."""


class UploadBody(Protocol):
    """A request body that is sent as it comes, and that can be sent again."""

    @property
    def length(self) -> int | None:
        """Its bytes, told as Content-Length; None sends it in chunks. Other than this many is a failure."""
        ...

    def open(self) -> AsyncIterator[bytes]:
        """The body from its beginning; asked once for every connection and hop that it goes out on."""
        ...


_LIMITS = NetLimits()


class WireRequest(NamedTuple):
    """One request, judged: nothing that it names is resolved or judged again. A tuple, since every hop makes one."""

    url: ParsedUrl
    addresses: tuple[IPAddress, ...]
    """The addresses that passed, in the order of preference; no other is ever dialled."""
    method: str = "GET"
    headers: Headers = ()
    body: bytes | UploadBody = b""
    limits: NetLimits = _LIMITS
    ca_file: str | None = None
    """PEM file of trust anchors that hold beside the public ones, for this request's host."""
    is_whole: bool = False
    """Whether the body will be read whole, at once, so that nothing need hold the peer back (`Metering`)."""
    partition: str = ""
    """Connections and TLS sessions are shared only between requests of one partition."""


class WireResponse(Protocol):
    """An answer whose headers are here and whose body is still to be read, once."""

    @property
    def status(self) -> int:
        """The status code of the final answer."""
        ...

    @property
    def reason(self) -> str:
        """The reason phrase, possibly empty; untrusted."""
        ...

    @property
    def protocol(self) -> str:
        """HTTP/1.0, HTTP/1.1 or HTTP/2."""
        ...

    @property
    def raw_header(self) -> bytes:
        """Status line and header lines as received, with the empty line that ends them."""
        ...

    @property
    def headers(self) -> Headers:
        """The header fields in order, duplicates kept; untrusted."""
        ...

    @property
    def address(self) -> str:
        """The IP address that was dialled, as text."""
        ...

    @property
    def received_bytes(self) -> int:
        """Body bytes received so far, as on the wire but without transfer coding."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether nothing more will come: then `read` waits for nothing, whether it gives the body or raises."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, content-encoded, transfer-decoded; the peer waits while nobody reads.

        Raises: ContentRefused BODY_TOO_LARGE (before a byte when the declared length says so);
        FetchFailed with IDLE_TIMEOUT, TOTAL_TIMEOUT, CONNECTION_LOST or PROTOCOL_ERROR.
        """
        ...

    async def read(self) -> bytes:
        """The whole body, content-encoded. Raises as `chunks` does."""
        ...


class Transport(Protocol):
    """What opens exchanges. Leaving the context closes the exchange, and its socket if bytes remain."""

    def open(self, request: WireRequest) -> AbstractAsyncContextManager[WireResponse]:
        """An exchange, entered when the headers of the final answer are here.

        Raises: EgressRefused DENIED_ADDRESS when the peer is not one of `request.addresses`;
        FetchFailed for everything that the network or the peer did.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection; exchanges that are still open fail."""
        ...
