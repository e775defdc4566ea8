"""One libcurl easy handle, set up once and used for many requests.

What never changes is set here and nowhere else: no proxy, no netrc, no redirects, no cookies, http and
https only, TLS 1.2 and later verified, no Alt-Svc, no HTTP/0.9, no decoding. What a request changes is set
only when it differs from the request before.

Pinning: `CONNECT_TO` sends the connection to the judged address while the URL's host stays for Host, SNI
and certificate. `OPENSOCKETFUNCTION` sees the real peer before the socket exists, `PREREQFUNCTION` before
each request, re-used connections included; both ask the exchange.
The URL given to libcurl is the origin alone; path and query go out byte for byte as our own parse has
them (`REQUEST_TARGET`), so that there is no second parse of them.
"""

from __future__ import annotations

import os
import socket
from typing import Protocol

from mudroom.net.headers import encode_headers
from mudroom.net.libcurl import describe_library, pycurl
from mudroom.net.transport import Headers, UploadBody, WireRequest

__all__ = ["CurlHandle", "HandleOwner", "HandlePool"]

_READ_BYTES = 64 * 1024
_POOL_IDLE_SECONDS = 90
_KEEPALIVE_SECONDS = 60
_ABORT = -1
_EMPTY_LINE = 2
_BAD_SOCKET: int = pycurl.SOCKET_BAD
_HTTP_VERSION: int = (
    pycurl.CURL_HTTP_VERSION_2TLS if describe_library().is_metered else pycurl.CURL_HTTP_VERSION_1_1
)
"""HTTP/2 only with a libcurl whose windows can be held small (`set_window`); older ones are not tried."""
_READ_ABORT: int = pycurl.READFUNC_ABORT
_SEEK_DONE: int = pycurl.SEEKFUNC_OK
_CANNOT_SEEK: int = pycurl.SEEKFUNC_FAIL
_MAY_SEND: int = pycurl.PREREQFUNC_OK
_MAY_NOT_SEND: int = pycurl.PREREQFUNC_ABORT


class HandleOwner(Protocol):
    """The exchange that a handle works for; each method is called from inside libcurl."""

    def may_dial(self, address: str, port: int) -> bool:
        """Whether a socket may be opened to this peer."""
        ...

    def may_send(self, handle: CurlHandle, address: str, port: int) -> bool:
        """Whether the request may go out on the connection to this peer."""
        ...

    def on_header_block(self, lines: list[bytes]) -> bool:
        """Take the lines of a header block, or of trailers; False ends the transfer."""
        ...

    def on_header_flood(self) -> None:
        """More header bytes came than may come; the transfer ends."""
        ...

    def on_body(self, data: bytes) -> int | None:
        """Take body bytes; None = taken, or a return value of WRITEFUNCTION."""
        ...

    def on_read(self, size: int) -> bytes | int:
        """Up to `size` bytes of a body that is sent as it comes, or a return value of READFUNCTION."""
        ...

    def on_rewind(self) -> None:
        """The body goes out again from its beginning."""
        ...

    def on_done(self, handle: CurlHandle, errno: int, untrusted_text: str) -> None:
        """The transfer has ended and the handle has left the pool; called outside libcurl."""
        ...


class HandlePool(Protocol):
    """Where handles come from and transfers run: one partition of a transport."""

    @property
    def proxy_note(self) -> str:
        """A clause for failures to connect; empty when no proxy was ignored."""
        ...

    def take(self) -> CurlHandle:
        """A handle that is free."""
        ...

    def arm(self, deadline: float) -> None:
        """Have every exchange checked at this time at the latest."""
        ...

    def forget_idle(self) -> None:
        """Get ready for a new socket."""
        ...

    def run(self, handle: CurlHandle) -> None:
        """Start a prepared handle's transfer; it may finish before this returns."""
        ...

    def give_back(self, handle: CurlHandle, *, is_clean: bool) -> None:
        """End the handle's transfer if it runs; keep the handle for the next request if it is clean."""
        ...


class _Descriptor:
    """A new socket's descriptor until libcurl has duplicated it; then this one is closed."""

    __slots__ = ("_fd",)

    def __init__(self, sock: socket.socket) -> None:
        self._fd = sock.detach()

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        os.close(self._fd)


