"""One document: its bytes to what is shown, what is scanned and where it leads."""

from __future__ import annotations

from urllib.parse import urlsplit

from mudroom.errors import Code, ContentRefused
from mudroom.extract.builder import DisplayBuilder
from mudroom.extract.data import read_json, read_json_lines, read_table
from mudroom.extract.display import Block
from mudroom.extract.html import HtmlReading, read_html
from mudroom.extract.limits import ExtractLimits, ExtractSource, limit_passed
from mudroom.extract.links import LinkCollector
from mudroom.extract.markdown import render_markdown
from mudroom.extract.names import normalise_title
from mudroom.extract.plain import render_text
from mudroom.extract.security import SecurityCollector
from mudroom.extract.tags import pick_language
from mudroom.extract.textual import markdown_to_html, read_code, read_text
from mudroom.extract.xml import is_xhtml, read_xml
from mudroom.media import SniffedType, TextKind, decode_text, is_text_type, parse_content_type, sniff_type
from mudroom.model import Channel, ExtractedDocument, Limit, View, WarningCode

__all__ = ["extract_document"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_JSON_LINES = frozenset(
    {"application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/json-seq"}
)
_TABLES = frozenset({"text/csv", "application/csv", "text/tab-separated-values"})
_CODE = {
    "javascript": "javascript", "ecmascript": "javascript", "x-javascript": "javascript", "css": "css", "yaml": "yaml",
    "x-yaml": "yaml", "toml": "toml", "x-sh": "sh", "x-python": "python", "sql": "sql", "x-c": "c",
}  # fmt: skip
_MOSTLY_HIDDEN_FACTOR = 4
_MOSTLY_HIDDEN_CHARS = 500


def extract_document(
    untrusted_body: bytes, source: ExtractSource, limits: ExtractLimits
) -> ExtractedDocument:
    """A document read twice: as a person sees it, and as a model could.

    Raises ContentRefused: UNSUPPORTED_CONTENT_TYPE for bytes that are no text, whatever was declared;
    EXTRACTION_LIMIT where a bound is passed.
    """
    if len(untrusted_body) > limits.max_body_bytes:
        raise limit_passed(Limit.BODY)
    declared = parse_content_type(source.content_type)
    hint = source.filename or urlsplit(source.url).path.rpartition("/")[2]
    sniffed = sniff_type(declared, untrusted_body, hint, no_sniff=source.no_sniff)
    if not is_text_type(sniffed.essence):
        raise _unsupported(sniffed)
    kind = _text_kind(sniffed.essence)
    decoded = decode_text(untrusted_body, declared.charset if declared else None, kind)
    reading = _Reading(source, limits)
    reading.read(decoded.text, sniffed.essence, hint)
    warnings = (*decoded.warnings, *reading.warnings(disagrees=sniffed.disagrees))
    return reading.result(sniffed.essence, decoded.charset, warnings)


def _unsupported(sniffed: SniffedType) -> ContentRefused:
    told = " although it was declared as text" if sniffed.disagrees else ""
    return ContentRefused(
        Code.UNSUPPORTED_CONTENT_TYPE,
        f"The document is {sniffed.essence}{told}; that type is not read.",
        detail=sniffed.essence,
    )


def _language_of(filename: str) -> str:
    """The language that a file's extension declares; prose has none."""
    language = pick_language(filename.rpartition(".")[2]) if "." in filename else ""
    return "" if language in {"text", "plaintext", "basic", "latex"} else language


def _text_kind(essence: str) -> TextKind:
    if essence in _HTML:
        return TextKind.HTML
    return TextKind.XML if essence.endswith(("xml", "svg")) else TextKind.PLAIN


class _Reading:
    """One document while it is read."""

    def __init__(self, source: ExtractSource, limits: ExtractLimits) -> None:
        self._source = source
        self._limits = limits
        self._display = DisplayBuilder()
        self._security = SecurityCollector(limits)
        self._links = LinkCollector(source.url, limits.max_links)
        self._html: HtmlReading | None = None
        self._title: str | None = None

    def read(self, untrusted_text: str, essence: str, hint: str) -> None:
        display, security = self._display, self._security
        subtype = essence.partition("/")[2]
        if essence in _HTML:
            self._read_html(untrusted_text, is_xml=essence != "text/html")
        elif essence == "text/markdown":
            html = markdown_to_html(untrusted_text, display, security)
            if html is None:
                read_text(untrusted_text, display, security)
            else:
                self._read_html(html)
        elif essence in _TABLES:
            read_table(untrusted_text, display, security, is_tabbed="tab" in essence)
        elif essence in _JSON_LINES:
            read_json_lines(untrusted_text, display, security)
        elif subtype == "json" or subtype.endswith("+json"):
            read_json(untrusted_text, display, security)
        elif subtype == "xml" or subtype.endswith("+xml"):
            self._read_xml(untrusted_text)
        elif language := _CODE.get(subtype) or _language_of(hint):
            read_code(untrusted_text, language, display, security, Channel.TEXT)
        else:
            read_text(untrusted_text, display, security)

    def _read_html(self, untrusted_text: str, *, is_xml: bool = False) -> None:
        self._html = read_html(
            untrusted_text, self._source.url, self._display, self._security, self._limits, is_xml=is_xml
        )
        self._title = self._html.title

    def _read_xml(self, untrusted_text: str) -> None:
        if is_xhtml(untrusted_text):
            self._read_html(untrusted_text, is_xml=True)
        else:
            self._title = read_xml(untrusted_text, self._display, self._security, self._links, self._limits)

    def warnings(self, *, disagrees: bool) -> list[WarningCode]:
        """What was noticed in the document, as codes."""
        hidden, visible = self._security.hidden_chars, self._display.visible_chars
        is_capped = self._html.is_capped if self._html else self._links.is_capped
        noticed = {
            WarningCode.TYPE_DISAGREES: disagrees,
            WarningCode.TEXT_CLEANED: self._display.removed_chars > 0,
            WarningCode.MOSTLY_HIDDEN: hidden > max(_MOSTLY_HIDDEN_CHARS, _MOSTLY_HIDDEN_FACTOR * visible),
            WarningCode.LINKS_CAPPED: is_capped,
        }
        return [code for code, is_so in noticed.items() if is_so]

    def result(self, essence: str, charset: str, warnings: tuple[WarningCode, ...]) -> ExtractedDocument:
        """The document, rendered in the views that were asked for."""
        blocks, html = self._display.blocks, self._html
        title = self._title if self._title and not self._title.isspace() else _first_heading(blocks)
        return ExtractedDocument(
            media_type=essence,
            charset=charset,
            title=normalise_title(title or self._source.filename or ""),
            views={view: _render(view, blocks, self._limits.max_output_chars) for view in self._source.views},
            links=html.links if html else self._links.links(),
            base_url=html.base_url if html else self._source.url,
            security_text=self._security.build(),
            visible_chars=self._display.visible_chars,
            hidden_chars=self._security.hidden_chars,
            removed_chars=self._display.removed_chars,
            needs_render=html is not None and html.needs_render,
            warnings=warnings,
        )


def _render(view: View, blocks: list[Block], max_chars: int) -> str:
    return render_markdown(blocks, max_chars) if view is View.MARKDOWN else render_text(blocks, max_chars)


def _first_heading(blocks: list[Block]) -> str:
    for block in blocks:
        if block.number and block.inline and not block.rows:
            return "".join(part for part in block.inline if type(part) is str)
    return ""
