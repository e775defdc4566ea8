"""Names of runs: which ones exist, and which one a person means."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mudroom.errors import Code, NotFound

__all__ = ["is_run_id", "newest_first", "resolve_name", "run_not_found"]

_RUN_ID = re.compile(r"(?:open|crawl|file)_[0-7][0-9A-HJKMNP-TV-Z]{25}")
_LAST = "@last"


def is_run_id(name: str) -> bool:
    """Whether the name has the form of a run's id; no other is ever made a path."""
    return _RUN_ID.fullmatch(name) is not None


def newest_first(run_ids: Iterable[str]) -> list[str]:
    """Ids by the time in them, whatever their kind."""
    return sorted(run_ids, key=lambda run_id: run_id.partition("_")[2], reverse=True)


def resolve_name(untrusted_name: str, run_ids: Iterable[str]) -> str:
    """The one run that the name means: `@last`, an id, or a beginning that one id alone has.

    The name is compared with ids that exist and never used as a path. The part behind the kind will do.
    Raises: NotFound RUN_NOT_FOUND.
    """
    known = list(run_ids)
    if untrusted_name == _LAST and known:
        return newest_first(known)[0]
    if untrusted_name in known:
        return untrusted_name
    fitting = [
        run_id
        for run_id in known
        if run_id.startswith(untrusted_name) or run_id.partition("_")[2].startswith(untrusted_name.upper())
    ]
    if not untrusted_name or not fitting:
        raise run_not_found()
    if len(fitting) > 1:
        raise NotFound(Code.RUN_NOT_FOUND, f"{len(fitting)} runs have ids that begin so; give more of it")
    return fitting[0]


def run_not_found() -> NotFound:
    """One answer for every name that means no run."""
    return NotFound(Code.RUN_NOT_FOUND, "this workspace holds no such run or document")
