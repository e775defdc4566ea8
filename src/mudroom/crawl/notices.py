"""What a crawl noticed on its way, as its manifest holds it: few lines whatever the number of links.

A warning is a template with numbers in it, never with text of a page, and the names of hosts that a page
links to are its text. What can happen a hundred thousand times is counted and told once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from mudroom.crawl.traps import TrapKind
from mudroom.errors import Code
from mudroom.model import WarningCode

__all__ = ["Notices"]

_MAX_WARNINGS = 1000
_MAX_OF_ONE_CODE = 200
_MAX_HOSTS = 1000
_COUNTS, _WARNING, _HOST = "counts", "warning:", "off-host:"


class Notices:
    """The warnings of one crawl."""

    def __init__(self) -> None:
        self._warnings: list[Mapping[str, str | None]] = []
        self._added: Counter[str] = Counter()
        self._off_hosts: dict[str, None] = {}
        self._refused: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._traps: Counter[str] = Counter()
        self._noted = (0, 0)
        """Warnings and hosts that `list_notes` has given."""
        self.is_cut = False
        """Whether something that the crawl covers was left out for a bound on sitemaps."""

    @property
    def has_dropped(self) -> bool:
        """Whether the frontier was full once, or sitemaps were not read to their end."""
        return self._counted[WarningCode.FRONTIER_FULL] > 0 or self.is_cut

    def add(self, code: WarningCode | Code, url: str | None, message: str) -> None:
        """Note one thing; of one code two hundred are told, and how many more there were."""
        self._added[code.value] += 1
        if self._added[code.value] <= _MAX_OF_ONE_CODE and len(self._warnings) < _MAX_WARNINGS:
            self._warnings.append({"code": code.value, "url": url, "message": message})

    def add_once(self, code: WarningCode, url: str, message: str) -> None:
        """Note one thing, unless just that was noted before, in an earlier sitting or in this one."""
        if {"code": code.value, "url": url, "message": message} not in self._warnings:
            self.add(code, url, message)

    def count_off_host(self, host: str) -> None:
        """Count a link that leads off the crawl's hosts."""
        self._counted[WarningCode.OFF_HOST] += 1
        if len(self._off_hosts) < _MAX_HOSTS:
            self._off_hosts[host] = None

    def count_refused(self, code: Code, number: int = 1) -> None:
        """Count a link, or so many, that may not be asked for."""
        self._refused[code.value] += number

    def count_trap(self, kind: TrapKind) -> None:
        """Count a link that looks endless."""
        self._traps[kind.value] += 1

    def count(self, code: WarningCode) -> None:
        """Count a link that was not followed for this reason."""
        self._counted[code] += 1

    def has_counted(self, code: WarningCode) -> bool:
        """Whether a link was not followed for this reason yet."""
        return self._counted[code] > 0

    def list_all(self, root_url: str) -> list[Mapping[str, str | None]]:
        """Every warning, single ones first, then the counted ones."""
        counted = [
            {"code": code.value, "url": root_url, "message": message}
            for code, message in self._tell_counted()
        ]
        return [*self._warnings, *self._tell_more(root_url), *counted]

    def list_notes(self) -> Iterator[tuple[str, str]]:
        """What changed since the last time, for the next sitting."""
        warnings, hosts = self._noted
        for at in range(warnings, len(self._warnings)):
            yield f"{_WARNING}{at:04}", json.dumps(self._warnings[at])
        for host in list(self._off_hosts)[hosts:] if len(self._off_hosts) > hosts else ():
            yield _HOST + host, ""
        self._noted = (len(self._warnings), len(self._off_hosts))
        counts = [self._added, self._refused, self._counted, self._traps, {"cut": int(self.is_cut)}]
        yield _COUNTS, json.dumps(counts)

    def restore(self, notes: Mapping[str, str]) -> None:
        """Know of what an earlier sitting noted. Raises: ValueError, TypeError."""
        for name, value in sorted(notes.items()):
            if name.startswith(_WARNING):
                self._warnings.append(json.loads(value))
            elif name.startswith(_HOST):
                self._off_hosts[name.removeprefix(_HOST)] = None
        *counts, cut = json.loads(notes.get(_COUNTS, '[{}, {}, {}, {}, {"cut": 0}]'))
        for counter, read in zip(
            (self._added, self._refused, self._counted, self._traps), counts, strict=True
        ):
            counter.update(read)
        self.is_cut = bool(cut["cut"])
        self._noted = (len(self._warnings), len(self._off_hosts))

    def _tell_more(self, root_url: str) -> Iterator[Mapping[str, str | None]]:
        told = Counter(warning["code"] for warning in self._warnings)
        for code, number in sorted(self._added.items()):
            if number > told[code]:
                message = f"{number - told[code]} more of these are not listed"
                yield {"code": code, "url": root_url, "message": message}

    def _tell_counted(self) -> Iterator[tuple[WarningCode, str]]:
        counted = self._counted
        if links := counted[WarningCode.OFF_HOST]:
            hosts = _say(len(self._off_hosts), "other host")
            more = " or more" if len(self._off_hosts) == _MAX_HOSTS else ""
            yield WarningCode.OFF_HOST, f"{_say(links, 'link')} to {hosts}{more} not followed"
        if self._refused:
            links = self._refused.total()
            yield (
                WarningCode.LINK_REFUSED,
                f"{_say(links, 'link')} refused before any request: {_list(self._refused)}",
            )
        if self._traps:
            links = self._traps.total()
            yield (
                WarningCode.TRAP_SKIPPED,
                f"{_say(links, 'link')} not followed, since such addresses have no end: {_list(self._traps)}",
            )
        if links := counted[WarningCode.NOT_FOLLOWED]:
            yield WarningCode.NOT_FOLLOWED, f"{_say(links, 'link')} left out by should_follow"
        if links := counted[WarningCode.FOLLOW_FAILED]:
            yield (
                WarningCode.FOLLOW_FAILED,
                f"{_say(links, 'link')} left out because should_follow failed on them",
            )
        if links := counted[WarningCode.TWIN_MERGED]:
            yield WarningCode.TWIN_MERGED, f"{_say(links, 'link')} to known pages under another spelling"
        if urls := counted[WarningCode.FRONTIER_FULL]:
            yield WarningCode.FRONTIER_FULL, f"{_say(urls, 'URL')} dropped because the frontier was full"


def _list(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))


def _say(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
