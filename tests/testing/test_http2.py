from pathlib import Path

import pycurl
import pytest

from mudroom.testing.authority import Authority
from mudroom.testing.hostile import http2_frame
from mudroom.testing.routes import Endless, Reset, Route
from mudroom.testing.threads import serve_in_thread


def fetch(url: str, ca_file: Path, **options: object) -> tuple[str, int, bytes]:
    """Protocol, status and body, as libcurl sees them. Raises pycurl.error."""
    body = bytearray()
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, url)
    curl.setopt(pycurl.CAINFO, str(ca_file))
    curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
    curl.setopt(pycurl.TIMEOUT, 20)
    curl.setopt(pycurl.WRITEFUNCTION, body.extend)
    for name, value in options.items():
        curl.setopt(getattr(pycurl, name), value)
    try:
        curl.perform()
        version = curl.getinfo(pycurl.INFO_HTTP_VERSION)
        protocol = "HTTP/2" if version == pycurl.CURL_HTTP_VERSION_2_0 else "HTTP/1.1"
        return protocol, curl.getinfo(pycurl.RESPONSE_CODE), bytes(body)
    finally:
        curl.close()


def test_a_site_speaks_http2_where_its_context_offers_it(authority: Authority, ca_file: Path) -> None:
    tls = authority.server_context("127.0.0.1", protocols=("h2", "http/1.1"))
    routes = (
        Route(path="/", body="two"),
        Route(path="/big", body=(Endless(b"x" * 10_000, max_bytes=3_000_000),)),
    )
    with serve_in_thread(*routes, tls=tls) as site:
        assert fetch(site.tls_url("/?q=1"), ca_file, POSTFIELDS="sent") == ("HTTP/2", 200, b"two")
        seen = site.requests[0]
        assert (seen.protocol, seen.method, seen.target, seen.body) == ("HTTP/2", "POST", "/?q=1", b"sent")
        assert (seen.host, seen.header("Content-Length")) == ("127.0.0.1", "4")
        protocol, status, body = fetch(site.tls_url("/big"), ca_file)
        assert (protocol, status, len(body)) == ("HTTP/2", 200, 3_000_000)
        assert fetch(site.tls_url("/none"), ca_file)[:2] == ("HTTP/2", 404)


def test_the_same_site_speaks_http1_to_those_who_want_it(authority: Authority, ca_file: Path) -> None:
    tls = authority.server_context("127.0.0.1", protocols=("h2", "http/1.1"))
    with serve_in_thread(Route(path="/", body="one"), tls=tls) as site:
        wanted = {"HTTP_VERSION": pycurl.CURL_HTTP_VERSION_1_1}
        assert fetch(site.tls_url("/"), ca_file, **wanted) == ("HTTP/1.1", 200, b"one")


@pytest.mark.parametrize(
    "route",
    [
        Route(path="/", body=(b"a", Reset())),
        Route(path="/", body="x", frames=(http2_frame(5, b"\0\0\0\2\x82", stream=1, flags=4),)),
    ],
    ids=["a reset stream", "a pushed promise"],
)
def test_a_misbehaving_stream_is_an_error_to_the_client(
    authority: Authority, ca_file: Path, route: Route
) -> None:
    tls = authority.server_context("127.0.0.1", protocols=("h2",))
    with serve_in_thread(route, tls=tls) as site, pytest.raises(pycurl.error):
        fetch(site.tls_url("/"), ca_file)
