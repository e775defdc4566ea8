"""HTML and XHTML read: the display, the strings, the links, and whether a browser is needed to see it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mudroom.extract.attributes import AttributeReader
from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.elements import HANDLERS
from mudroom.extract.limits import ExtractLimits
from mudroom.extract.links import LinkCollector, resolve_base
from mudroom.extract.reader import TreeReader
from mudroom.extract.security import SecurityCollector
from mudroom.extract.stylesheet import hidden_by_sheets
from mudroom.extract.tree import Document, Element, parse_html, parse_well_formed
from mudroom.model import Channel, Hiding, Link

__all__ = ["HtmlReading", "read_html", "read_html_into"]

_SHELL_CHARS = 200  # a page that shows less than two sentences
_SHELL_SCRIPT_CHARS = 2000
_LONG_VALUE = 60
_END_TAG = re.compile(
    r"</[A-Za-z][^\s<>]{0,64}\s([^<>]{8,4096})>"
)  # the tree has no place for what stands in one
_ODD_END_TAG = re.compile(r"</[A-Za-z][A-Za-z0-9]*+[^>]")  # found in few pages, and faster looked for
_MOUNTS = "#root,#app,#__next,#__nuxt,#svelte,#gatsby-focus-wrapper,[data-reactroot],[ng-version],app-root,[data-server-rendered]"


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReading:
    """What a page held beside its display and its strings."""

    title: str | None
    base_url: str
    links: tuple[Link, ...]
    is_capped: bool
    needs_render: bool


def read_html(
    untrusted_text: str,
    url: str,
    display: DisplayBuilder,
    security: SecurityCollector,
    limits: ExtractLimits,
    *,
    is_xml: bool = False,
) -> HtmlReading:
    """Read a page into a display and a collector. Raises ContentRefused EXTRACTION_LIMIT."""
    document = (parse_well_formed(untrusted_text) if is_xml else None) or parse_html(untrusted_text)
    base = document.find("base", attrs={"href": True})
    base_url = resolve_base(url, base.attr("href") if base is not None else None)
    links = LinkCollector(base_url, limits.max_links)
    title = read_html_into(document, display, security, links, limits)
    for match in _END_TAG.finditer(untrusted_text) if _ODD_END_TAG.search(untrusted_text) else ():
        security.add(Channel.ATTRIBUTE, Hiding.NOT_RENDERED, 0, match[1])
    return HtmlReading(
        title=title,
        base_url=base_url,
        links=links.links(),
        is_capped=links.is_capped,
        needs_render=_needs_render(document, display.visible_chars, security.hidden_chars),
    )


def read_html_into(
    document: Document,
    display: DisplayBuilder,
    security: SecurityCollector,
    links: LinkCollector,
    limits: ExtractLimits,
) -> str | None:
    """Read a tree into what is given; its title, if it has one."""
    sheets = [style.text for style in document.find_all("style") if _applies(style)]
    verdicts = hidden_by_sheets(document, sheets, limits.max_selector_steps) if sheets else {}
    has_sheets = bool(sheets) or document.find("link", attrs={"rel": "stylesheet"}) is not None
    attributes = AttributeReader(security, verdicts, has_sheets=has_sheets)
    reader = TreeReader(HANDLERS, display, security, links, attributes, limits)
    reader.read(document)
    _collect_long_values(document, security, attributes.seen)
    return reader.title


def _applies(style: Element) -> bool:
    media = (style.attr("media") or "all").lower()
    parent = style.parent
    is_inert = isinstance(parent, Element) and parent.tag == "noscript"
    return not is_inert and ("all" in media or "screen" in media)


def _collect_long_values(document: Document, security: SecurityCollector, seen: set[str]) -> None:
    """Long values of attributes that hold no words by their name: a model that reads the source sees them too."""
    values = document.xpath(f"descendant::*/@*[string-length() > {_LONG_VALUE}]")
    for value in values if isinstance(values, list) else ():
        text = str(value)
        if " " in text and text not in seen:
            seen.add(text)
            security.add(Channel.ATTRIBUTE, Hiding.NOT_RENDERED, 0, text)


def _needs_render(document: Document, visible_chars: int, hidden_chars: int) -> bool:
    """Whether the page shows (almost) nothing until its scripts have run."""
    if visible_chars >= _SHELL_CHARS:
        return False
    if hidden_chars > max(_SHELL_CHARS, 5 * visible_chars):
        return True
    scripts = document.find_all("script")
    has_code = any(script.attr("src") for script in scripts)
    if not has_code and sum(len(script.text) for script in scripts) < _SHELL_SCRIPT_CHARS:
        return False
    asks = any("javascript" in noscript.text.lower() for noscript in document.find_all("noscript"))
    is_mounted = any(not mount.text.strip() for mount in document.select(_MOUNTS))
    return asks or is_mounted or visible_chars == 0
