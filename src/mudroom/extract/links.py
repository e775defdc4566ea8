"""Links: those a crawler may follow, and those a reader is shown."""

from __future__ import annotations

from ada_url import join_url

from mudroom.model import Link

__all__ = ["LinkCollector", "resolve_base"]

_SHOWN_SCHEMES = ("http://", "https://", "mailto:")
_MAX_HREF = 8192
_BLANK = " \t\r\n\f"


def resolve_base(document_url: str, untrusted_base: str | None) -> str:
    """The URL that links are relative to: the base element's, if it is http or https, else the document's own."""
    if untrusted_base is None:
        return document_url
    resolved = _join(document_url, untrusted_base)
    return resolved if resolved.startswith(("http://", "https://")) else document_url


class LinkCollector:
    """The links of one document, each once, in order."""

    __slots__ = ("_base_url", "_found", "_max_links", "_shown", "is_capped")

    def __init__(self, base_url: str, max_links: int) -> None:
        self._base_url = base_url
        self._max_links = max_links
        self._found: dict[str, Link] = {}
        self._shown: dict[str, str] = {}
        self.is_capped = False

    def add(self, untrusted_href: str, *, is_nofollow: bool = False) -> None:
        """Keep a link as written; fragments of the same page and repetitions are not kept."""
        href = untrusted_href.strip(_BLANK)
        if not href or href[0] == "#" or len(href) > _MAX_HREF or href in self._found:
            return
        if len(self._found) >= self._max_links:
            self.is_capped = True
            return
        self._found[href] = Link(untrusted_href=href, is_nofollow=is_nofollow)

    def shown(self, untrusted_href: str) -> str:
        """The absolute destination to show, or "" where none is: other schemes, fragments, no URL."""
        cached = self._shown.get(untrusted_href)
        if cached is None:
            href = untrusted_href.strip(_BLANK)
            is_plain = bool(href) and href[0] != "#" and len(href) <= _MAX_HREF
            resolved = _join(self._base_url, href) if is_plain else ""
            cached = resolved if resolved.startswith(_SHOWN_SCHEMES) else ""
            self._shown[untrusted_href] = cached
        return cached

    def links(self) -> tuple[Link, ...]:
        """All of them."""
        return tuple(self._found.values())


def _join(base: str, href: str) -> str:
    try:
        return join_url(base, href)
    except ValueError:
        return ""
