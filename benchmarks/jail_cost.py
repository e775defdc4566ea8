"""What does the wall cost? The same pages read inside a jail and without one, in one run.

    python benchmarks/jail_cost.py [PAGES]

Prints, for each level that this machine holds: time to start a pool, wall time and the parent's processor
time a page, and the ratio to the same extraction in this process.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mudroom.errors import GuestFailed
from mudroom.extract import ExtractLimits, ExtractSource, extract_document
from mudroom.jail import ExtractRequest, GuestPool, JailOptions
from mudroom.model import Isolation

SOURCE = ExtractSource(url="https://bakery.test/", content_type="text/html; charset=utf-8")
LIMITS = ExtractLimits()
SITE = "https://bakery.test"


def make_page(number: int) -> bytes:
    """A page of about 23 KB: headings, prose, links, a table, code."""
    rows = "".join(f"<tr><td>flour {n}</td><td><a href='/f/{n}'>{n * 7} g</a></td></tr>" for n in range(60))
    prose = "".join(
        f"<h2 id=s{n}>Section {n}</h2><p class=x>Bread number {number} rises for <b>{n} hours</b> "
        f"and <a href='/p/{n}' title='more'>then some</a>. {'The oven is warm and the crust is brown. ' * 6}</p>"
        for n in range(45)
    )
    return (
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Bread {number}</title></head><body>"
        f"<nav><a href=/>home</a></nav><main>{prose}<table>{rows}</table>"
        "<pre><code>def knead():\n    return 'dough'\n</code></pre></main></body></html>"
    ).encode()


async def measure(work: Callable[[bytes], Awaitable[object]], pages: list[bytes]) -> tuple[float, float]:
    """Wall and own processor milliseconds a page."""
    for page in pages[:20]:
        await work(page)
    wall, cpu = time.perf_counter(), time.process_time()
    for page in pages:
        await work(page)
    count = len(pages) / 1000
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


async def unjailed(page: bytes) -> object:
    return extract_document(page, SOURCE, LIMITS)


async def main(count: int) -> None:
    pages = [make_page(number) for number in range(count)]
    print(f"{count} pages of {len(pages[0]) / 1000:.1f} KB")
    bare, _ = await measure(unjailed, pages)
    print(f"{'no jail':10} {bare:7.3f} ms a page")
    for level in Isolation:
        pool = GuestPool(replace(JailOptions(), isolation=level, spares_per_role=0))
        begun = time.perf_counter()
        try:
            await pool.start()
        except GuestFailed as failure:
            print(f"{level:10} not here: {failure.message}")
            continue
        started = (time.perf_counter() - begun) * 1000

        async def jailed(page: bytes, pool: GuestPool = pool) -> object:
            request = ExtractRequest(body=page, source=SOURCE, limits=LIMITS)
            return await pool.extract(request, site=SITE, run_id="bench")

        wall, cpu = await measure(jailed, pages)
        await pool.aclose()
        print(
            f"{level:10} {wall:7.3f} ms a page, ratio {wall / bare:5.2f}, "
            f"parent {cpu:6.3f} ms of processor a page, start {started:6.1f} ms (a reader and a scanner)"
        )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500))
