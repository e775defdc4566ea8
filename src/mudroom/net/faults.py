"""What libcurl reports, mapped once to our codes; nothing above this floor knows pycurl."""

from __future__ import annotations

from mudroom.errors import Code, ContentRefused, FetchFailed
from mudroom.net.libcurl import pycurl

__all__ = ["CONNECT_ERRORS", "explain_timeout", "explain_too_large", "map_curl_error"]

CONNECT_ERRORS = frozenset({pycurl.E_COULDNT_CONNECT, pycurl.E_OPERATION_TIMEDOUT})
"""Failures of one address after which the next one is tried."""

_TLS = {
    pycurl.E_SSL_CONNECT_ERROR: "no agreement on how to encrypt",
    pycurl.E_PEER_FAILED_VERIFICATION: "its certificate does not hold",
    pycurl.E_SSL_ENGINE_NOTFOUND: "the TLS library of this machine is incomplete",
    pycurl.E_SSL_ENGINE_SETFAILED: "the TLS library of this machine is incomplete",
    pycurl.E_SSL_CERTPROBLEM: "it asks for a certificate of ours",
    pycurl.E_SSL_CIPHER: "no cipher that both know",
    pycurl.E_USE_SSL_FAILED: "no agreement on how to encrypt",
    pycurl.E_SSL_ENGINE_INITFAILED: "the TLS library of this machine is incomplete",
    pycurl.E_SSL_CACERT_BADFILE: "the trust anchors cannot be read",
    pycurl.E_SSL_SHUTDOWN_FAILED: "it ended the connection in the middle",
    pycurl.E_SSL_CRL_BADFILE: "the list of revoked certificates cannot be read",
    pycurl.E_SSL_ISSUER_ERROR: "the issuer of its certificate is not the one expected",
    pycurl.E_SSL_PINNEDPUBKEYNOTMATCH: "its key is not the one expected",
    pycurl.E_SSL_INVALIDCERTSTATUS: "its certificate has no valid status",
}
_DETAILS = (
    ("unable to get local issuer", "its certificate is of an authority that is not trusted here"),
    ("self-signed", "its certificate is signed by itself or by an authority that is not trusted here"),
    ("self signed", "its certificate is signed by itself or by an authority that is not trusted here"),
    ("has expired", "its certificate has expired"),
    ("not yet valid", "its certificate is not valid yet"),
    ("subject name", "its certificate is for another host"),
    ("revoked", "its certificate was revoked"),
    ("wrong version number", "it does not speak TLS on this port"),
    ("packet length too long", "it does not speak TLS on this port"),
    ("unsupported protocol", "it speaks no TLS from 1.2 on"),
    ("protocol version", "it speaks no TLS from 1.2 on"),
    ("unexpected eof", "it ended the connection in the middle"),
)
"""Words of the TLS library, which can stand beside names from a certificate, and ours for them."""
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


_TIMEOUTS = {
    Code.CONNECT_TIMEOUT: "{host} did not accept a connection in time",
    Code.RESPONSE_TIMEOUT: "{host} did not answer in time",
    Code.TOTAL_TIMEOUT: "{host} took too long to send the whole answer",
    Code.IDLE_TIMEOUT: "{host} stopped sending in the middle of its answer",
}
_SENDING_TIMEOUTS = {
    Code.TOTAL_TIMEOUT: "the body of the request to {host} took too long to be sent",
    Code.IDLE_TIMEOUT: "{host} stopped reading in the middle of the request",
}
_CHUNK_WORDS = ("chunk", "hexadecimal")


def explain_timeout(code: Code, host: str, *, is_sending: bool = False, note: str = "") -> FetchFailed:
    """The failure of a deadline of ours; `is_sending` where the request's body was on its way."""
    messages = _SENDING_TIMEOUTS if is_sending else _TIMEOUTS
    return FetchFailed(code, messages[code].format(host=host) + note)


def explain_too_large(host: str, limit: int) -> ContentRefused:
    """What is said of a body beyond its limit."""
    return ContentRefused(Code.BODY_TOO_LARGE, f"the answer of {host} is larger than {limit} bytes")


def map_curl_error(errno: int, untrusted_text: str, host: str, note: str) -> FetchFailed:
    """A failure of libcurl as one of ours. The message names the host alone; `note` is `note_proxies`'.

    Shapes: `host` has its port where that is not the default, if nobody listens there.

    Why: the library's own text can hold names that the peer wrote into its certificate, so it only
    chooses among our words and is never shown.
    """
    if errno in _TLS:
        text = untrusted_text.lower()
        detail = next((ours for theirs, ours in _DETAILS if theirs in text), _TLS[errno])
        return FetchFailed(Code.TLS_FAILED, f"TLS with {host} failed: {detail}")
    if errno == pycurl.E_RECV_ERROR and any(word in untrusted_text for word in _CHUNK_WORDS):
        return FetchFailed(Code.PROTOCOL_ERROR, f"{host} sent a body whose chunks cannot be told apart")
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
