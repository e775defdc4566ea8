"""A site that never answers: a caller who gives up returns at once, and the last one closes the connection."""

from __future__ import annotations

import asyncio

import mudroom
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer


async def main() -> None:
    """Give up on a request that would wait for a minute, and go on with another."""
    never = asyncio.Event()
    async with SiteServer(Route(path="/stalls", gate=never), Route(path="/", body="still here")) as site:
        settings = mudroom.load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
        async with mudroom.Fetcher(settings) as fetcher:
            stalled = asyncio.create_task(fetcher.submit(mudroom.FetchRequest("GET", site.url("/stalls"))))
            await site.wait_for_requests(1)
            stalled.cancel()
            try:
                await stalled
            except asyncio.CancelledError:
                print("cancelled")
            await site.wait_for_close()
            print(f"{site.open_connections} connections open")
            reply = await fetcher.submit(mudroom.FetchRequest("GET", site.url("/")))
            print(reply.status, reply.body.decode())


if __name__ == "__main__":
    asyncio.run(main())
