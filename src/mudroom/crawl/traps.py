"""Addresses that a site makes without end: told by their form, before they are asked for.

    REPEATING_PATH     the same segments again and again: /a/b/a/b/a/b
    GROWING_PATH       more segments, or more characters, than any page's address has
    CALENDAR           a month far ahead, or more dates of one form than an archive has
    PARAMETER_SPRAWL   more parameters than a form has, or ever new sets of them for one path

Counts are kept per host and form. What is skipped is counted by kind and told; thresholds are options, and
high enough for archives by date, shops with facets, map tiles and deep documentation.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from datetime import date
from enum import StrEnum, unique
from hashlib import blake2b

from mudroom.address import ParsedUrl
from mudroom.crawl.policy import CrawlPolicy

__all__ = ["TrapKind", "TrapWatch"]

_LONGEST_UNIT = 4
"""Segments that may repeat together."""
_MAX_TRACKED = 100_000
"""Counts remembered; when full, all are forgotten."""
_NOTE = "trap:"

_YEAR, _MONTH = r"(?:1[5-9]|2[0-9])[0-9]{2}", r"(?:0?[1-9]|1[0-2])"
_DATES = (
    re.compile(rf"(?<![0-9])(?P<year>{_YEAR})[-/_](?P<month>{_MONTH})(?![0-9])"),
    re.compile(rf"(?<![0-9])(?P<year>{_YEAR})(?P<month>0[1-9]|1[0-2])(?:[0-3][0-9])?(?![0-9])"),
    re.compile(rf"[?&]y(?:ear)?=(?P<year>{_YEAR})\b.*[?&]m(?:onth)?=(?P<month>{_MONTH})(?![0-9])"),
    re.compile(rf"[?&]m(?:onth)?=(?P<month>{_MONTH})(?![0-9]).*[?&]y(?:ear)?=(?P<year>{_YEAR})\b"),
)
_YEAR_IN_IT = re.compile(_YEAR)
_DIGITS = re.compile(r"[0-9]+")


@unique
class TrapKind(StrEnum):
    """How an address looks endless."""

    REPEATING_PATH = "repeating path"
    GROWING_PATH = "growing path"
    CALENDAR = "calendar"
    PARAMETER_SPRAWL = "parameter sprawl"


class TrapWatch:
    """The forms of one crawl's addresses, per host.

    Shapes: `today` is the day on which the crawl began; `note` keeps a count for the next sitting.
    """

    def __init__(self, policy: CrawlPolicy, today: date, note: Callable[[str, str], None]) -> None:
        self._policy = policy
        self._month = today.year * 12 + today.month
        self._note = note
        self._counts: dict[str, int] = {}
        self._sets: set[str] = set()

    def restore(self, notes: Iterable[tuple[str, str]]) -> None:
        """Know of the counts that an earlier sitting kept."""
        for name, value in notes:
            if name.startswith(_NOTE):
                key = name.removeprefix(_NOTE)
                if value:
                    self._counts[key] = int(value)
                else:
                    self._sets.add(key)

    def judge(self, url: ParsedUrl) -> TrapKind | None:
        """What an address that nobody queued yet looks like; None for one like any other."""
        policy = self._policy
        target = url.request_target
        path, _, query = target.partition("?")
        segments = path.split("/")[1:]
        if len(target) > policy.trap_url_chars or len(segments) > policy.trap_segments:
            return TrapKind.GROWING_PATH
        if _count_repeats(segments) >= policy.trap_repeats:
            return TrapKind.REPEATING_PATH
        if self._is_calendar(url.host, target):
            return TrapKind.CALENDAR
        if query and self._is_sprawl(url.host, path, query):
            return TrapKind.PARAMETER_SPRAWL
        return None

    def count(self, url: ParsedUrl) -> None:
        """An address was queued."""
        target = url.request_target
        if _find_month(target) is not None:
            self._raise(_hash("date", url.host, _DIGITS.sub("#", target)))
        path, _, query = target.partition("?")
        if query:
            names = _hash("set", url.host, path, *_list_names(query))
            if names not in self._sets:
                self._sets.add(names)
                self._note(_NOTE + names, "")
                self._raise(_hash("sets", url.host, path))

    def _is_calendar(self, host: str, target: str) -> bool:
        month = _find_month(target)
        if month is None:
            return False
        if month > self._month + self._policy.trap_months_ahead:
            return True
        return self._counts.get(_hash("date", host, _DIGITS.sub("#", target)), 0) >= self._policy.trap_dates

    def _is_sprawl(self, host: str, path: str, query: str) -> bool:
        names = query.count("&") + 1
        if names > self._policy.trap_parameters:
            return True
        if self._counts.get(_hash("sets", host, path), 0) < self._policy.trap_parameter_sets:
            return False
        return _hash("set", host, path, *_list_names(query)) not in self._sets

    def _raise(self, key: str) -> None:
        if len(self._counts) + len(self._sets) > _MAX_TRACKED:
            self._counts.clear()
            self._sets.clear()
        self._counts[key] = self._counts.get(key, 0) + 1
        self._note(_NOTE + key, str(self._counts[key]))


def _find_month(target: str) -> int | None:
    """The month that an address names, counted from the year 0; of several, the last."""
    if _YEAR_IN_IT.search(target) is None:
        return None
    for pattern in _DATES:
        found = deque(pattern.finditer(target), maxlen=1)
        if found:
            last = found[0]
            return int(last["year"]) * 12 + int(last["month"])
    return None


def _count_repeats(segments: list[str]) -> int:
    """How often in a row some run of segments stands at most; numbers alone are tiles and shards, no loop."""
    most = 1
    if len(set(segments)) == len(segments):
        return most
    for size in range(1, _LONGEST_UNIT + 1):
        matching = 0  # segments in a row that equal the one `size` before them
        for at in range(size, len(segments)):
            matching = matching + 1 if segments[at] == segments[at - size] else 0
            if matching >= size and _has_word(segments[at - size + 1 : at + 1]):
                most = max(most, 1 + matching // size)
    return most


def _has_word(segments: list[str]) -> bool:
    return any(segment and not segment.isdigit() for segment in segments)


def _list_names(query: str) -> list[str]:
    return sorted({part.partition("=")[0] for part in query.split("&")})


def _hash(*parts: str) -> str:
    return blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
