from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from typing import Any

import pytest

from mudroom.address import AllowedOrigin, EgressPolicy, ParsedUrl, parse_url
from mudroom.fetch import Fetcher, FetchOptions
from mudroom.net import CurlTransport
from mudroom.testing.clocks import FixedClock
from mudroom.testing.resolvers import ScriptedResolver
from mudroom.testing.server import SiteServer


@pytest.fixture
async def transport() -> AsyncIterator[CurlTransport]:
    transport = CurlTransport(environ={})
    yield transport
    await transport.aclose()


@pytest.fixture
def fetcher_for(transport: CurlTransport) -> Callable[..., Fetcher]:
    """A fetcher that may reach the sites given by their origins, and by name on their ports."""

    def build(*sites: SiteServer, resolver: ScriptedResolver | None = None, **options: Any) -> Fetcher:
        ports = {80, 443} | {port for site in sites for port in (site.port, site.tls_port) if port}
        policy = EgressPolicy(
            ports=frozenset(ports),
            allow_origins=tuple(AllowedOrigin.parse(site.origin) for site in sites),
            allow_networks=(ip_network("127.0.0.0/8"),),
        )
        return Fetcher(
            transport,
            resolver if resolver is not None else ScriptedResolver(),
            policy,
            FetchOptions(**options),
            FixedClock(),
        )

    return build


@pytest.fixture
def example() -> ParsedUrl:
    url = parse_url("https://example.org/")
    assert url is not None
    return url
