"""Links: those a crawler may follow, and those a reader is shown."""

from __future__ import annotations

import re
from functools import lru_cache

from ada_url import join_url

from mudroom.extract.display import Edge, end_of_link
from mudroom.extract.escape import escape_destination
from mudroom.model import Link, LinkRelation

__all__ = ["LinkCollector", "resolve_base"]

_ANCHOR = LinkRelation.ANCHOR
_SHOWN_SCHEMES = ("http://", "https://", "mailto:")
_MAX_HREF = 8192
_ABSOLUTE = re.compile(r"https?://.{0,500}\Z")
_BLANK = " \t\r\n\f"
_BELOW_FOLDER = re.compile(
    r"((?:\.\./){0,16})((?:[\w-][\w.-]*+/)*+(?:[\w-][\w.-]*+)(?:#[\w.,:/+-]*+)?+)", re.ASCII
)
"""A relative reference: behind `../`, neither a URL parser nor Markdown changes a character. Source: WHATWG URL 4.4."""


def resolve_base(document_url: str, untrusted_base: str | None) -> str:
    """The URL that links are relative to: the base element's, if it is http or https, else the document's own."""
    if untrusted_base is None:
        return document_url
    resolved = _join(document_url, untrusted_base)
    return resolved if resolved.startswith(("http://", "https://")) else document_url


class LinkCollector:
    """The links of one document, each once, in order."""

    __slots__ = ("_base_url", "_folders", "_found", "_max_links", "is_capped", "is_nofollow", "repeatable")

    def __init__(self, base_url: str, max_links: int) -> None:
        self._base_url = base_url
        self._max_links = max_links
        self._found: dict[str, Link] = {}
        self.repeatable: dict[str, Edge] = {}
        """The ends of links that were added and hold no words, by href: met again, they say nothing new."""
        self._folders: dict[str, str] = {}
        self.is_capped = False
        self.is_nofollow = False
        """The page asks that none of its links be followed."""

    def add(
        self,
        untrusted_href: str,
        *,
        is_nofollow: bool = False,
        relation: LinkRelation = LinkRelation.ANCHOR,
    ) -> None:
        """Keep a link as written; fragments of the same page and repetitions are not kept.

        What is linked to for a person too is a link for a person.
        """
        href = untrusted_href.strip(_BLANK)
        if not href or href[0] == "#" or len(href) > _MAX_HREF:
            return
        known = self._found.get(href)
        if known is not None:
            if known.relation is not _ANCHOR and relation is _ANCHOR:
                self._found[href] = Link(href, is_nofollow)
            return
        if len(self._found) >= self._max_links:
            self.is_capped = True
            return
        self._found[href] = Link(href, is_nofollow, relation)

    def shown(self, untrusted_href: str) -> str:
        """The absolute destination to show, or "" where none is: other schemes, fragments, no URL."""
        href = untrusted_href.strip(_BLANK)
        if not href or href[0] == "#" or len(href) > _MAX_HREF:
            return ""
        resolved = _absolute(href) if _ABSOLUTE.match(href) else _join(self._base_url, href)
        return resolved if resolved.startswith(_SHOWN_SCHEMES) else ""

    def mark(self, untrusted_href: str) -> Edge | None:
        """The end of a link that is shown, None for one that is not."""
        match = _BELOW_FOLDER.fullmatch(untrusted_href)
        if match:
            folder = self._folder(match[1])
            destination = folder + match[2] if folder else ""
        else:
            destination = escape_destination(self.shown(untrusted_href))
        if not destination:
            return None
        edge = end_of_link(destination)
        if match or ("%" not in untrusted_href and " " not in untrusted_href):
            self.repeatable[untrusted_href] = edge
        return edge

    def _folder(self, way: str) -> str:
        """The folder that `../` lead to, as a destination; "" where links are not shown."""
        folder = self._folders.get(way)
        if folder is None:
            folder = self._folders[way] = escape_destination(self.shown(way or "./"))
        return folder

    def links(self) -> tuple[Link, ...]:
        """All of them."""
        if self.is_nofollow:
            return tuple(link._replace(is_nofollow=True) for link in self._found.values())
        return tuple(self._found.values())


@lru_cache(maxsize=1024)
def _absolute(href: str) -> str:
    """An absolute URL as it is shown; those that every page of a site repeats are parsed once."""
    return _join("https://host.invalid/", href)


def _join(base: str, href: str) -> str:
    try:
        return join_url(base, href)
    except ValueError:
        return ""
