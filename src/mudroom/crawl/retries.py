"""Tries that failed before the last, as the manifest's warnings tell them; and read back from there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from mudroom.crawl.ended import EndedPage
from mudroom.model import WarningCode

__all__ = ["describe_retries", "read_retries"]

_RETRY = re.compile(r"page ([0-9]+): retry [0-9]+ of [0-9]+ after ([A-Z_]+)")


def describe_retries(page: EndedPage, allowed: int) -> Sequence[str]:
    """One sentence a try, for the manifest."""
    return [
        f"page {page.number}: retry {at} of {max(allowed, at)} after {code}"
        for at, code in enumerate(page.retries, 1)
    ]


def read_retries(warnings: Iterable[Mapping[str, str | None]]) -> Mapping[int, Sequence[str]]:
    """The codes of a manifest's failed tries by page."""
    found: dict[int, list[str]] = {}
    for warning in warnings:
        match = _RETRY.fullmatch(warning["message"] or "") if warning["code"] == WarningCode.RETRIED else None
        if match is not None:
            found.setdefault(int(match[1]), []).append(match[2])
    return found
