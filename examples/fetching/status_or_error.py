"""A 404 is an answer, with its status and its body; a port that nobody listens on is an error, with its code."""

from __future__ import annotations

import asyncio

import mudroom
from mudroom.errors import FetchFailed
from mudroom.testing.server import SiteServer


async def main() -> None:
    """Ask for a page that is not there, then the same of a site that is not there."""
    async with SiteServer() as site:
        url = site.url("/missing")
        settings = mudroom.load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
        async with mudroom.Fetcher(settings) as fetcher:
            reply = await fetcher.submit(mudroom.FetchRequest("GET", url))
            print(reply.status, reply.body.decode().strip())
    # The site is closed: its port refuses.
    async with mudroom.Fetcher(settings) as fetcher:
        try:
            await fetcher.submit(mudroom.FetchRequest("GET", url))
        except FetchFailed as error:
            print(error.code)


if __name__ == "__main__":
    asyncio.run(main())