class CurlHandle:
    """A reusable easy handle whose callbacks go to its present owner."""

    __slots__ = (
        "_anchors",
        "_connect_to",
        "_header_bytes_left",
        "_headers",
        "_is_fresh",
        "_is_metered",
        "_lines",
        "_method",
        "_origin",
        "curl",
        "owner",
    )

    def __init__(self) -> None:
        self.curl = pycurl.Curl()
        self.owner: HandleOwner | None = None
        self._origin = ""
        self._connect_to = ""
        self._headers: Headers | None = None
        self._method = "GET"
        self._anchors = ""
        self._is_fresh = False
        self._is_metered = False
        self._header_bytes_left = 0
        self._lines: list[bytes] = []
        self._set_constants()

    def prepare(
        self,
        request: WireRequest,
        address: str,
        *,
        anchors: str,
        window_bytes: int,
        is_fresh: bool,
    ) -> None:
        """Set what this request needs and the one before did not have."""
        curl, url, method, headers = self.curl, request.url, request.method, request.headers
        self._header_bytes_left = request.limits.max_header_bytes
        self._lines = []
        origin = url.origin
        if origin != self._origin:
            curl.setopt(pycurl.URL, f"{origin}/")
            self._origin = origin
        curl.setopt(pycurl.REQUEST_TARGET, url.request_target)
        if address != self._connect_to:
            pinned = f"[{address}]" if ":" in address else address
            curl.setopt(pycurl.CONNECT_TO, [f"::{pinned}:"])
            self._connect_to = address
        if method != self._method or request.body or method not in {"GET", "HEAD"}:
            self._set_method(method, request.body)
        if headers is not self._headers:
            curl.setopt(pycurl.HTTPHEADER, encode_headers(headers, has_body=method not in {"GET", "HEAD"}))
            self._headers = headers
        if anchors != self._anchors:
            curl.setopt(pycurl.CAINFO, anchors)
            self._anchors = anchors
        if window_bytes or self._is_metered:
            self.set_window(window_bytes)
        if is_fresh:
            curl.setopt(pycurl.FRESH_CONNECT, 1)
            self._is_fresh = True

    def set_window(self, window_bytes: int) -> None:
        """Let the peer of an HTTP/2 stream send this much more; 0 as much as libcurl takes.

        Why: what a paused stream has been allowed to send waits inside libcurl, up to 20 MB of it, and there is
        no option for the window. It follows the limit of speed, whose account begins anew each time that it is
        set: as long as it is set again before the account is empty, it slows nothing.
        """
        self.curl.setopt(pycurl.MAX_RECV_SPEED_LARGE, window_bytes)
        self._is_metered = window_bytes > 0

    @property
    def was_kept(self) -> bool:
        """Whether the transfer that just ended went out on a connection that an earlier one had opened."""
        return not self.curl.getinfo(pycurl.NUM_CONNECTS)

    @property
    def is_plain(self) -> bool:
        """Whether the handle carries nothing of its last request that the next could inherit."""
        return self._method == "GET" and not self._is_fresh

    def finish(self, errno: int, untrusted_text: str) -> None:
        """Tell the owner that the transfer has ended."""
        if self.owner is not None:
            self.owner.on_done(self, errno, untrusted_text)

    def close(self) -> None:
        """Free the handle; it must have left the pool."""
        self.owner = None
        self.curl.close()

    def _set_constants(self) -> None:
        curl = self.curl
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NOPROXY, "*")
        curl.setopt(pycurl.NETRC, 0)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.REDIR_PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, _HTTP_VERSION)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        curl.setopt(pycurl.SSL_VERIFYPEER, 1)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2)
        curl.setopt(pycurl.USERAGENT, "")  # pycurl's own names every library and its version
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.BUFFERSIZE, _READ_BYTES)
        curl.setopt(pycurl.MAXAGE_CONN, _POOL_IDLE_SECONDS)
        curl.setopt(pycurl.TCP_KEEPALIVE, 1)
        curl.setopt(pycurl.TCP_KEEPIDLE, _KEEPALIVE_SECONDS)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, 0x7FFFFFFF)  # the deadlines are ours
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        curl.setopt(pycurl.PREREQFUNCTION, self._before_request)
        curl.setopt(pycurl.HEADERFUNCTION, self._on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self._on_body)

    def _set_method(self, method: str, body: bytes | UploadBody) -> None:
        curl = self.curl
        self._headers = None
        if method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        elif method == "GET":
            curl.setopt(pycurl.HTTPGET, 1)
        elif isinstance(body, bytes):
            curl.setopt(pycurl.POST, 1)
            curl.setopt(pycurl.POSTFIELDS, body)
            curl.setopt(pycurl.CUSTOMREQUEST, method)
        else:
            curl.setopt(pycurl.UPLOAD, 1)
            curl.setopt(pycurl.INFILESIZE_LARGE, -1 if body.length is None else body.length)
            curl.setopt(pycurl.READFUNCTION, self._on_read)
            curl.setopt(pycurl.SEEKFUNCTION, self._on_seek)
            curl.setopt(pycurl.CUSTOMREQUEST, method)
        self._method = method

    def _open_socket(self, _purpose: int, peer: tuple[int, int, int, tuple[str, int]]) -> _Descriptor | int:
        family, kind, protocol, (address, port, *_) = peer
        if self.owner is None or not self.owner.may_dial(_text(address), port):
            return _BAD_SOCKET
        return _Descriptor(socket.socket(family, kind, protocol))

    def _before_request(self, address: str, _local: str, port: int, _local_port: int) -> int:
        if self.owner is not None and self.owner.may_send(self, address, port):
            return _MAY_SEND
        return _MAY_NOT_SEND

    def _on_header(self, line: bytes) -> int | None:
        self._header_bytes_left -= len(line)
        self._lines.append(line)
        if len(line) > _EMPTY_LINE and self._header_bytes_left >= 0:
            return None
        return self._end_of_block(line)

    def _end_of_block(self, line: bytes) -> int | None:
        if self.owner is None:
            return _ABORT
        if self._header_bytes_left < 0:
            self.owner.on_header_flood()
            return _ABORT
        if line not in {b"\r\n", b"\n"}:
            return None
        lines, self._lines = self._lines, []
        return None if self.owner.on_header_block(lines) else _ABORT

    def _on_body(self, data: bytes) -> int | None:
        return _ABORT if self.owner is None else self.owner.on_body(data)

    def _on_read(self, size: int) -> bytes | int:
        return _READ_ABORT if self.owner is None else self.owner.on_read(size)

    def _on_seek(self, offset: int, _origin: int) -> int:
        if offset or self.owner is None:
            return _CANNOT_SEEK
        self.owner.on_rewind()
        return _SEEK_DONE


def _text(address: str | bytes) -> str:
    return address.decode("ascii", "replace") if isinstance(address, bytes) else address
