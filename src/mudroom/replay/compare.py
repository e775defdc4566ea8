"""Two runs of one crawl, field by field: what differs, and where.

Not compared: run id, times and durations, and what tells that one of them is a replay (decision 7). Warnings
are compared as a set, since those of different hosts come in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["REPLAY_OPTION", "Difference", "compare_manifests", "compare_versions"]

REPLAY_OPTION = "replay_of"
"""The option of a replay under which the run stands that it replays."""

_COMPARED = ("kind", "state", "root_url")
_MAX_TOLD = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not the same twice."""

    field: str
    recorded: Any
    replayed: Any
    number: int | None = None
    """The page; None for what belongs to the run."""


def compare_manifests(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differs; at most a thousand fields are told."""
    differences: list[Difference] = []
    for difference in _compare(recorded, replayed):
        if len(differences) == _MAX_TOLD:
            break
        differences.append(difference)
    return tuple(differences)


def compare_versions(
    recorded: Mapping[str, Any], current: Mapping[str, Any]
) -> Mapping[str, tuple[str | None, str | None]]:
    """The versions that are others now: part to the version then and now."""
    return {
        part: (recorded.get(part), current.get(part))
        for part in sorted({*recorded, *current})
        if recorded.get(part) != current.get(part)
    }


def _compare(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> Iterator[Difference]:
    for name in _COMPARED:
        yield from _compare_field(name, recorded[name], replayed[name])
    yield from _compare_mappings(
        "options", _drop_replay(recorded["options"]), _drop_replay(replayed["options"])
    )
    yield from _compare_mappings("totals", recorded["totals"], replayed["totals"])
    yield from _compare_pages(recorded["pages"], replayed["pages"])
    yield from _compare_warnings(recorded["warnings"], replayed["warnings"])


def _compare_pages(
    recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]
) -> Iterator[Difference]:
    before = {row["n"]: row for row in recorded}
    after = {row["n"]: row for row in replayed}
    for number in sorted({*before, *after}):
        if number not in after or number not in before:
            yield Difference(field="page", recorded=number in before, replayed=number in after, number=number)
            continue
        yield from _compare_mappings("", before[number], after[number], number)


def _compare_warnings(
    recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]
) -> Iterator[Difference]:
    left = [dict(warning) for warning in replayed]
    for warning in recorded:
        if dict(warning) in left:
            left.remove(dict(warning))
        else:
            yield Difference(field="warning", recorded=dict(warning), replayed=None)
    for extra in left:
        yield Difference(field="warning", recorded=None, replayed=extra)


def _compare_mappings(
    name: str, recorded: Mapping[str, Any], replayed: Mapping[str, Any], number: int | None = None
) -> Iterator[Difference]:
    for key in sorted({*recorded, *replayed}):
        field = f"{name}.{key}" if name else key
        yield from _compare_field(field, recorded.get(key), replayed.get(key), number)


def _compare_field(
    field: str, recorded: Any, replayed: Any, number: int | None = None
) -> Iterator[Difference]:
    if recorded != replayed:
        yield Difference(field=field, recorded=recorded, replayed=replayed, number=number)


def _drop_replay(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in options.items() if key != REPLAY_OPTION}
