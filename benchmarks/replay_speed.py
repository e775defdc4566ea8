"""How fast is a crawl replayed from the archive, against the live crawl; and what does the archive cost it?

Crawls the same site over loopback with archive.keep = all and none, interleaved, and replays the first. Prints
pages a second and CPU seconds per 1,000 pages (user and system, all child processes counted), and three ratios of
medians: replay to live by wall time, and archive on to off by CPU, which has to stay at or below 1.25.

Usage: python benchmarks/replay_speed.py [--rounds N] [--pages N] [--folder FOLDER --seed PATH]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peers.corpora import PYTHON, prepare_corpus
from whole_path import SITE, adopt_orphans, run

MAX_ON_TO_OFF = 1.25

Cost = tuple[float, float, int]
"""CPU seconds, wall seconds, pages."""


def mudroom(workspace: str, output: Path, *arguments: str, **settings: str) -> tuple[Cost, dict[str, object]]:
    """The cost of one call, and what it printed as JSON."""
    argv = [sys.executable, "-m", "mudroom", *arguments, "--workspace", workspace, "--json", "-q"]
    cpu, wall, printed = run(argv, settings, output)
    told = json.loads(printed)
    manifest = told.get("manifest", told)
    return (cpu, wall, manifest["totals"]["attempted"]), told


def crawl(seed: str, max_pages: int, folder: Path, keep: str) -> Cost:
    origin = "/".join(seed.split("/")[:3])
    arguments = (
        "crawl", seed, "--allow-origin", origin, "--max-pages", str(max_pages), "--max-depth", "50",
        "--concurrency", "16", "--delay", "0", "--discovery", "links",
    )  # fmt: skip
    settings = {"MUDROOM_CRAWL__PER_HOST_CONCURRENCY": "16", "MUDROOM_ARCHIVE__KEEP": keep}
    return mudroom(f"{folder}/{keep}", folder, *arguments, **settings)[0]


def replay(folder: Path) -> Cost:
    cost, told = mudroom(f"{folder}/all", folder, "replay", "@last")
    if not told["is_equal"]:
        sys.exit(f"the replay differs: {told['differences'][:3]}")
    return cost


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seed", default=PYTHON.seed)
    arguments = parser.parse_args()
    adopt_orphans()
    folder = arguments.folder or prepare_corpus(PYTHON)
    server = subprocess.Popen(
        [sys.executable, str(SITE / "serve_folder.py"), str(folder)], stdout=subprocess.PIPE, text=True
    )
    costs: dict[str, list[Cost]] = {"live": [], "no archive": [], "replay": []}
    try:
        seed = f"http://127.0.0.1:{int(server.stdout.readline())}{arguments.seed}"
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as room:
                Path(room).chmod(0o755)
                costs["live"].append(crawl(seed, arguments.pages, Path(room), "all"))
                costs["no archive"].append(crawl(seed, arguments.pages, Path(room), "none"))
                costs["replay"].append(replay(Path(room)))
    finally:
        server.terminate()
        server.wait()
    cpu = {
        name: statistics.median(1000 * each[0] / each[2] for each in found) for name, found in costs.items()
    }
    wall = {name: statistics.median(each[1] / each[2] for each in found) for name, found in costs.items()}
    for name, found in costs.items():
        print(
            f"{name:10} {1 / wall[name]:7.1f} pages a second   {cpu[name]:7.2f} CPU s / 1,000 pages   {found[-1][2]} pages"
        )
    print(
        f"replay / live, wall: {wall['replay'] / wall['live']:.2f}   CPU: {cpu['replay'] / cpu['live']:.2f}"
    )
    print(f"archive on / off, CPU: {cpu['live'] / cpu['no archive']:.2f} (at most {MAX_ON_TO_OFF})")


if __name__ == "__main__":
    main()
