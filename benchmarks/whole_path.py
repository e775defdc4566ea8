"""What does the whole guarded, jailed, scanned, archived path cost against Scrapy?

Three crawls of the same site at concurrency 16, interleaved: Scrapy following links only, Scrapy with
trafilatura's Markdown and a WARC by warcio, and mudroom. Prints CPU seconds per 1,000 pages (user and system, all
child processes counted), wall seconds, and the ratios of the medians.

Usage: python benchmarks/whole_path.py [--rounds N] [--folder FOLDER --seed PATH]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers.corpora import PYTHON, prepare_corpus

SITE = Path(__file__).parent / "peers"
MAX_PAGES = 2000
PR_SET_CHILD_SUBREAPER = 36


def run(argv: list[str], environment: dict[str, str], output: Path) -> tuple[float, float, bytes]:
    """CPU seconds of a command and all its children, wall seconds, and what it printed."""
    started = time.monotonic()
    with (output / "stdout").open("w+b") as out, (output / "stderr").open("wb") as errors:
        spent = cpu_of_children()
        process = subprocess.Popen(argv, env=os.environ | environment, stdout=out, stderr=errors)
        code = process.wait()
        reap_orphans()
        out.seek(0)
        printed = out.read()
    if code:
        sys.exit(f"{argv[:4]} ended with {code}: {(output / 'stderr').read_text()[-2000:]}")
    return cpu_of_children() - spent, time.monotonic() - started, printed


def adopt_orphans() -> None:
    """Become the parent of guests whose launcher ended before them: their time counts too."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit("this kernel has no subreaper, so the time of guests cannot be counted")


def reap_orphans() -> None:
    """Wait for every child but the server."""
    while True:
        child, _ = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def crawl_scrapy(mode: str, seed: str) -> tuple[float, float, int]:
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, str(SITE / "scrapy_crawl.py"), mode, seed, folder]
        cpu, wall, printed = run(argv, {}, Path(folder))
    return cpu, wall, int(printed.split()[-1])


def crawl_mudroom(seed: str) -> tuple[float, float, int]:
    origin = "/".join(seed.split("/")[:3])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        argv = [
            sys.executable, "-m", "mudroom", "crawl", seed, "--allow-origin", origin, "--workspace", f"{folder}/room",
            "--max-pages", str(MAX_PAGES), "--max-depth", "50", "--concurrency", "16", "--delay", "0", "--json", "-q",
        ]  # fmt: skip
        cpu, wall, printed = run(argv, {"MUDROOM_CRAWL__PER_HOST_CONCURRENCY": "16"}, Path(folder))
    totals = json.loads(printed)["totals"]
    print(f"  mudroom totals: {totals}", file=sys.stderr)
    return cpu, wall, totals["attempted"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--links-only", action="store_true", help="leave the slow peer out")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seed", default=PYTHON.seed)
    arguments = parser.parse_args()
    adopt_orphans()
    folder = arguments.folder or prepare_corpus(PYTHON)
    server = subprocess.Popen(
        [sys.executable, str(SITE / "serve_folder.py"), str(folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        seed = f"http://127.0.0.1:{int(server.stdout.readline())}{arguments.seed}"
        runs: dict[str, list[tuple[float, float, int]]] = {}
        for _ in range(arguments.rounds):
            runs.setdefault("scrapy links", []).append(crawl_scrapy("links", seed))
            runs.setdefault("mudroom", []).append(crawl_mudroom(seed))
            if not arguments.links_only:
                runs.setdefault("scrapy full", []).append(crawl_scrapy("full", seed))
    finally:
        server.terminate()
        server.wait()
    costs = {}
    for name, results in runs.items():
        costs[name] = statistics.median(1000 * cpu / pages for cpu, _, pages in results)
        wall = statistics.median(1000 * wall / pages for _, wall, pages in results)
        pages = results[-1][2]
        print(f"{name:14} {costs[name]:7.2f} CPU s / 1,000 pages   {wall:7.2f} wall s   {pages} pages")
    for peer in sorted(set(costs) - {"mudroom"}):
        print(f"mudroom / {peer}: {costs['mudroom'] / costs[peer]:.2f}")


if __name__ == "__main__":
    main()
