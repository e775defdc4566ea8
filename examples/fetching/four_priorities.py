"""One slot and four priorities: who is next is chosen when the slot is free, and the most urgent comes first."""

from __future__ import annotations

import asyncio

import mudroom
from mudroom.testing.routes import Route
from mudroom.testing.server import SiteServer


async def main() -> None:
    """Hold the only slot, queue four requests behind it, the most urgent last, and let go."""
    gate = asyncio.Event()
    async with SiteServer(Route(path="/first", gate=gate), Route(path="/*", body="done")) as site:
        settings = mudroom.load_settings(
            {}, overrides={("egress", "allow_origins"): (site.origin,), ("fetch", "global_slots"): 1}
        )
        async with mudroom.Fetcher(settings) as fetcher:
            holder = asyncio.create_task(fetcher.submit(mudroom.FetchRequest("GET", site.url("/first"))))
            await site.wait_for_requests(1)
            waiting = []
            for priority in sorted(mudroom.Priority, reverse=True):
                request = mudroom.FetchRequest("GET", site.url(f"/{priority.name}"), priority=priority)
                waiting.append(asyncio.create_task(fetcher.submit(request)))
                await asyncio.sleep(0)  # they are queued in this order, the least urgent first
            gate.set()
            await asyncio.gather(holder, *waiting)
    print("asked   ", " ".join(priority.name for priority in sorted(mudroom.Priority, reverse=True)))
    print("started ", " ".join(seen.path.removeprefix("/") for seen in site.requests[1:]))


if __name__ == "__main__":
    asyncio.run(main())
