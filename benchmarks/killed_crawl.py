"""Does a crawl of a real documentation set, killed twice and gone on with, equal one that was left alone?

An acceptance round, no measurement. Debian's manual of PostgreSQL is served on loopback and crawled by the program
in its jail: once without a break; and once more in another workspace, where its process group is killed twice by
SIGKILL, at moments that the seed of chance names, and the crawl resumed each time. Then the server is stopped, and

- both manifests are compared row by row, but for times, run, and the bytes of asking for robots.txt again;
- what stands in pages/, byte for byte, and each page's record;
- both runs are replayed, and the resumed one verified, in a network namespace with nothing in it; each replay has
  to equal its run, and the crawl that was left alone.

Exit status: 0 all of it held, 1 something did not.

Usage: python benchmarks/killed_crawl.py [--pages N] [--chance SEED] [--folder FOLDER --seed PATH] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from peers.corpora import POSTGRESQL, prepare_corpus
from whole_path import SITE, adopt_orphans

SOURCE = Path(__file__).parents[1] / "src"
PROGRAM = (sys.executable, "-m", "mudroom")
SECONDS_TO_DIE = 20.0
MOMENT = re.compile(r"fetched_at=[^&\"]*|record=[0-9a-f]*|crawl_[0-9A-Z]{26}")
TIMES = frozenset({"retrieved_at", "started_at", "finished_at"})
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A workspace, and the crawl in it."""

    workspace: Path
    manifest: dict[str, Any]
    seconds: float

    @property
    def folder(self) -> Path:
        """What the run left to read."""
        return self.workspace / "runs" / self.manifest["run_id"]


@dataclass(slots=True)
class Judge:
    """Says each finding as it comes, and remembers whether all held."""

    has_held: bool = True

    def check(self, name: str, differences: list[str], told: str = "") -> None:
        """One claim, which holds where nothing differs."""
        self.has_held = self.has_held and not differences
        print(f"{'differs' if differences else 'holds':8} {name}{told and f': {told}'}", flush=True)
        for line in differences[:SHOWN]:
            print(f"           {line[:400]}")
        if len(differences) > SHOWN:
            print(f"           and {len(differences) - SHOWN} more")


def start(workspace: Path, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """The program, in a process group of its own."""
    argv = [*prefix, *PROGRAM, *arguments, "--workspace", str(workspace), "--json", "-q"]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "HOME": str(workspace.parent)}
    with (workspace.parent / "out").open("wb") as out, (workspace.parent / "errors").open("ab") as errors:
        return subprocess.Popen(argv, env=environment, stdout=out, stderr=errors, start_new_session=True)


def finish(process: subprocess.Popen[bytes], workspace: Path, *, statuses: tuple[int, ...] = (0,)) -> Any:
    """What the program printed. Ends this one when the program ended otherwise than it should."""
    status = process.wait()
    if status not in statuses:
        errors = (workspace.parent / "errors").read_text(errors="replace")
        sys.exit(f"{process.args} ended with {status}: {errors[-2000:]}")
    return json.loads((workspace.parent / "out").read_bytes())


def crawl_arguments(seed: str, pages: int) -> tuple[str, ...]:
    origin = "/".join(seed.split("/")[:3])
    return (
        "crawl", seed, "--allow-origin", origin, "--max-pages", str(pages), "--max-depth", "50", "--delay", "0",
        "--concurrency", "8",
    )  # fmt: skip


def crawl_whole(workspace: Path, seed: str, pages: int) -> Run:
    started = time.monotonic()
    manifest = finish(start(workspace, *crawl_arguments(seed, pages)), workspace)
    return Run(workspace=workspace, manifest=manifest, seconds=time.monotonic() - started)


