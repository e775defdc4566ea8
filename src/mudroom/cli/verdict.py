"""An outcome told to a person, on stderr; the Markdown alone goes to stdout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mudroom.cli.console import Voice
from mudroom.cli.exits import ExitStatus
from mudroom.errors import CODES, Code
from mudroom.intake import Blocked, Failed, Outcome, Quarantined, Stored
from mudroom.model import Decision, Finding, Hiding, WarningCode

__all__ = [
    "REFUSALS",
    "describe_decision",
    "describe_size",
    "judge_outcomes",
    "tell_failure",
    "tell_outcome",
]

REFUSALS = frozenset(
    {
        Code.INVALID_URL,
        Code.INVALID_SCHEME,
        Code.CREDENTIALS,
        Code.INVALID_HOST,
        Code.DENIED_HOST,
        Code.INVALID_PORT,
        Code.DENIED_ADDRESS,
        Code.ROBOTS_DENIED,
    }
)
"""Codes by which a URL that was asked for is refused: a verdict, where other failures are none."""

_NOTHING_FOUND = "no findings (known patterns only)"
_MAX_SHOWN = 12
_WARNINGS = {WarningCode.EMPTY_BODY: "EMPTY_BODY  what came holds no bytes, so there is nothing to read"}
_HIDINGS = {
    Hiding.NONE: "",
    Hiding.DISPLAY_NONE: "text hidden by display:none",
    Hiding.VISIBILITY_HIDDEN: "text hidden by visibility:hidden",
    Hiding.OPACITY: "text hidden by opacity",
    Hiding.FONT_SIZE: "text hidden by font-size",
    Hiding.OFF_SCREEN: "text placed off screen",
    Hiding.CLIPPED: "text clipped away",
    Hiding.ZERO_SIZE: "text in a box without size",
    Hiding.COLOUR: "text in the colour of its background",
    Hiding.HIDDEN_ATTRIBUTE: "text hidden by an attribute",
    Hiding.ARIA_HIDDEN: "text hidden from assistive technology",
    Hiding.INERT: "inert text",
    Hiding.NOT_RENDERED: "not shown to a reader",
    Hiding.CLOSED_DETAILS: "in a closed part",
}


def judge_outcomes(outcomes: Iterable[Outcome]) -> ExitStatus:
    """The status of several: a negative verdict outweighs a failure, a failure outweighs success."""
    worst = ExitStatus.DONE
    for outcome in outcomes:
        match outcome:
            case Blocked() | Quarantined():
                return ExitStatus.NEGATIVE
            case Failed() if outcome.code in REFUSALS:
                return ExitStatus.NEGATIVE
            case Failed():
                worst = ExitStatus.FAILED
            case Stored():
                pass
    return worst


def tell_outcome(outcome: Outcome, voice: Voice, workspace: Path) -> None:
    """Where it came from, what was decided and why, where it lies, what to do next."""
    match outcome:
        case Stored():
            _tell_stored(outcome, voice, workspace)
        case Quarantined():
            _tell_withheld("QUARANTINED", "a warning; policy keeps it apart for a person", outcome, voice)
            voice.say("look", _place(outcome, workspace))
        case Blocked():
            _tell_withheld("BLOCKED", outcome.code.value, outcome, voice)
            if outcome.findings:
                voice.say("withheld", "nothing was printed or given to agents")
            else:
                voice.say("because", outcome.message)
                voice.say("help", CODES[outcome.code].advice)
            _tell_record(outcome, voice, workspace)
        case Failed():
            status = outcome.facts.http_status if outcome.code is Code.HTTP_STATUS else None
            tell_failure(outcome.facts.requested_url, outcome.code, outcome.message, voice, status)
            if outcome.facts.source_ref is not None:
                voice.say("cite", outcome.facts.source_ref)


def tell_failure(name: str, code: Code, message: str, voice: Voice, http_status: int | None = None) -> None:
    """What could not be had, why, and what to do."""
    voice.insist("FAILED", f"{name}  {code.value}" + (f" {http_status}" if http_status else ""))
    voice.say("because", message)
    voice.say("help", CODES[code].advice)


def describe_decision(decision: Decision, findings: tuple[Finding, ...]) -> str:
    """The verdict as people read it: what was looked for, not that there is nothing."""
    if decision is Decision.SAFE:
        low = len({finding.id for finding in findings})
        return _NOTHING_FOUND if not low else f"nothing above LOW ({low} recorded; known patterns only)"
    return f"{decision.value}: " + ", ".join(sorted({finding.id for finding in findings}))


def describe_size(size_bytes: int) -> str:
    """A size as people read it."""
    if size_bytes < 1000:  # noqa: PLR2004 - below a kilobyte bytes are exact
        return f"{size_bytes} B"
    return f"{size_bytes / 1000:.0f} KB" if size_bytes < 1_000_000 else f"{size_bytes / 1_000_000:.1f} MB"  # noqa: PLR2004


def _tell_stored(outcome: Stored, voice: Voice, workspace: Path) -> None:
    facts = outcome.facts
    if facts.hops:
        last = facts.hops[-1]
        where = last.url.split("/")[2]
        took = "" if facts.duration_seconds is None else f", {facts.duration_seconds:.1f} s"
        voice.say(
            "from",
            f"{where}, {last.address} pinned, {last.protocol} {last.status}, "
            f"{describe_size(facts.size_bytes)}{took}",
        )
        for hop in facts.hops[:-1] if voice.is_verbose else ():
            voice.say("hop", f"{hop.status} {hop.url} {f'at {hop.address}' if hop.address else 'made https'}")
    else:
        voice.say("from", f"{facts.requested_url}, {describe_size(facts.size_bytes)}")
    voice.say("verdict", describe_decision(outcome.decision, outcome.findings))
    for warning in facts.warnings:
        voice.say("warning", _WARNINGS.get(warning, warning.value))
    if facts.isolation is not None:
        voice.say("isolation", facts.isolation.value)
    voice.say("kept", _place(outcome, workspace))
    if facts.source_ref is not None:
        voice.say("cite", facts.source_ref)


def _tell_withheld(label: str, what: str, outcome: Blocked | Quarantined, voice: Voice) -> None:
    voice.insist(label, f"{outcome.facts.requested_url}  {what}")
    findings = sorted(outcome.findings, key=lambda finding: (-finding.severity, finding.id, finding.line))
    lines = dict.fromkeys(_describe_finding(finding) for finding in findings)
    for severity, text in list(lines)[:_MAX_SHOWN]:
        voice.say(f"  {severity:<8}", text)
    if len(lines) > _MAX_SHOWN:
        voice.say("", f"and {len(lines) - _MAX_SHOWN} more")


def _describe_finding(finding: Finding) -> tuple[str, str]:
    place = f"line {finding.line}" if finding.line else ""
    channel = finding.channel.name.lower().replace("_", " ")
    hiding = _HIDINGS[finding.hiding]
    decoded = "encoded" if finding.is_decoded else ""
    parts = [part for part in (place, channel, hiding, decoded) if part]
    return finding.severity.name, f"{finding.id:<12} {', '.join(parts)}"


def _tell_record(outcome: Outcome, voice: Voice, workspace: Path) -> None:
    number = outcome.facts.number
    record = workspace / "runs" / outcome.facts.run_id / "metadata" / f"{number:06d}.json"
    if record.exists():
        voice.say("look", str(record))


def _place(outcome: Outcome, workspace: Path) -> str:
    return str(workspace / "runs" / outcome.facts.run_id / (outcome.facts.path or ""))
