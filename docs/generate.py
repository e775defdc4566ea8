"""Writes the pages of the reference that follow from the code; `--check` only tells whether they do."""  # noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from pathlib import Path

from commands_page import render_commands
from modules_page import render_modules
from settings_page import render_example, render_settings

from mudroom.errors import CODES, Code

PAGES = Path(__file__).parent

CODES_HEAD = """\
# Codes

<!-- Written by docs/generate.py from src/mudroom/errors; do not edit. -->

Every failure has a code. A code is stable: it is never renamed and never gets another meaning. Its class
(`reason` in JSON) groups it with its kind; `retryable` says whether the same request can succeed later
without a change.
"""


def render_codes() -> str:
    """The page of codes: one table a class, in the order of the code."""
    reasons = list(dict.fromkeys(facts.reason for facts in CODES.values()))
    ordered = sorted(Code, key=lambda code: reasons.index(CODES[code].reason))
    parts = [CODES_HEAD]
    for reason, codes in groupby(ordered, key=lambda code: CODES[code].reason):
        rows = "".join(
            f"| `{code}` | {'yes' if CODES[code].retryable else 'no'} | {CODES[code].advice} |\n"
            for code in codes
        )
        parts.append(f"## {reason}\n\n| Code | Retryable | What to do |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


GENERATED = {
    "reference/codes.md": render_codes,
    "reference/commands.md": render_commands,
    "reference/modules.md": render_modules,
    "reference/settings.md": render_settings,
    "../mudroom.example.toml": render_example,
}


def main() -> int:
    """Write every generated page, or name those that are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is out of date")
    is_check = parser.parse_args().check
    stale = []
    for name, render in GENERATED.items():
        page, text = PAGES / name, render()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not is_check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")
    if is_check and stale:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run python docs/generate.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
