"""A text of a file or of stdin, scanned for a person: every match with its words, line and context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mudroom.model import Severity
from mudroom.screen.context import CONFIDENCE, Context, ContextReader
from mudroom.screen.rules import Rule
from mudroom.screen.scanner import Hit, Scanner
from mudroom.screen.suppress import Suppressions, read_suppressions

__all__ = ["TextMatch", "TextOptions", "TextReport", "scan_text"]

_MAX_QUOTE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """How a person wants a text judged."""

    min_confidence: float = 0.5
    """From 0 to 1; what is below goes to `low_confidence`, it is never dropped."""
    is_strict: bool = False
    """Everything counts, whatever surrounds it; wins over `min_confidence`."""
    may_suppress: bool = True
    """Whether the text may carry directives that set rules aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """One match, with the words of the original text."""

    rule: Rule
    severity: Severity
    line: int
    """From 1."""
    start: int
    """In bytes of the UTF-8 text, up to `end`; of a decoded match, the passage that was decoded."""
    end: int
    untrusted_words: str
    """At most 400 characters."""
    context: Context
    confidence: float
    is_decoded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReport:
    """What was found in one text, by what it counts for."""

    file: str
    matches: tuple[TextMatch, ...]
    suppressed: tuple[TextMatch, ...] = ()
    low_confidence: tuple[TextMatch, ...] = ()
    baselined: tuple[TextMatch, ...] = ()

    @property
    def worst(self) -> Severity | None:
        """The worst severity among `matches`; None when there are none."""
        return max((match.severity for match in self.matches), default=None)


def scan_text(scanner: Scanner, untrusted_text: str, file: str, options: TextOptions) -> TextReport:
    """The report of one text, matches in their order.

    Raises: MudroomError (SCANNER_FAILURE) where a bound is passed or the text holds a lone surrogate.
    """
    buffer = scanner.encode(untrusted_text)
    contexts = ContextReader(buffer)
    suppressions = (
        read_suppressions(untrusted_text) if options.may_suppress else Suppressions(frozenset(), {})
    )
    lines = _LineCounter(buffer)
    kept: list[TextMatch] = []
    low: list[TextMatch] = []
    suppressed: list[TextMatch] = []
    for hit in _merge(scanner.find_all(buffer)):
        match = _describe(hit, buffer, contexts, lines)
        if suppressions.covers(hit.rule.id, match.line):
            suppressed.append(match)
        elif options.is_strict or match.confidence >= options.min_confidence:
            kept.append(match)
        else:
            low.append(match)
    return TextReport(file=file, matches=tuple(kept), suppressed=tuple(suppressed), low_confidence=tuple(low))


def _merge(hits: Iterable[Hit]) -> list[Hit]:
    """The hits in their order; those of one rule that overlap are one, since they tell of one phrase."""
    merged: list[Hit] = []
    places: dict[tuple[str, bool], int] = {}
    for hit in sorted(hits, key=lambda item: (item.start, item.end, item.rule.id)):
        key = (hit.rule.id, hit.is_decoded)
        place = places.get(key)
        if place is not None and hit.start < merged[place].end:
            merged[place] = replace(merged[place], end=max(hit.end, merged[place].end))
        else:
            places[key] = len(merged)
            merged.append(hit)
    return merged


class _LineCounter:
    """Line numbers of growing offsets."""

    def __init__(self, buffer: bytes) -> None:
        self._buffer = buffer
        self._offset, self._line = 0, 1

    def line(self, offset: int) -> int:
        self._line += self._buffer.count(b"\n", self._offset, offset)
        self._offset = max(self._offset, offset)
        return self._line


def _describe(hit: Hit, buffer: bytes, contexts: ContextReader, lines: _LineCounter) -> TextMatch:
    context = contexts.read(hit.start, hit.end, 0, len(buffer))
    # Encoded words are never only shown: nobody reads them as they stand.
    is_hidden = hit.is_decoded or context is Context.HTML_COMMENT
    return TextMatch(
        rule=hit.rule,
        severity=hit.rule.hidden if is_hidden else hit.rule.severity,
        line=lines.line(hit.start),
        start=hit.start,
        end=hit.end,
        untrusted_words=buffer[hit.start : hit.end].decode(errors="replace")[:_MAX_QUOTE],
        context=context,
        confidence=1.0 if is_hidden else CONFIDENCE[context],
        is_decoded=hit.is_decoded,
    )
