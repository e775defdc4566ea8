"""A jar of cookies: what sites set, given back to them and to nobody else.

A cookie goes to the host that set it or, where it names a domain, to the hosts under that domain; never to
a name that merely begins or ends like it, and never over a public suffix (`co.uk`, `github.io`). Stricter than
browsers of today are, and as they mean to become: a cookie without a domain is of one origin, scheme and port
included, and none crosses from one scheme to the other. What one partition sets, another does not see.

There is no default jar: a fetch carries cookies only where the host program passes one (`JarContext`). SameSite
is read by nobody here: there is no page that could ask across sites. Nothing is written to disk.

Source: RFC 6265bis (draft-ietf-httpbis-rfc6265bis-20) sections 4.1.3, 5.1.3, 5.7 and 5.8.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from mudroom.address import ParsedUrl, registrable_domain
from mudroom.clock import Clock, SystemClock
from mudroom.fetch.context import FetchContext, FetchLabel, FetchObserver, NullContext
from mudroom.fetch.set_cookie import SetCookie, default_path, parse_set_cookie

__all__ = ["CookieJar", "JarContext", "merge_cookies", "read_cookie_names", "remove_cookies"]

_MAX_PER_SITE = 50
_MAX_COOKIES = 3000
_MAX_SENT_CHARS = 8192
_MAX_RECEIVED = 4 * _MAX_PER_SITE
"""Of one answer: fifteen thousand fit into its headers, and took half a second of everybody's time."""
_HOST_PREFIX = "__host-"
_SECURE_PREFIX = "__secure-"

_Key = tuple[str, str, str]
"""Where it goes (an origin, or scheme and domain), path and name."""


@dataclass(slots=True, kw_only=True)
class _Cookie:
    pair: str
    place: str
    """The origin, or the domain."""
    scheme: str
    """The one that it was set over and is sent over, so that what is marked Secure needs no second rule."""
    path: str
    is_host_only: bool
    expires_at: float | None
    number: int
    """The order in which cookies were first set."""
    used: int


class CookieJar:
    """Cookies in memory, bounded by site and in total. The host's part of a context, or the whole of it.

    Full, a site loses its expired cookies and then the one used longest ago; the jar loses the site used
    longest ago.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        max_per_site: int = _MAX_PER_SITE,
        max_cookies: int = _MAX_COOKIES,
    ) -> None:
        if max_per_site < 1 or max_cookies < max_per_site:
            raise ValueError("max_per_site must be at least 1 and max_cookies no less than it")
        self._now = (clock or SystemClock()).now
        self._max_per_site = max_per_site
        self._max_cookies = max_cookies
        self._sites: OrderedDict[tuple[str, str], dict[_Key, _Cookie]] = OrderedDict()
        self._total = 0
        self._count = 0

    def __len__(self) -> int:
        """How many cookies there are, expired ones included."""
        return self._total

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """The value of Cookie for a request to this URL: longer paths first, then the older ones; or nothing."""
        site = (partition, _site_of(url))
        cookies = self._sites.get(site)
        if not cookies:
            return ""
        self._sites.move_to_end(site)
        now = self._now().timestamp()
        fitting = [cookie for cookie in cookies.values() if _fits(cookie, url, now)]
        fitting.sort(key=lambda cookie: (-len(cookie.path), cookie.number))
        sent: list[str] = []
        room = _MAX_SENT_CHARS
        for cookie in fitting:
            room -= len(cookie.pair) + 2
            if room < 0:
                break
            self._count += 1
            cookie.used = self._count
            sent.append(cookie.pair)
        return "; ".join(sent)

    def receive(self, url: ParsedUrl, partition: str, set_cookie: Iterable[str]) -> None:
        """Take the Set-Cookie headers of an answer, in order; what a browser would refuse is passed over.

        Of a flood of them the first two hundred count.
        """
        now = self._now().timestamp()
        for untrusted_value in islice(set_cookie, _MAX_RECEIVED):
            parsed = parse_set_cookie(untrusted_value, now)
            if parsed is not None:
                self._take(parsed, url, partition, now)

    def clear(self) -> None:
        """Forget all cookies."""
        self._sites.clear()
        self._total = 0

    def _take(self, parsed: SetCookie, url: ParsedUrl, partition: str, now: float) -> None:
        is_host_only = not _names_domain(parsed, url)
        if not _may_set(parsed, url, is_host_only=is_host_only):
            return
        place = url.origin if is_host_only else f"{url.scheme}://.{parsed.domain}"
        path = parsed.path or default_path(url.path)
        site = (partition, _site_of(url))
        cookies = self._sites.setdefault(site, {})
        self._sites.move_to_end(site)
        key = (place, path, parsed.name)
        old = cookies.pop(key, None)
        if parsed.expires_at is None or parsed.expires_at > now:
            self._count += 1
            cookies[key] = _Cookie(
                pair=f"{parsed.name}={parsed.value}" if parsed.name else parsed.value,
                place=place if is_host_only else parsed.domain,
                scheme=url.scheme,
                path=path,
                is_host_only=is_host_only,
                expires_at=parsed.expires_at,
                number=self._count if old is None else old.number,
                used=self._count,
            )
        self._total += (key in cookies) - (old is not None)
        self._make_room(site, cookies, now)

    def _make_room(self, site: tuple[str, str], cookies: dict[_Key, _Cookie], now: float) -> None:
        if len(cookies) > self._max_per_site:
            ended = [key for key, cookie in cookies.items() if _has_ended(cookie, now)]
            for key in ended or [min(cookies, key=lambda key: cookies[key].used)]:
                del cookies[key]
                self._total -= 1
        if not cookies:
            del self._sites[site]
        while self._total > self._max_cookies:
            self._total -= len(self._sites.popitem(last=False)[1])


class JarContext:
    """A context whose cookies are a jar's; in everything else the host's own, or nobody's."""

    def __init__(self, jar: CookieJar, context: FetchContext | None = None) -> None:
        self._jar = jar
        self._context: FetchContext = NullContext() if context is None else context

    def observer_for(self, label: FetchLabel) -> FetchObserver:
        """As the host has it."""
        return self._context.observer_for(label)

    def on_reference_active(self, reference: str) -> None:
        """Told to the host."""
        self._context.on_reference_active(reference)

    def on_reference_done(self, reference: str) -> None:
        """Told to the host."""
        self._context.on_reference_done(reference)

    def is_url_allowed(self, url: ParsedUrl) -> bool:
        """As the host has it."""
        return self._context.is_url_allowed(url)

    def cookies_for(self, url: ParsedUrl, partition: str) -> str:
        """The jar's."""
        return self._jar.cookies_for(url, partition)

    def on_cookies_received(self, url: ParsedUrl, partition: str, set_cookie: tuple[str, ...]) -> None:
        """Into the jar."""
        self._jar.receive(url, partition, set_cookie)


