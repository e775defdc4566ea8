"""What records have to hold before anything of them is believed: whoever edits one meets this first.

Records are files of a workspace. What reads them again trusts no value to be there or to be of its type, and
says SNAPSHOT_CORRUPT once, here, in place of failing wherever such a value is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from mudroom.errors import Code, Reason, StoreFailed
from mudroom.model import CrawlState, Decision, Initiator, OutcomeKind, RobotsState, RunKind

__all__ = ["check_finding", "check_manifest", "check_metadata", "check_source"]

Check = Callable[[Any], bool]

_MAX_TEXT = 256 * 1024
_MAX_NUMBER = 1 << 53
_LATER = frozenset({"exposed_sha256", "rescreened", "revalidated_at", "stopped_at", "title", "wire_bytes"})
"""Fields that the first versions did not write, and the one that only stored documents have."""
_HOP = ("url", "address", "status", "protocol", "exception")


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Nothing, when this is a manifest, rows and all. Raises StoreFailed SNAPSHOT_CORRUPT."""
    _check(manifest, _MANIFEST, "manifest")
    for row in manifest["pages"]:
        _check(row, _ROW, "manifest")
    for warning in manifest["warnings"]:
        _check(warning, _WARNING, "manifest")


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Nothing, when this is the metadata of a page. Raises StoreFailed SNAPSHOT_CORRUPT."""
    _check(metadata, _METADATA, "metadata")


def check_source(source: Mapping[str, Any]) -> None:
    """Nothing, when this is an entry of sources.json. Raises StoreFailed SNAPSHOT_CORRUPT."""
    _check(source, _SOURCE, "record of sources")


def check_finding(entry: Mapping[str, Any]) -> None:
    """Nothing, when this is a page's entry of findings.json. Raises StoreFailed SNAPSHOT_CORRUPT."""
    _check(entry, _FOUND, "record of findings")


def _check(record: Any, shape: Mapping[str, Check], what: str) -> None:
    if isinstance(record, Mapping):
        wrong = next((name for name, is_right in shape.items() if not _holds(record, name, is_right)), None)
        if wrong is None:
            return
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"a run's {what} is damaged: {wrong} is not what it must be")
    raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"a run's {what} is damaged")


def _holds(record: Mapping[str, Any], name: str, is_right: Check) -> bool:
    return is_right(record[name]) if name in record else name in _LATER


def _is_text(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return False
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_moment(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _word(kind: type[StrEnum]) -> Check:
    words = frozenset(member.value for member in kind)
    return lambda value: isinstance(value, str) and value in words


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _map_of(check: Check) -> Check:
    return lambda value: (
        isinstance(value, dict) and all(_is_text(key) and check(entry) for key, entry in value.items())
    )


def _is_hop(value: Any) -> bool:
    if not isinstance(value, dict) or tuple(value) != _HOP:
        return False
    texts = (value["url"], value["address"], value["protocol"])
    return all(map(_is_text, texts)) and _is_whole(value["status"]) and _or_none(_is_text)(value["exception"])


def _is_entry(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_or_none(_is_text)(entry) for entry in value.values())
        and "id" in value
    )


def _none_of(names: Iterable[str], check: Check) -> dict[str, Check]:
    return dict.fromkeys(names, _or_none(check))


_ROW: Mapping[str, Check] = {
    "n": lambda value: _is_whole(value) and value > 0,
    "url": _is_text,
    "depth": _is_whole,
    "http_status": _or_none(_is_whole),
    "outcome": _word(OutcomeKind),
    "decision": _or_none(_word(Decision)),
    "code": _or_none(_word(Code)),
    "reason": _or_none(_word(Reason)),
    "retryable": _is_flag,
    "bytes": _is_whole,
    "rendered": _is_flag,
    "warnings": _list_of(_is_text),
    **_none_of(("final_url", "path", "source_ref", "sha256"), _is_text),
}
_METADATA: Mapping[str, Check] = {
    **_ROW,
    "document_id": _is_text,
    "initiator": _or_none(_word(Initiator)),
    "robots": _word(RobotsState),
    "hops": _list_of(_is_hop),
    "finding_ids": _list_of(_is_text),
    "versions": _map_of(_is_text),
    "exposed_sha256": _or_none(_map_of(_is_text)),
    "wire_bytes": _or_none(_is_whole),
    "rescreened": _or_none(lambda value: isinstance(value, list)),
    **_none_of(("retrieved_at", "revalidated_at"), _is_moment),
    **_none_of(("message", "content_type", "isolation", "markdown_sha256", "stopped_at", "title"), _is_text),
}
_WARNING: Mapping[str, Check] = {"code": _is_text, "url": _or_none(_is_text), "message": _is_text}
_MANIFEST: Mapping[str, Check] = {
    "run_id": _is_text,
    "kind": _word(RunKind),
    "state": _word(CrawlState),
    "root_url": _is_text,
    "options": lambda value: isinstance(value, dict),
    "started_at": _is_moment,
    "finished_at": _or_none(_is_moment),
    "versions": _map_of(_is_text),
    "totals": _map_of(_is_whole),
    "pages": lambda value: isinstance(value, list),
    "warnings": lambda value: isinstance(value, list),
}
_SOURCE: Mapping[str, Check] = {
    "kind": _is_text,
    "url": _is_text,
    "http_status": _or_none(_is_whole),
    "code": _or_none(_word(Code)),
    "hops": _list_of(_is_hop),
    "wire_bytes": _is_whole,
    "retrieved_at": _or_none(_is_moment),
    **_none_of(("final_url", "source_ref", "message"), _is_text),
}
_FOUND: Mapping[str, Check] = {"n": _is_whole, "findings": _list_of(_is_entry)}
