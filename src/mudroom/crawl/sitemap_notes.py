"""What sitemaps give to warn of: sentences of ours, with numbers in them and no text of a sitemap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mudroom.crawl.notices import Notices
from mudroom.errors import Code
from mudroom.intake import SitemapAnswer
from mudroom.model import SitemapFault, SitemapKind, WarningCode

__all__ = ["SitemapNotes"]

_UNREADABLE, _MALFORMED = WarningCode.SITEMAP_UNREADABLE, WarningCode.SITEMAP_MALFORMED
_TRUNCATED = WarningCode.SITEMAP_TRUNCATED
_KEPT = "what stood before it was read"
_FAULTS = {
    SitemapFault.MALFORMED: (_MALFORMED, f"it is not well formed; {_KEPT}"),
    SitemapFault.DOCTYPE: (_UNREADABLE, "it declares a document type, which is not read"),
    SitemapFault.NO_SITEMAP: (_UNREADABLE, "it is something else than a sitemap"),
    SitemapFault.EMPTY: (_UNREADABLE, "it is empty"),
    SitemapFault.GZIP: (_MALFORMED, f"it could not be unpacked to its end; {_KEPT}"),
    SitemapFault.BYTES: (_TRUNCATED, "only the first crawl.max_sitemap_bytes of it were read"),
    SitemapFault.ENTRIES: (_TRUNCATED, "it has more entries than are read of one"),
    SitemapFault.DEPTH: (_MALFORMED, f"it is nested too deep; {_KEPT}"),
    SitemapFault.LOCATIONS: (_MALFORMED, "entries without a location that can be used were left out"),
}
_MISSING = frozenset({404, 410})


@dataclass(slots=True, kw_only=True)
class SitemapNotes:
    """Warnings of one crawl's sitemaps, on their way to its notices."""

    notices: Notices
    refused: Counter[Code] = field(default_factory=Counter)
    off_host_sitemaps: int = 0
    off_host_pages: int = 0
    too_deep: int = 0
    unasked: int = 0
    pages_left_out: int = 0

    def tell_answer(self, url: str, answer: SitemapAnswer, *, is_guess: bool) -> None:
        """Note what was wrong with one. A guess that nothing answers is nothing wrong."""
        if answer.not_kept is not None:
            self.notices.add(
                WarningCode.NOT_ARCHIVED, url, f"sitemap: it was read but not kept ({answer.not_kept})"
            )
        if answer.code is not None:
            if not (is_guess and _is_absence(answer)):
                status = f", status {answer.http_status}" if answer.code is Code.HTTP_STATUS else ""
                self._add(_UNREADABLE, url, [f"it could not be read ({answer.code}{status})"])
            return
        faults = list(answer.reading.faults) if answer.reading is not None else []
        if answer.is_truncated and SitemapFault.BYTES not in faults:
            faults.append(SitemapFault.BYTES)
        told: dict[WarningCode, list[str]] = {}
        for fault in faults:
            code, sentence = _FAULTS[fault]
            told.setdefault(code, []).append(sentence)
        is_none = answer.reading is None or answer.reading.kind is SitemapKind.UNKNOWN
        for code, sentences in told.items():
            self._add(_UNREADABLE if is_none and code is _MALFORMED else code, url, sentences)

    def tell_counted(self, root_url: str) -> None:
        """Note what was counted."""
        off_host = [
            _say(number, noun)
            for number, noun in ((self.off_host_sitemaps, "sitemap"), (self.off_host_pages, "location"))
            if number
        ]
        if off_host:
            told = f"{' and '.join(off_host)} on other hosts not asked for"
            self.notices.add(WarningCode.SITEMAP_OFF_HOST, root_url, told)
        limits = [
            f"{_say(number, noun)} {why}"
            for number, noun, why in (
                (self.unasked, "sitemap", "not asked for"),
                (self.too_deep, "sitemap", "below crawl.max_sitemap_depth not asked for"),
                (self.pages_left_out, "location", "more than are learned of in one crawl left out"),
            )
            if number
        ]
        if limits:
            self.notices.is_cut = True
            self.notices.add(WarningCode.SITEMAP_LIMIT, root_url, "; ".join(limits))
        for code, number in self.refused.items():
            self.notices.count_refused(code, number)

    def _add(self, code: WarningCode, url: str, sentences: list[str]) -> None:
        self.notices.add(code, url, f"sitemap: {'; '.join(sentences)}")


def _is_absence(answer: SitemapAnswer) -> bool:
    """Whether an answer says that there is none, or that we may not ask."""
    return answer.http_status in _MISSING or answer.code in {Code.ROBOTS_DENIED, Code.ROBOTS_UNAVAILABLE}


def _say(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
