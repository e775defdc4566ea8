"""What a crawl noticed on its way, as its manifest holds it: few lines whatever the number of links.

A warning is a template with numbers in it, never with text of a page, and the names of hosts that a page
links to are its text. What can happen a hundred thousand times is counted and told once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mudroom.errors import Code
from mudroom.model import WarningCode

__all__ = ["Notices"]

_MAX_WARNINGS = 1000
_MAX_HOSTS = 1000


class Notices:
    """The warnings of one crawl."""

    def __init__(self) -> None:
        self._warnings: list[Mapping[str, str | None]] = []
        self._off_hosts: set[str] = set()
        self._refused: Counter[Code] = Counter()
        self._off_host_links = 0
        self._dropped = 0
        self.is_cut = False
        """Whether something that the crawl covers was left out for a bound on sitemaps."""

    @property
    def has_dropped(self) -> bool:
        """Whether the frontier was full once, or sitemaps were not read to their end."""
        return self._dropped > 0 or self.is_cut

    def add(self, code: WarningCode | Code, url: str | None, message: str) -> None:
        """Note one thing; beyond a thousand, nothing more is noted."""
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.append({"code": code.value, "url": url, "message": message})

    def count_off_host(self, host: str) -> None:
        """Count a link that leads off the crawl's hosts."""
        self._off_host_links += 1
        if len(self._off_hosts) < _MAX_HOSTS:
            self._off_hosts.add(host)

    def count_refused(self, code: Code, number: int = 1) -> None:
        """Count a link, or so many, that may not be asked for."""
        self._refused[code] += number

    def count_dropped(self) -> None:
        """Count a URL that met a full frontier."""
        self._dropped += 1

    def list_all(self, root_url: str) -> list[Mapping[str, str | None]]:
        """Every warning, single ones first, then the counted ones."""
        return [*self._warnings, *self._list_counted(root_url)]

    def _list_counted(self, root_url: str) -> list[Mapping[str, str | None]]:
        counted: list[tuple[WarningCode, str]] = []
        if self._off_host_links:
            links, hosts = _say(self._off_host_links, "link"), _say(len(self._off_hosts), "other host")
            more = " or more" if len(self._off_hosts) == _MAX_HOSTS else ""
            counted.append((WarningCode.OFF_HOST, f"{links} to {hosts}{more} not followed"))
        if self._refused:
            codes = ", ".join(f"{code} {number}" for code, number in sorted(self._refused.items()))
            links = _say(self._refused.total(), "link")
            counted.append((WarningCode.LINK_REFUSED, f"{links} refused before any request: {codes}"))
        if self._dropped:
            urls = _say(self._dropped, "URL")
            counted.append((WarningCode.FRONTIER_FULL, f"{urls} dropped because the frontier was full"))
        return [{"code": code.value, "url": root_url, "message": message} for code, message in counted]


def _say(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
