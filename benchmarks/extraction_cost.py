"""What does a page cost to be read twice, beside a bare parse and beside trafilatura?

    python benchmarks/extraction_cost.py FOLDER [--pages N]

FOLDER holds HTML pages; the set of record is Debian's python3.11-doc:
`apt-get download python3.11-doc && dpkg -x python3.11-doc_*.deb FOLDER`. Pages are put in classes by size; of
each class N are read, each three times, the best counts. Printed per class: CPU milliseconds a page for
extract_document (display, Markdown, strings, links), for turbohtml's parse alone, for turbohtml's parse with its
own to_markdown, for trafilatura's Markdown (fast=True), and the ratios to the last two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import turbohtml

from mudroom.extract import ExtractLimits, ExtractSource, extract_document

CLASSES = ((0, 15), (15, 35), (35, 80), (80, 140), (140, 220), (220, 1000))


def best_cpu(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


def measure(pages: list[bytes]) -> list[float]:
    import trafilatura

    source = ExtractSource(url="https://docs.example.org/page.html", content_type="text/html; charset=utf-8")
    limits = ExtractLimits()
    works: tuple[Callable[[bytes], object], ...] = (
        lambda page: extract_document(page, source, limits),
        lambda page: turbohtml.parse(page.decode("utf-8", "replace")),
        lambda page: turbohtml.parse(page.decode("utf-8", "replace")).to_markdown(),
        lambda page: trafilatura.extract(
            page.decode("utf-8", "replace"), output_format="markdown", fast=True
        ),
    )
    return [
        sum(best_cpu(lambda page=page, work=work: work(page)) for page in pages) / len(pages)
        for work in works
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=8)
    options = parser.parse_args()
    files = sorted(options.folder.rglob("*.html"), key=lambda path: (path.stat().st_size, path.name))
    print(
        "kB mean  pages | extract   parse  to_markdown  trafilatura (ms CPU) | x to_markdown  x trafilatura"
    )
    for low, high in CLASSES:
        fitting = [path for path in files if low * 1024 <= path.stat().st_size < high * 1024]
        pages = [
            path.read_bytes() for path in fitting[:: max(1, len(fitting) // options.pages)][: options.pages]
        ]
        if not pages:
            continue
        ours, parse, to_markdown, peer = measure(pages)
        mean = sum(map(len, pages)) / len(pages) / 1024
        print(f"{mean:7.0f} {len(pages):6d} | {ours:7.2f} {parse:7.2f} {to_markdown:12.2f} {peer:12.2f}"
              f"          | {ours / to_markdown:13.1f} {ours / peer:14.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
