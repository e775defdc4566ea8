"""What became of the sample site: compared with what is expected, and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mudroom.cli.console import VERDICT_STYLES, Voice, print_block, print_table
from mudroom.cli.verdict import tell_failure
from mudroom.errors import Code
from mudroom.intake import Blocked, Failed, Outcome, describe_outcome
from mudroom.model import CrawlState, OutcomeKind
from mudroom.testing.sample_site import NEVER_REQUESTED, SAMPLE_EXPECTATIONS, SAMPLE_FILE, Expectation

__all__ = ["DemoResult", "describe_demo", "show_demo"]

_CUT = frozenset({"taken in", "kept out", "what it is"})
"""Columns that a narrow terminal may cut."""
_STYLES = {**VERDICT_STYLES, "no findings": "green"}
_MAX_DIFFERENCES = 12
_EXAMPLE = "/articles/reading-the-tide.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """Everything that came of a demo."""

    origin: str
    workspace: Path
    manifest: Mapping[str, Any]
    invoice: Outcome
    versions: Mapping[str, str]
    requested: frozenset[str]
    """Paths that the site was asked for."""

    @property
    def run_folder(self) -> Path:
        """Where the pages lie."""
        return self.workspace / "runs" / str(self.manifest["run_id"])

    @property
    def pages(self) -> Sequence[Mapping[str, Any]]:
        """The pages of the manifest, in their order."""
        pages: Sequence[Mapping[str, Any]] = self.manifest["pages"]
        return pages

    def path_of(self, page: Mapping[str, Any]) -> str:
        """The path of a page, which names it within the site."""
        return str(page["url"]).removeprefix(self.origin)

    @property
    def is_cancelled(self) -> bool:
        """Whether a person ended it before every page was met."""
        return bool(self.manifest["state"] == CrawlState.CANCELLED)

    @property
    def differences(self) -> tuple[str, ...]:
        """What did not become of the site as it should, one sentence each."""
        return tuple(_compare(self))


def _compare(result: DemoResult) -> Iterator[str]:
    seen = {result.path_of(page): page for page in result.pages}
    for path, expected in SAMPLE_EXPECTATIONS.items():
        page = seen.get(path)
        if result.is_cancelled and (page is None or page["code"] == Code.CANCELLED):
            continue  # it was not come to
        if page is None:
            yield f"{path} was not met; expected {_name(expected)}"
        elif not _fits(page, expected):
            yield (
                f"{path} is {page['outcome']} {page['code'] or ''}".rstrip() + f"; expected {_name(expected)}"
            )
    for path in NEVER_REQUESTED:
        if path in result.requested:
            yield f"{path} was requested; expected that it never is"
    if not isinstance(result.invoice, Blocked) or result.invoice.code is not Code.PROMPT_INJECTION:
        yield f"{SAMPLE_FILE.name} is {result.invoice.kind}; expected BLOCKED PROMPT_INJECTION"


def _fits(page: Mapping[str, Any], expected: Expectation) -> bool:
    is_code_right = page["code"] in {code.value for code in expected.codes} if expected.codes else True
    return page["outcome"] == expected.outcome.value and is_code_right


def _name(expected: Expectation) -> str:
    codes = " or ".join(sorted(code.value for code in expected.codes))
    return f"{expected.outcome.value} {codes}".rstrip()


def describe_demo(result: DemoResult) -> dict[str, object]:
    """The result as one JSON object."""
    return {
        "workspace": str(result.workspace),
        "manifest": result.manifest,
        "file": describe_outcome(result.invoice, result.versions),
        "differences": list(result.differences),
    }


def show_demo(result: DemoResult, voice: Voice) -> None:
    """Two tables on stdout, what was let in and what was not; the rest in words on stderr."""
    _show_accepted(result)
    print_block("")
    _show_withheld(result)
    voice.print("", "")
    _say_where(result, voice)
    if isinstance(result.invoice, Failed):
        tell_failure(SAMPLE_FILE.name, result.invoice.code, result.invoice.message, voice)
    differences = result.differences
    for difference in differences[:_MAX_DIFFERENCES]:
        voice.insist("DIFFERENT", difference)
    if len(differences) > _MAX_DIFFERENCES:
        voice.insist("", f"and {len(differences) - _MAX_DIFFERENCES} more")
    if result.is_cancelled:
        voice.say("cancelled", "before every page was met; what was taken in stays")
    elif not differences:
        voice.say("expected", _sum_up(result))
    voice.say("try", "mudroom open https://example.org/")


def _sum_up(result: DemoResult) -> str:
    """How many verdicts were compared, and why there are more rows."""
    compared = len(SAMPLE_EXPECTATIONS)
    more = len(result.pages) - compared
    words = f"all {compared} pages and the file ended as they should"
    return f"{words}; {more} more of the calendar without end" if more > 0 else words


def _show_accepted(result: DemoResult) -> None:
    rows = [
        (
            result.path_of(page),
            _verdict(page),
            _why(result.path_of(page)) or "one of many more",
            f"{str(page['path']).partition('-')[0]}-*",
            _shorten_reference(page),
        )
        for page in result.pages
        if page["outcome"] == OutcomeKind.STORED
    ]
    print_table(("taken in", "verdict", "what it is", "where it lies", "cite"), rows, _STYLES, cut=_CUT)


def _show_withheld(result: DemoResult) -> None:
    rows = [
        (
            result.path_of(page),
            page["outcome"],
            page["code"] or "",
            _why(result.path_of(page)),
        )
        for page in result.pages
        if page["outcome"] != OutcomeKind.STORED
    ]
    invoice = result.invoice
    code = invoice.code.value if isinstance(invoice, Blocked | Failed) else ""
    rows.append((SAMPLE_FILE.name, invoice.kind.value, code, "a file: words its style hides"))
    print_table(("kept out", "outcome", "reason", "what it is"), rows, _STYLES, cut=_CUT)


def _shorten_reference(page: Mapping[str, Any]) -> str:
    """How the record in a source_ref begins; the whole is one line of the page's metadata."""
    return str(page["source_ref"]).rpartition("record=")[2][:7] if page["source_ref"] else ""


def _say_where(result: DemoResult, voice: Voice) -> None:
    totals = result.manifest["totals"]
    voice.say(
        "crawl",
        f"{result.manifest['state']}: {totals['stored']} stored, {totals['blocked']} blocked, "
        f"{totals['failed']} failed; then one file, {result.invoice.kind.value.lower()}; "
        f"held by isolation {_isolation(result)}",
    )
    voice.say("kept", f"{result.run_folder}/")
    example = next((page for page in result.pages if result.path_of(page) == _EXAMPLE), None)
    if example is not None and example["source_ref"]:
        voice.say("read", f"{result.run_folder / example['path']}")
        voice.say("cite", f"{example['source_ref']}")
        voice.say("", "the source_ref of each page stands in its file under metadata/")


def _isolation(result: DemoResult) -> str:
    level = result.invoice.facts.isolation
    return level.value if level else "unknown"


def _verdict(page: Mapping[str, Any]) -> str:
    """People read what was looked for, not that the page is safe."""
    return "no findings" if page["decision"] == "SAFE" else str(page["decision"])


def _why(path: str) -> str:
    expected = SAMPLE_EXPECTATIONS.get(path)
    return expected.why if expected else ""
