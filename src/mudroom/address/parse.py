"""A URL as a browser reads it, and the authority as it was written before the browser tidied it.

One parser decides: ada, the WHATWG URL standard. Guard, frontier and transport share its `href`, so
that none of them can see another host than the others. What stands here takes a finished `href` apart
(the serialisation has fixed places for everything) and finds the raw authority in the text as given.

Source: url.spec.whatwg.org sections 4.4 (states) and 4.5 (serialising).
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

import ada_url

from mudroom.address.ranges import IPAddress

__all__ = [
    "DEFAULT_PORTS",
    "MAX_URL_CHARS",
    "ParsedUrl",
    "find_raw_authority",
    "parse_href",
    "parse_url",
    "split_href",
]

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL_CHARS = 65_536
"""Longer than any server reads; a URL beyond it is refused before it is parsed."""

_STRIPPED = "".join(map(chr, range(0x21)))
"""C0 controls and space, which a browser cuts off at both ends."""
_REMOVED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_AUTHORITY_END = re.compile(r"[/\\?#]")
_SLASHES = "/\\"
_SHORTEST_LEAD = len("https://")
"""No path begins before this: a host has at least one letter."""
_KEPT_LEAD_CHARS = 300
_DIGITS = frozenset("0123456789")
_IPV4_CHARS = _DIGITS | {"."}


class ParsedUrl(NamedTuple):
    """An http or https URL, parsed as a browser parses it. A tuple, since a page has hundreds of them.

    Shapes: `href` is whole, with fragment, trailing host dot and credentials where they were written;
    it is what the transport gets. `host` is ASCII and lower-case, without brackets and without one
    trailing dot, so that comparisons need no second thought. `address` is set when the host is a
    literal. `port` is the one that is dialled.
    """

    href: str
    scheme: str
    host: str
    port: int
    address: IPAddress | None
    origin: str
    """Scheme, host and port, the unit of credentials and of exceptions (RFC 6454); brackets kept, default
    port and last dot not."""
    has_credentials: bool
    """Whether a user name or password stands in the URL."""
    request_target: str
    """Path and query, as the request line holds them."""

    @property
    def authority(self) -> str:
        """Host and port as they stand in a normal URL: brackets kept, default port and last dot not."""
        return self.origin[len(self.scheme) + 3 :]

    @property
    def path(self) -> str:
        """The path alone; starts with a slash."""
        return self.request_target.partition("?")[0]

    @property
    def normalized(self) -> str:
        """The URL without fragment, credentials and trailing host dot: how records name it."""
        return self.origin + self.request_target


def parse_href(untrusted_url: str, base_href: str | None = None) -> str | None:
    """The URL as a browser would write it, of any scheme, or None when a browser refuses it.

    Lone surrogates become U+FFFD first, as they do in a browser.
    """
    if len(untrusted_url) > MAX_URL_CHARS:
        return None
    if not untrusted_url.isascii():
        untrusted_url = untrusted_url.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    try:
        if base_href is None:
            return ada_url.normalize_url(untrusted_url)
        return ada_url.join_url(base_href, untrusted_url)
    except ValueError:
        return None


def split_href(href: str) -> ParsedUrl | None:
    """The parts of a URL that `parse_href` gave, or None when it is not http or https."""
    if not href.startswith(("http://", "https://")):
        return None
    path_start = href.index("/", _SHORTEST_LEAD)
    # Most URLs that are met have the authority of others; one that is all credentials is not kept.
    split = _split_known_lead if path_start <= _KEPT_LEAD_CHARS else _split_lead
    fragment_start = href.find("#", path_start)
    target = href[path_start:] if fragment_start < 0 else href[path_start:fragment_start]
    return ParsedUrl(href, *split(href[:path_start]), target)


def _split_lead(lead: str) -> tuple[str, str, int, IPAddress | None, str, bool]:
    """Of all before the path what `ParsedUrl` holds of it, from `scheme` to `has_credentials`."""
    scheme, _, authority = lead.partition("://")
    _, at, authority = authority.rpartition("@")
    port = DEFAULT_PORTS[scheme]
    address: IPAddress | None = None
    if authority.startswith("["):
        host, _, after = authority[1:].partition("]")
        address = IPv6Address(host)
        port = int(after[1:]) if after else port
    else:
        host, _, after = authority.partition(":")
        port = int(after) if after else port
        if host[-1] in _DIGITS and _IPV4_CHARS.issuperset(host):
            address = IPv4Address(host)  # a host that ends in a number is IPv4, or no URL at all
        host = host.removesuffix(".")
    origin = f"{scheme}://[{host}]" if ":" in host else f"{scheme}://{host}"
    if port != DEFAULT_PORTS[scheme]:
        origin += f":{port}"
    return scheme, host, port, address, origin, bool(at)


_split_known_lead = lru_cache(maxsize=1024)(_split_lead)


def parse_url(untrusted_url: str, *, base: ParsedUrl | None = None) -> ParsedUrl | None:
    """The parts of an http or https URL, unjudged; None for anything else."""
    href = parse_href(untrusted_url, base.href if base else None)
    return split_href(href) if href is not None else None


def find_raw_authority(untrusted_url: str, base: ParsedUrl | None) -> str | None:
    """The authority as it was written, or None when the URL takes it from its base.

    Follows the states of the standard for http and https: ends are stripped, tabs and line breaks
    vanish, a backslash is a slash, any number of slashes leads in, and a scheme equal to the base's
    without two slashes is a relative path.
    """
    text = untrusted_url.strip(_STRIPPED).translate(_REMOVED)
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    is_relative = scheme is None or (base is not None and scheme[1].lower() == base.scheme)
    authority = rest.lstrip(_SLASHES)
    if is_relative and len(rest) - len(authority) < 2:  # noqa: PLR2004 - two slashes make an authority
        return None
    end = _AUTHORITY_END.search(authority)
    return authority[: end.start()] if end else authority
