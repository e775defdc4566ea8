"""What differs between then and now, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mudroom.cli.console import Voice
from mudroom.cli.inert import shorten
from mudroom.replay import Difference, PageProof

__all__ = [
    "describe_difference",
    "describe_proof",
    "describe_versions",
    "tell_differences",
    "tell_proof",
    "tell_versions",
]

_MAX_TOLD = 20
_MAX_VALUE = 120

Versions = Mapping[str, tuple[str | None, str | None]]


def describe_difference(difference: Difference) -> dict[str, Any]:
    """A field that differs as one JSON object."""
    return {
        "n": difference.number,
        "field": difference.field,
        "recorded": difference.recorded,
        "now": difference.replayed,
    }


def describe_versions(versions: Versions) -> dict[str, Any]:
    """What is of another version now, as one JSON object."""
    return {part: {"recorded": then, "now": now} for part, (then, now) in versions.items()}


def describe_proof(proof: PageProof) -> dict[str, Any]:
    """A page that was checked as one JSON object."""
    return {
        "run_id": proof.run_id,
        "n": proof.number,
        "url": proof.url,
        "source_ref": proof.source_ref,
        "holds": proof.holds,
        "stage": proof.stage.value if proof.stage else None,
        "code": proof.code.value if proof.code else None,
        "message": proof.message or None,
        "is_other_version": proof.is_other_version,
        "versions": describe_versions(proof.versions),
    }


def tell_differences(differences: Sequence[Difference], voice: Voice) -> None:
    """The first of them, one line each; all of them when verbose."""
    shown = differences if voice.is_verbose else differences[:_MAX_TOLD]
    for each in shown:
        where = f"page {each.number}  " if each.number is not None else ""
        voice.say("differs", f"{where}{each.field}: {_show(each.recorded)}, now {_show(each.replayed)}")
    if len(shown) < len(differences):
        voice.say("", f"and {len(differences) - len(shown)} more; all of them with --json or --verbose")


def tell_versions(versions: Versions, voice: Voice) -> None:
    """What is of another version now: a difference behind it is no sign of tampering."""
    for part, (then, now) in versions.items():
        voice.say("version", f"{part} was {_show_version(then)}, and is {_show_version(now)}")


def tell_proof(proof: PageProof, voice: Voice) -> None:
    """A page that does not hold: the first stage that differs, and how."""
    label = "VERSION" if proof.is_other_version else "DIFFERS"
    voice.insist(label, f"page {proof.number} of {proof.run_id} at {proof.stage}: {proof.message}")
    if proof.is_other_version:
        told = ", ".join(_list_versions(proof.versions))
        voice.say("because", f"it was read by another version ({told}), which may read it otherwise")


def _list_versions(versions: Versions) -> Iterable[str]:
    return (
        f"{part} {_show_version(then)}, now {_show_version(now)}" for part, (then, now) in versions.items()
    )


def _show_version(version: str | None) -> str:
    return shorten(version, 16) if version else "unknown"


def _show(value: Any) -> str:
    return shorten(value if isinstance(value, str) else json.dumps(value), _MAX_VALUE)
