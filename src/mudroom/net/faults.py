"""What libcurl reports, mapped once to our codes; nothing above this floor knows pycurl."""

from __future__ import annotations

from collections.abc import Mapping

from mudroom.errors import Code, FetchFailed
from mudroom.net.libcurl import pycurl

__all__ = ["CONNECT_ERRORS", "map_curl_error", "proxy_note"]

CONNECT_ERRORS = frozenset({pycurl.E_COULDNT_CONNECT, pycurl.E_OPERATION_TIMEDOUT})
"""Failures of one address after which the next one is tried."""

_TLS = frozenset(
    {
        pycurl.E_SSL_CONNECT_ERROR,
        pycurl.E_PEER_FAILED_VERIFICATION,
        pycurl.E_SSL_ENGINE_NOTFOUND,
        pycurl.E_SSL_ENGINE_SETFAILED,
        pycurl.E_SSL_CERTPROBLEM,
        pycurl.E_SSL_CIPHER,
        pycurl.E_USE_SSL_FAILED,
        pycurl.E_SSL_ENGINE_INITFAILED,
        pycurl.E_SSL_CACERT_BADFILE,
        pycurl.E_SSL_SHUTDOWN_FAILED,
        pycurl.E_SSL_CRL_BADFILE,
        pycurl.E_SSL_ISSUER_ERROR,
        pycurl.E_SSL_PINNEDPUBKEYNOTMATCH,
        pycurl.E_SSL_INVALIDCERTSTATUS,
    }
)
_LOST = frozenset(
    {
        pycurl.E_PARTIAL_FILE,
        pycurl.E_GOT_NOTHING,
        pycurl.E_SEND_ERROR,
        pycurl.E_RECV_ERROR,
        92,  # CURLE_HTTP2_STREAM; this pycurl has no name for it
        pycurl.E_SEND_FAIL_REWIND,
    }
)
_TOO_LARGE = 100  # CURLE_TOO_LARGE; this pycurl has no name for it
_SINGLE = {
    pycurl.E_COULDNT_CONNECT: (Code.CONNECT_FAILED, "could not connect to {host}"),
    pycurl.E_OPERATION_TIMEDOUT: (Code.CONNECT_TIMEOUT, "{host} did not accept a connection in time"),
    pycurl.E_URL_MALFORMAT: (Code.INVALID_URL, "the host name cannot be sent in a request"),
    _TOO_LARGE: (Code.HEADERS_TOO_LARGE, "{host} sent more headers than are read"),
}
_PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def proxy_note(environ: Mapping[str, str]) -> str:
    """A clause that says that a proxy is set in the environment and is not used; empty when none is."""
    names = [name for name in _PROXY_VARIABLES if environ.get(name)]
    return f" (the environment's proxy was ignored: {', '.join(names)})" if names else ""


def map_curl_error(errno: int, untrusted_text: str, host: str, note: str) -> FetchFailed:
    """A failure of libcurl as one of ours. The message names the host alone; `note` is `proxy_note`'s."""
    if errno in _TLS:
        return FetchFailed(Code.TLS_FAILED, f"TLS with {host} failed: {_printable(untrusted_text)}")
    if errno in _LOST:
        return FetchFailed(
            Code.CONNECTION_LOST, f"{host} closed the connection before its answer was complete"
        )
    code, message = _SINGLE.get(
        errno, (Code.PROTOCOL_ERROR, "{host} does not speak HTTP as it must (libcurl error {errno})")
    )
    return FetchFailed(
        code, message.format(host=host, errno=errno) + (note if errno in CONNECT_ERRORS else "")
    )


def _printable(untrusted_text: str) -> str:
    """Text of a TLS library, safe to show: printable ASCII, at most 160 characters."""
    text = "".join(char for char in untrusted_text if char.isascii() and char.isprintable())
    return text[:160] or "no reason given"