def read_cookie_names(set_cookie: Iterable[str]) -> frozenset[str]:
    """The names that these Set-Cookie headers set or take back."""
    return frozenset(value.partition(";")[0].partition("=")[0].strip(" \t") for value in set_cookie)


def remove_cookies(cookie: str, names: frozenset[str]) -> str:
    """A value of Cookie without the pairs of these names."""
    pairs = (pair.strip(" \t") for pair in cookie.split(";"))
    return "; ".join(pair for pair in pairs if pair and pair.partition("=")[0].strip(" \t") not in names)


def merge_cookies(own: str, jar: str) -> str:
    """A value of Cookie with a caller's own pairs, then those of a jar whose names he did not use."""
    own_names = frozenset(pair.partition("=")[0].strip(" \t") for pair in own.split(";"))
    return "; ".join(part for part in (own, remove_cookies(jar, own_names)) if part)


def _site_of(url: ParsedUrl) -> str:
    """The registrable domain, and for hosts without one the host: all cookies that can fit are kept there."""
    return registrable_domain(url.host) or url.host


def _names_domain(parsed: SetCookie, url: ParsedUrl) -> bool:
    """Whether the cookie is meant for more than its host. A suffix or address that names itself means only itself."""
    return bool(parsed.domain) and not (parsed.domain == url.host and registrable_domain(url.host) is None)


def _may_set(parsed: SetCookie, url: ParsedUrl, *, is_host_only: bool) -> bool:
    if not is_host_only and (
        not _is_under(url.host, parsed.domain) or registrable_domain(parsed.domain) is None
    ):
        return False
    if parsed.is_secure and url.scheme != "https":
        return False
    prefix = (parsed.name or parsed.value).lower()
    if prefix.startswith(_HOST_PREFIX):
        return bool(parsed.name) and parsed.is_secure and not parsed.domain and parsed.path == "/"
    if prefix.startswith(_SECURE_PREFIX):
        return bool(parsed.name) and parsed.is_secure
    return True


def _fits(cookie: _Cookie, url: ParsedUrl, now: float) -> bool:
    if cookie.is_host_only:
        is_there = cookie.place == url.origin
    else:
        is_there = cookie.scheme == url.scheme and _is_under(url.host, cookie.place)
    return is_there and not _has_ended(cookie, now) and _is_within(url.path, cookie.path)


def _has_ended(cookie: _Cookie, now: float) -> bool:
    return cookie.expires_at is not None and cookie.expires_at <= now


def _is_under(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _is_within(path: str, folder: str) -> bool:
    return path == folder or (path.startswith(folder) and (folder.endswith("/") or path[len(folder)] == "/"))
