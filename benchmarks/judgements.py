"""How many URLs and addresses does the guard judge in a second, against the bare parsers under it?

Prints ratios: the judgement of a URL against a bare ada parse of the same text and against what the
standard library would do (urllib.parse and ipaddress), and the judgement of an address against a bare
`ipaddress.ip_address`. The peers decide nothing; the ratio is what deciding costs.

Run: PYTHONPATH=src python benchmarks/judgements.py [rounds]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

import ada_url

from mudroom.address import EgressPolicy, ExceptionScope, judge_address, judge_url, parse_url

POLICY = EgressPolicy()
SCOPE = ExceptionScope.none()
BASE_URL = "https://www.example.org/library/guide/start.html?lang=en"
BASE = parse_url(BASE_URL)

# More inputs than urlsplit keeps in its cache (128), so that it really parses.
NAMED = [
    f"https://host{n}.example.org/library/{n}/page.html?chapter={n}&part=2#section-{n}" for n in range(200)
]
LITERAL = [f"http://93.184.{n}.14/library/{n}" for n in range(200)]
RELATIVE = [f"../chapter{n}/page.html?part={n}#section" for n in range(200)]
ADDRESSES = [f"93.184.{n}.14" for n in range(100)] + [f"2606:4700::{n:x}" for n in range(100)]


def rate(work: Callable[[str], object], inputs: Sequence[str], rounds: int) -> float:
    """Inputs per second of CPU, the best of three."""
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        for _ in range(rounds):
            for text in inputs:
                work(text)
        best = max(best, rounds * len(inputs) / (time.process_time() - start))
    return best


def parse_with_stdlib(text: str) -> object:
    """What a guard on the standard library parses; it decides nothing."""
    parts = urlsplit(text)
    host = parts.hostname or ""
    if host.replace(".", "").isdigit():
        return ip_address(host), parts.port
    return host, parts.port


def main() -> None:
    """Measure each pair in this one run and print the ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rows: list[tuple[str, float, str, float]] = []
    for name, inputs in (("names", NAMED), ("literals", LITERAL)):
        ours = rate(lambda text: judge_url(text, POLICY, SCOPE), inputs, rounds)
        rows.append((f"URL, {name}", ours, "ada", rate(ada_url.normalize_url, inputs, rounds)))
        rows.append((f"URL, {name}", ours, "urllib + ipaddress", rate(parse_with_stdlib, inputs, rounds)))
    ours = rate(lambda text: judge_url(text, POLICY, SCOPE, base=BASE), RELATIVE, rounds)
    rows.append(
        ("URL, relative", ours, "ada", rate(lambda text: ada_url.join_url(BASE_URL, text), RELATIVE, rounds))
    )
    stdlib = rate(lambda text: parse_with_stdlib(urljoin(BASE_URL, text)), RELATIVE, rounds)
    rows.append(("URL, relative", ours, "urllib + ipaddress", stdlib))
    ours = rate(lambda text: judge_address(ip_address(text), POLICY, SCOPE), ADDRESSES, rounds)
    rows.append(("address", ours, "ip_address", rate(ip_address, ADDRESSES, rounds)))

    print(f"{'judged':<16} {'per second':>12}   {'against':<20} {'per second':>12}   {'cost':>6}")
    for what, own, peer, other in rows:
        print(f"{what:<16} {own:>12,.0f}   {peer:<20} {other:>12,.0f}   {other / own:>5.2f}x")


if __name__ == "__main__":
    main()
