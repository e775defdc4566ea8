"""HTTP Strict Transport Security: hosts that said over https that they want no plain http.

    http://host/ ──upgrade──▶ https://host/      before anything is looked up, on every hop, never back

Who may arm a host is the host alone, over a connection whose certificate held; an address is never armed, so
an exception for one (`egress.allow_origins`) stays what the operator wrote. What one partition learns, another
does not know. The store is bounded: the hosts that were asked for longest ago are forgotten first.

Source: RFC 6797 sections 6.1, 8.1 to 8.3 and 11.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from mudroom.address import ParsedUrl, registrable_domain
from mudroom.clock import Clock
from mudroom.net import Headers

__all__ = ["Hsts", "HstsDirectives", "HstsEntry", "HstsStore", "MemoryHstsStore", "parse_hsts"]

HSTS_HEADER = "strict-transport-security"
_MAX_AGE_SECONDS = 100 * 365 * 86_400
"""A hundred years: more than that is a mistake, and would leave the range of dates."""
_MAX_HOSTS = 10_000
_MAX_PER_SITE = 256
"""Of one registrable domain: whoever owns one has as many names below it as he likes, and must not crowd out others."""
_FRESH_SHARE = 0.01
_DIRECTIVE = re.compile(
    r"""[ \t]*(?:(?P<name>[!#$%&'*+\-.^_`|~0-9A-Za-z]+)
    (?:[ \t]*=[ \t]*(?:(?P<token>[!#$%&'*+\-.^_`|~0-9A-Za-z]+)|"(?P<quoted>(?:[^"\\]|\\.)*)"))?)?[ \t]*(?:;|$)""",
    re.VERBOSE,
)
_MAX_HEADER_CHARS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class HstsDirectives:
    """What a header says; `max_age_seconds` is 0 where the host takes its word back."""

    max_age_seconds: int
    include_subdomains: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HstsEntry:
    """What is known of one host, until the second `expires_at` (Unix time) begins."""

    expires_at: float
    include_subdomains: bool


class HstsStore(Protocol):
    """Where what hosts said is kept; asked on the loop, so it must not block.

    Shapes: `host` as `ParsedUrl.host`: lower case, ASCII, without the last dot.
    """

    def load(self, partition: str, host: str) -> HstsEntry | None:
        """What is known of exactly this host, expired or not."""
        ...

    def store(self, partition: str, host: str, entry: HstsEntry) -> None:
        """Know this of the host from now on."""
        ...

    def remove(self, partition: str, host: str) -> None:
        """Know nothing of the host."""
        ...


class MemoryHstsStore:
    """A store that ends with the process; the host asked for longest ago makes room for a new one.

    A site that has too many hosts makes room for its own.
    """

    def __init__(self, max_hosts: int = _MAX_HOSTS, *, max_per_site: int = _MAX_PER_SITE) -> None:
        if max_hosts < 1 or max_per_site < 1:
            raise ValueError("max_hosts and max_per_site must be at least 1")
        self._max_hosts = max_hosts
        self._max_per_site = max_per_site
        self._entries: OrderedDict[tuple[str, str], HstsEntry] = OrderedDict()
        self._sites: dict[tuple[str, str], dict[str, None]] = {}

    def __len__(self) -> int:
        """How many hosts are known."""
        return len(self._entries)

    def load(self, partition: str, host: str) -> HstsEntry | None:
        """What is known of exactly this host."""
        entry = self._entries.get((partition, host))
        if entry is not None:
            self._entries.move_to_end((partition, host))
        return entry

    def store(self, partition: str, host: str, entry: HstsEntry) -> None:
        """Know this of the host; at a limit another is forgotten."""
        self.make_room(partition, host)
        self._sites.setdefault(_site_of(partition, host), {})[host] = None
        self._entries[partition, host] = entry
        self._entries.move_to_end((partition, host))
        if len(self._entries) > self._max_hosts:
            self.remove(*next(iter(self._entries)))

    def make_room(self, partition: str, host: str) -> tuple[str, ...]:
        """The hosts, one at most, that are forgotten so that the site of this one may have one more."""
        hosts = self._sites.get(_site_of(partition, host), {})
        if host in hosts or len(hosts) < self._max_per_site:
            return ()
        oldest = next(iter(hosts))
        self.remove(partition, oldest)
        return (oldest,)

    def remove(self, partition: str, host: str) -> None:
        """Know nothing of the host."""
        if self._entries.pop((partition, host), None) is None:
            return
        site = _site_of(partition, host)
        del self._sites[site][host]
        if not self._sites[site]:
            del self._sites[site]


def _site_of(partition: str, host: str) -> tuple[str, str]:
    return partition, registrable_domain(host) or host


class Hsts:
    """Who is armed, over a store: learns from answers, upgrades URLs."""

    def __init__(self, store: HstsStore, clock: Clock) -> None:
        self._store = store
        self._now = clock.now

    def upgrade_url(self, url: ParsedUrl, partition: str) -> str | None:
        """The https URL that is asked in place of this http one; None where the URL stays as it is.

        Port 80 becomes 443, any other port stays; all else of the URL stays too.
        """
        if url.scheme != "http" or url.address is not None or not self._is_armed(url.host, partition):
            return None
        return f"https{url.href[4:]}"

    def learn(self, url: ParsedUrl, headers: Headers, partition: str) -> bool:
        """Take note of what an answer says; False when it said something that cannot be understood.

        The first header counts, and only over https and of a host with a name. An entry that would move by
        less than a hundredth of its age is left as it is, so that busy hosts cost nothing.
        """
        if url.scheme != "https" or url.address is not None:
            return True
        value = find_hsts(headers)
        if value is None:
            return True
        said = parse_hsts(value)
        if said is None:
            return False
        if not said.max_age_seconds:
            self._store.remove(partition, url.host)
            return True
        expires_at = self._now().timestamp() + said.max_age_seconds
        known = self._store.load(partition, url.host)
        if (
            known is None
            or known.include_subdomains is not said.include_subdomains
            or abs(known.expires_at - expires_at) > said.max_age_seconds * _FRESH_SHARE
        ):
            entry = HstsEntry(expires_at=expires_at, include_subdomains=said.include_subdomains)
            self._store.store(partition, url.host, entry)
        return True

    def _is_armed(self, host: str, partition: str) -> bool:
        entry = self._store.load(partition, host)
        if entry is not None and self._holds(entry, partition, host):
            return True
        _, _, parent = host.partition(".")
        while "." in parent:  # a top-level domain speaks for nobody
            entry = self._store.load(partition, parent)
            if entry is not None and entry.include_subdomains and self._holds(entry, partition, parent):
                return True
            _, _, parent = parent.partition(".")
        return False

    def _holds(self, entry: HstsEntry, partition: str, host: str) -> bool:
        if self._now().timestamp() < entry.expires_at:
            return True
        self._store.remove(partition, host)
        return False


def find_hsts(headers: Headers) -> str | None:
    """The first header of the kind; those behind it do not count."""
    for name, value in headers:
        if len(name) == len(HSTS_HEADER) and name.lower() == HSTS_HEADER:
            return value
    return None


def parse_hsts(untrusted_value: str) -> HstsDirectives | None:
    """What a Strict-Transport-Security header says, or None when it is not well-formed.

    Order and case do not matter, unknown directives are passed over, empty ones tolerated; a directive that
    comes twice, an age that is no number, or none at all make the whole header void.
    """
    if len(untrusted_value) > _MAX_HEADER_CHARS:
        return None
    found: dict[str, str | None] = {}
    position = 0
    while position < len(untrusted_value):
        match = _DIRECTIVE.match(untrusted_value, position)
        if match is None:
            return None
        position = match.end()
        if match["name"] is None:
            continue
        name = match["name"].lower()
        if name in found:
            return None
        found[name] = match["token"] if match["quoted"] is None else match["quoted"]
    age = found.get("max-age")
    if age is None or not age.isascii() or not age.isdecimal():
        return None
    if found.get("includesubdomains") is not None:
        return None
    seconds = min(int(age), _MAX_AGE_SECONDS)
    return HstsDirectives(max_age_seconds=seconds, include_subdomains="includesubdomains" in found)
