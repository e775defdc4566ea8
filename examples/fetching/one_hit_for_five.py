"""Five callers who ask the same at the same time: one request goes out, and each has every byte."""

from __future__ import annotations

import asyncio

import mudroom
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer


async def main() -> None:
    """Ask for one page five times, and once more with a header of its own."""
    async with SiteServer(Route(path="/page", body="the same for all")) as site:
        settings = mudroom.load_settings({}, overrides={("egress", "allow_origins"): (site.origin,)})
        async with mudroom.Fetcher(settings) as fetcher:
            request = mudroom.FetchRequest("GET", site.url("/page"))
            replies = await asyncio.gather(*(fetcher.submit(request) for _ in range(5)))
            print(f"{len(replies)} callers, {site.hit_count('/page')} hit")
            print(f"{len({reply.body for reply in replies})} body: {replies[0].body.decode()}")
            # Whatever is not equal in every header is asked for by itself.
            other = mudroom.FetchRequest("GET", site.url("/page"), headers=(("X-Api-Key", "mine"),))
            await asyncio.gather(fetcher.submit(request), fetcher.submit(other))
            print(f"2 callers who differ, {site.hit_count('/page') - 1} hits")


if __name__ == "__main__":
    asyncio.run(main())
