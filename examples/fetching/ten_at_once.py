"""Ten URLs asked for together: all come, each with its status and its bytes."""

from __future__ import annotations

import asyncio

import mudroom
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer


async def main() -> None:
    """Ask for ten pages at once."""
    pages = [Route(path=f"/{number}", body=f"page {number}") for number in range(10)]
    async with SiteServer(*pages) as site:
        settings = mudroom.load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
        async with mudroom.Fetcher(settings) as fetcher:
            requests = [mudroom.FetchRequest("GET", site.url(page.path)) for page in pages]
            replies = await asyncio.gather(*map(fetcher.submit, requests))
    for reply in replies:
        print(reply.status, reply.body.decode())
    print(f"{len(replies)} of {len(pages)} came")


if __name__ == "__main__":
    asyncio.run(main())
