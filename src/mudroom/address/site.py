"""Which URLs belong together: same origin, same host, same site.

Source: publicsuffix.org (the list's algorithm, private section included, so that two pages of
github.io are strangers); the list is the one that ships with publicsuffixlist, never fetched.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from publicsuffixlist import PSLFILE, PublicSuffixList

from mudroom.address.parse import DEFAULT_PORTS, ParsedUrl

__all__ = ["is_same_host", "is_same_origin", "is_same_site", "registrable_domain", "site_of"]


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str | None:
    """The part of a name that one owner registered, or None when there is none.

    Shapes: `host` as `ParsedUrl.host`; None for an address, a single label, and a public suffix
    itself. A suffix that the list does not know counts as one label, as the list's algorithm says.
    """
    if ":" in host or host.rpartition(".")[2].isdigit():
        return None
    domain: str | None = _list_under(host.rpartition(".")[2]).privatesuffix(host)
    return domain


@lru_cache(maxsize=64)
def _list_under(top: str) -> PublicSuffixList:
    """The rules under one top-level domain: to read all of them takes thirty times as long.

    An internationalised one stands in the list in its own letters, and is looked for in all of it.
    """
    if top.startswith("xn--"):
        return _whole_list()
    rules = re.findall(rf"^(?:[^/\s]\S*\.)?{re.escape(top)}$", _read_list(), re.MULTILINE)
    return PublicSuffixList(rules)


@lru_cache(maxsize=1)
def _whole_list() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=1)
def _read_list() -> str:
    return Path(PSLFILE).read_text(encoding="utf-8")


def site_of(url: ParsedUrl) -> str:
    """The site that a document belongs to: one guest process reads documents of one site.

    Shapes: `scheme://registrable-domain`; the origin for a literal; scheme and host for a name
    without a registrable domain.
    Source: decision 11; html.spec.whatwg.org section 7.1.1.1.
    """
    if url.address is not None:
        return url.origin
    return f"{url.scheme}://{registrable_domain(url.host) or url.host}"


def is_same_origin(one: ParsedUrl, other: ParsedUrl) -> bool:
    """Whether scheme, host and port are equal: what may share credentials."""
    return one.scheme == other.scheme and one.host == other.host and one.port == other.port


def is_same_host(one: ParsedUrl, other: ParsedUrl) -> bool:
    """Whether a crawl of one host may go from one to the other.

    The move from http to https on the usual ports keeps the host; another port is another service.
    """
    if one.host != other.host:
        return False
    return one.port == other.port or (_is_usual_port(one) and _is_usual_port(other))


def is_same_site(one: ParsedUrl, other: ParsedUrl) -> bool:
    """Whether both hosts are under one registrable domain, whatever the scheme; literals: same host."""
    if one.host == other.host:
        return is_same_host(one, other)
    if one.address is not None or other.address is not None:
        return False
    domain = registrable_domain(one.host)
    return domain is not None and domain == registrable_domain(other.host)


def _is_usual_port(url: ParsedUrl) -> bool:
    return url.port == DEFAULT_PORTS[url.scheme]