def crawl_killed(workspace: Path, seed: str, pages: int, chance: random.Random, judge: Judge) -> Run:
    """A crawl whose first two sittings are killed."""
    started = time.monotonic()
    origin = "/".join(seed.split("/")[:3])
    resume = ("crawl", "--resume", "@last", "--allow-origin", origin)
    arguments = crawl_arguments(seed, pages)
    for first, last in ((pages // 20, pages // 2), (pages // 2, pages - pages // 20)):
        moment = chance.randint(first, last)
        process = start(workspace, *arguments)
        wait_for_pages(process, workspace, moment)
        time.sleep(chance.random() / 4)
        os.killpg(process.pid, signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            sys.exit("the crawl ended before it was killed: more --pages leave more time")
        judge.check("a process group killed", wait_for_orphans(), f"{count_pages(workspace)} pages had ended")
        arguments = resume
    manifest = finish(start(workspace, *arguments), workspace)
    return Run(workspace=workspace, manifest=manifest, seconds=time.monotonic() - started)


def count_pages(workspace: Path) -> int:
    """Pages in the journal of the run that lasts."""
    journals = list((workspace / "private/state/runs").glob("*.pages.jsonl"))
    return journals[0].read_bytes().count(b"\n") if journals else 0


def wait_for_pages(process: subprocess.Popen[bytes], workspace: Path, count: int) -> None:
    while count_pages(workspace) < count:
        if process.poll() is not None:
            sys.exit(f"the crawl ended with {process.returncode} before {count} pages had ended")
        time.sleep(0.02)


def wait_for_orphans() -> list[str]:
    """Processes that outlived their launcher: guests have to end by themselves, and are then reaped here."""
    until = time.monotonic() + SECONDS_TO_DIE
    while time.monotonic() < until:
        left = [child for child in children() if not reap(child)]
        if not left:
            return []
        time.sleep(0.05)
    return [f"process {child} lives" for child in left]


def children() -> list[int]:
    """Children of this process but for the server."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [int(child) for child in found if int(child) not in SERVERS]


def reap(child: int) -> bool:
    return os.waitpid(child, os.WNOHANG)[0] == child


SERVERS: set[int] = set()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The origin at which a folder is served, until the end of the block."""
    server = subprocess.Popen(
        [sys.executable, str(SITE / "serve_folder.py"), str(folder)], stdout=subprocess.PIPE, text=True
    )
    SERVERS.add(server.pid)
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.terminate()
        server.wait()


def neutral(value: Any) -> Any:
    """A record without what names its run or its moment."""
    if isinstance(value, dict):
        return {key: neutral(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [neutral(each) for each in value]
    return MOMENT.sub("", value) if isinstance(value, str) else value


def compare(name: str, one: Any, other: Any) -> list[str]:
    """What differs between two values, as lines."""
    one, other = neutral(one), neutral(other)
    if one == other:
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(one.keys() | other.keys())
        return [line for key in keys for line in compare(f"{name} {key}", one.get(key), other.get(key))]
    return [f"{name}: {one!r} … {other!r}"]


def compare_rows(name: str, one: list[Any], other: list[Any]) -> list[str]:
    rows = enumerate(zip_longest(one, other), start=1)
    return [line for number, (a, b) in rows for line in compare(f"{name} {number}", a, b)]


def read_folder(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def compare_files(one: Path, other: Path) -> list[str]:
    first, second = read_folder(one), read_folder(other)
    names = sorted(first.keys() | second.keys())
    return [f"{name}" for name in names if first.get(name) != second.get(name)]


def compare_records(one: Path, other: Path) -> list[str]:
    first, second = read_folder(one), read_folder(other)
    names = sorted(first.keys() | second.keys())
    return [
        line
        for name in names
        for line in compare(name, json.loads(first.get(name, b"{}")), json.loads(second.get(name, b"{}")))
    ]


def compare_runs(whole: Run, killed: Run, judge: Judge) -> None:
    """Every claim about what lies in both workspaces."""
    one, other = dict(whole.manifest), dict(killed.manifest)
    pages = (one.pop("pages"), other.pop("pages"))
    warnings = (one.pop("warnings"), other.pop("warnings"))
    read = [manifest["totals"].pop("bytes") for manifest in (one, other)]
    one.pop("run_id"), other.pop("run_id")
    judge.check("rows", compare_rows("page", *pages), f"{len(pages[0])} pages")
    judge.check("warnings", compare_rows("warning", *warnings), tell_codes(warnings[0]))
    judge.check("state, options and totals", compare("run", one, other), f"{one['state']}, {one['totals']}")
    print(f"{'':8} bytes read: {read[0]}, and {read[1]} where robots.txt was asked for three times")
    files = len(list((whole.folder / "pages").iterdir()))
    judge.check("pages/", compare_files(whole.folder / "pages", killed.folder / "pages"), f"{files} files")
    records = compare_records(whole.folder / "metadata", killed.folder / "metadata")
    judge.check("records", records, f"{len(list((whole.folder / 'metadata').iterdir()))} files")
    left = [
        str(path)
        for part in ("frontier", "state/runs")
        for path in (killed.workspace / "private" / part).iterdir()
    ]
    judge.check("nothing of the sittings is left", left)


def tell_codes(warnings: list[dict[str, Any]]) -> str:
    return ", ".join(f"{count} {code}" for code, count in Counter(each["code"] for each in warnings).items())


def cut_off() -> tuple[str, ...]:
    """What starts a program in a network namespace of its own, with no device in it that is up."""
    prefix = ("unshare", "-n") if os.geteuid() == 0 else ("unshare", "-r", "-n")
    probe = "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run([*prefix, sys.executable, "-c", probe], capture_output=True, check=False)
    if b"Network is unreachable" not in done.stderr:
        sys.exit(f"no network namespace can be had here: {done.stderr.decode()[-300:]}")
    return prefix


def check_replay(name: str, run: Run, whole: Run, judge: Judge) -> None:
    """That a replay is equal to its run, and to the crawl that was left alone."""
    started = time.monotonic()
    prefix = cut_off()
    run_id = run.manifest["run_id"]
    told = finish(start(run.workspace, "replay", run_id, prefix=prefix), run.workspace, statuses=(0, 3))
    seconds = time.monotonic() - started
    differences = [json.dumps(each) for each in told["differences"]]
    differences += [f"page {number} is missing" for number in told["missing"]]
    differences += [json.dumps(each) for each in told["unreadable"]]
    if not told["is_equal"] and not differences:
        differences = ["not equal, and nothing said how"]
    pages = told["manifest"]["totals"]["attempted"]
    judge.check(f"the {name} run replays equal", differences, f"{pages} pages in {seconds:.1f} s")
    differences = compare_rows("page", whole.manifest["pages"], told["manifest"]["pages"])
    differences += compare_rows("warning", whole.manifest["warnings"], told["manifest"]["warnings"])
    judge.check(f"{name}: its replay is the crawl that was left alone", differences)


def check_proof(run: Run, judge: Judge) -> None:
    arguments = ("verify", run.manifest["run_id"])
    told = finish(start(run.workspace, *arguments, prefix=cut_off()), run.workspace, statuses=(0, 3))
    differences = [json.dumps(each) for part in ("pages", "order") for each in told[part]]
    if told["order_skipped"]:
        differences.append(f"its order was not checked: {told['order_skipped']}")
    if not told["holds"] and not differences:
        differences = ["does not hold, and nothing said why"]
    judge.check("the resumed run verifies", differences, f"{told['checked']} pages, and their order")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--chance", type=int, default=4, help="seed of the moments at which it is killed")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seed", default=POSTGRESQL.seed)
    parser.add_argument("--keep", type=Path, help="an empty folder for both workspaces, left as they are")
    arguments = parser.parse_args()
    adopt_orphans()
    folder = arguments.folder or prepare_corpus(POSTGRESQL)
    room = arguments.keep or Path(tempfile.mkdtemp(prefix="killed-crawl-"))
    judge = Judge()
    try:
        workspaces = [room / name / "workspace" for name in ("whole", "killed")]
        for workspace in workspaces:
            workspace.parent.mkdir(parents=True)
        with served(folder) as origin:
            seed = f"{origin}{arguments.seed}"
            whole = crawl_whole(workspaces[0], seed, arguments.pages)
            chance = random.Random(arguments.chance)
            killed = crawl_killed(workspaces[1], seed, arguments.pages, chance, judge)
        print(f"{'':8} crawled in {whole.seconds:.1f} s, and in {killed.seconds:.1f} s with two kills")
        attempted = [run.manifest["totals"]["attempted"] for run in (whole, killed)]
        missed = [f"{count} pages" for count in attempted if count != arguments.pages]
        judge.check(f"{arguments.pages} pages were crawled", missed)
        compare_runs(whole, killed, judge)
        check_replay("whole", whole, whole, judge)
        check_replay("resumed", killed, whole, judge)
        check_proof(killed, judge)
    finally:
        if arguments.keep is None:
            shutil.rmtree(room)
    sys.exit(0 if judge.has_held else 1)


if __name__ == "__main__":
    main()
