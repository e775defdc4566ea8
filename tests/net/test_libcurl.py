"""libcurl as it is loaded: what it would read of the environment, and must not."""

import asyncio
import os
import sys
from pathlib import Path

from mudroom.testing.authority import Authority
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer

FETCH = """
import asyncio, os, sys
from ipaddress import ip_address
from mudroom.address import parse_url
from mudroom.net import CurlTransport, WireRequest

async def main(url, ca_file, secrets):
    os.environ["SSLKEYLOGFILE"] = secrets  # as a program does that reads a file of settings late
    transport = CurlTransport()
    request = WireRequest(url=parse_url(url), addresses=(ip_address("127.0.0.1"),), ca_file=ca_file)
    async with transport.open(request) as response:
        print((await response.read()).decode())
    await transport.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_the_secrets_of_a_session_are_written_nowhere(
    authority: Authority, ca_file: Path, tmp_path: Path
) -> None:
    """SSLKEYLOGFILE would have the TLS library write down what decrypts every connection."""
    secrets = tmp_path / "secrets"
    async with SiteServer(Route(path="/", body="read"), tls=authority.server_context("site.test")) as site:
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            FETCH,
            f"https://site.test:{site.tls_port}/",
            str(ca_file),
            str(secrets),
            env=os.environ | {"SSLKEYLOGFILE": str(secrets), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await program.communicate()
    assert output == b"read\n"
    assert not secrets.exists()
