"""Does memory grow with the pages of a crawl?

A site of 5,000 generated pages, each with text of its own, tables, code and links to the next ones, is crawled by
one process with everything on: jail, scan, archive, corpus. Prints the resident size of that process and of its
guests after 500 and after 5,000 pages, and the ratio.

Usage: python benchmarks/memory.py [--pages N]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from mudroom.assembly import open_house
from mudroom.crawl import CrawlEvent, CrawlPolicy
from mudroom.intake import PageEvent
from mudroom.model import PageState
from mudroom.settings import load_settings

WORDS = [
    "harbour",
    "tide",
    "clock",
    "gauge",
    "letter",
    "pilot",
    "engine",
    "bridge",
    "lantern",
    "quay",
    "north",
    "wind",
    "table",
    "window",
    "paper",
    "garden",
    "river",
    "winter",
    "market",
    "morning",
    "account",
    "ferry",
    "signal",
    "copper",
    "measure",
    "survey",
]
FINAL = {PageState.STORED, PageState.BLOCKED, PageState.FAILED, PageState.QUARANTINED}


def make_page(number: int, pages: int) -> bytes:
    """About 10 KB that no other page repeats."""
    chance = random.Random(number)
    body = []
    for section in range(6):
        body.append(f"<h2>Section {section} of {number}</h2>")
        body.append(f"<p>{' '.join(chance.choice(WORDS) for _ in range(140))}.</p>")
        cells = "".join(f"<td>{chance.choice(WORDS)} {chance.random():.3f}</td>" for _ in range(4))
        body.append(f"<table><tr>{cells}</tr><tr>{cells}</tr></table>")
    links = "".join(f'<li><a href="/p/{(number * 7 + k) % pages}">next {k}</a></li>' for k in range(1, 9))
    return f"<!doctype html><title>Page {number}</title><body>{''.join(body)}<ul>{links}</ul>".encode()


async def serve(pages: int) -> None:
    """The generated site; prints its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                if path.startswith("/p/"):
                    status, body = "200 OK", make_page(int(path[3:]), pages)
                else:
                    status, body = "404 Not Found", b"none"
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def resident_kib(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


class Watch:
    """Reads sizes when the counts are reached."""

    def __init__(self, marks: tuple[int, ...]) -> None:
        self.marks = marks
        self.done = 0
        self.sizes: dict[int, tuple[int, int]] = {}

    def on_page(self, event: PageEvent) -> None:
        if event.state in FINAL:
            self.done += 1
            if self.done in self.marks:
                guests = sum(resident_kib(pid) for pid in descendants(os.getpid()))
                self.sizes[self.done] = (resident_kib(os.getpid()), guests)

    def on_crawl(self, event: CrawlEvent) -> None:
        pass


async def crawl(port: int, pages: int, folder: str) -> Watch:
    origin = f"http://127.0.0.1:{port}"
    settings = load_settings(
        {}, workspace=Path(folder) / "room", overrides={("egress", "allow_origins"): (origin,)}
    )
    watch = Watch((pages // 10, pages))
    policy = CrawlPolicy(
        max_pages=pages,
        max_depth=1000,
        concurrency=16,
        per_host_concurrency=16,
        delay_seconds=0,
        max_total_bytes=1 << 40,
        max_duration_seconds=24 * 3600.0,
    )
    async with open_house(settings, observer=watch) as house:
        manifest = await house.crawl(f"{origin}/p/0", policy)
    print("totals", manifest["totals"])
    return watch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--serve", type=int)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(arguments.pages)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            watch = asyncio.run(crawl(port, arguments.pages, folder))
    finally:
        server.terminate()
        server.wait()
    (few, first), (many, last) = sorted(watch.sizes.items())
    for pages, (own, guests) in ((few, first), (many, last)):
        print(f"after {pages:6} pages: process {own / 1024:7.1f} MiB, guests {guests / 1024:7.1f} MiB")
    print(f"process ratio {last[0] / first[0]:.3f}, with guests {sum(last) / sum(first):.3f}")


if __name__ == "__main__":
    main()
