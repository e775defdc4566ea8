"""How long does a crawl with a million queued URLs take to go on, and what does one URL cost in the queue?

Prints the seconds until the first URL can be taken again, the peak of memory, and the microseconds of adding,
taking and ending a page, each beside the same work on the frontier in memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mudroom.address import ExceptionScope
from mudroom.crawl import SqliteShelf
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Frontier, FrontierEntry
from mudroom.crawl.memory_frontier import MemoryFrontier
from mudroom.model import Initiator, Link

RUN = "crawl_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def entry(place: int, hosts: int) -> FrontierEntry:
    host = f"host{place % hosts}.example"
    url = f"https://{host}/manual/chapter-{place // 1000}/section-{place}.html"
    return FrontierEntry(
        url=url, key=url, host=host, origin=f"https://{host}", depth=1, parent=1, place=place,
        initiator=Initiator.PAGE, scope=ExceptionScope.none(),
    )  # fmt: skip


def fill(frontier: Frontier, count: int, hosts: int) -> float:
    started = time.process_time()
    for place in range(count):
        frontier.add(entry(place, hosts))
        if place % 100 == 0:
            frontier.commit()
    frontier.commit()
    return (time.process_time() - started) / count * 1e6


def take(frontier: Frontier, count: int) -> float:
    links = tuple(Link(untrusted_href=f"section-{n}.html") for n in range(100))
    started = time.process_time()
    for _ in range(count):
        taken = frontier.take(lambda _: 0)
        assert taken is not None
        frontier.hold(EndedPage(number=taken.number, depth=1, links=links))
        frontier.release(taken.number)
        frontier.commit()
    return (time.process_time() - started) / count * 1e6


def go_on(folder: Path, cap: int) -> None:
    started = time.perf_counter()
    frontier = SqliteShelf(folder).reopen(RUN, cap)
    assert frontier is not None
    frontier.restore([])
    assert frontier.take(lambda _: 0) is not None
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(frontier) + 1} URLs: {seconds:.2f} s until the first is taken, {peak} MB at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is not None:
        go_on(options.folder, 2 * options.urls)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frontier = SqliteShelf(folder).create(RUN, 2 * options.urls)
        added = fill(frontier, options.urls, options.hosts)
        frontier.close(keeps=True)
        size = (folder / f"{RUN}.sqlite").stat().st_size >> 20
        print(f"sqlite: {added:.1f} us to add a URL, {size} MB on the disk")
        command = [sys.executable, __file__, "--urls", str(options.urls), "--folder", name]
        subprocess.run(command, check=True)
        again = SqliteShelf(folder).reopen(RUN, 2 * options.urls)
        assert again is not None
        again.restore([])
        print(f"sqlite: {take(again, 2000):.0f} us to take, end and take in a page of 100 links")
        again.close(keeps=False)
    memory = MemoryFrontier(2 * options.urls)
    print(f"memory: {fill(memory, options.urls // 10, options.hosts):.1f} us to add a URL", end=", ")
    print(f"{take(memory, 2000):.0f} us to take, end and take in a page")


if __name__ == "__main__":
    main()
