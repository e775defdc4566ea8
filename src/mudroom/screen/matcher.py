"""Where the patterns of all rules match in a text, in time linear in its length.

A few RE2 sets tell in one pass each which patterns occur at all; only those are then located. A set that
runs out of memory says "nothing found", which must not be taken for clean: each text is scanned with a
sentinel behind it, and when the sentinel is not among the answers every pattern is asked by itself (those
fall back to RE2's slow but bounded machine).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import re2

from mudroom.screen.schema import Lane, Pattern
from mudroom.screen.text import LaneText

__all__ = ["Expression", "Match", "Matcher", "TooManyMatches"]

# Letters of a private use area: no page holds them by chance, and one that does only pays the slow way.
_SENTINEL = "\ue0f1mudroom-sentinel\ue0f2"
_SENTINEL_BYTES = b"\n" + _SENTINEL.encode()
# An automaton that forgets its states when full stays right, only slower; guests have memory limits.
_SET_BYTES = 48 * 1024 * 1024
_PATTERN_BYTES = 8 * 1024 * 1024
# One set of all patterns overflows its memory and forgets its states: 9 MB/s. Many small ones drive each
# other out of the cache: 30 MB/s in eight, 40 in three, on manuals once warm (benchmarks/screening.py).
_PATTERNS_PER_SET = 80
# How far from its rare part a phrase with gaps may reach, to either side.
_WINDOW_BYTES = 512


class TooManyMatches(Exception):  # noqa: N818 - a bound that was reached, turned into a finding
    """More matches than a scan takes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A pattern and the number of the rule that it belongs to.

    `also` holds patterns of which each must stand within `window_bytes` of the match.
    """

    owner: int
    pattern: Pattern
    lane: Lane
    is_case_sensitive: bool = False
    also: tuple[Pattern, ...] = ()
    window_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern matched, in bytes; `is_capped` when its line holds more than are listed."""

    owner: int
    start: int
    end: int
    is_capped: bool = False


class Matcher:
    """Compiled patterns; immutable, safe to share."""

    def __init__(self, expressions: Sequence[Expression], *, max_per_line: int, max_matches: int) -> None:
        self._max_matches = max_matches
        searches = [_Search(expression, max_per_line) for expression in expressions]
        self._groups: list[tuple[Lane, re2.Set, int, list[_Search]]] = []
        for lane in Lane:
            members = [search for search in searches if search.lane is lane]
            for start in range(0, len(members), _PATTERNS_PER_SET):
                group = members[start : start + _PATTERNS_PER_SET]
                self._groups.append((lane, *_build_set(group), group))

    def find(self, text: LaneText) -> Iterator[Match]:
        """Each match, pattern by pattern.

        Raises: TooManyMatches when the bound of one text is passed.
        """
        budget = self._max_matches
        for search, form in self._pass_gates(text):
            for match in search.locate(form, text.original):
                budget -= 1
                if budget < 0:
                    raise TooManyMatches
                yield match

    def name_owners(self, text: LaneText) -> frozenset[int]:
        """The owners of all expressions that may match; nothing is located, so it costs little."""
        return frozenset(search.owner for search, _ in self._pass_gates(text))

    def _pass_gates(self, text: LaneText) -> Iterator[tuple[_Search, bytes]]:
        """Each expression that may match, with the form of the text that it is matched against."""
        for lane, patterns, sentinel, searches in self._groups:
            form = text.form(lane)
            found = patterns.Match(form + _SENTINEL_BYTES) or ()
            # Without the sentinel the answer is that of a gate that failed: ask every pattern.
            numbers = sorted(found) if sentinel in found else range(len(searches))
            yield from ((searches[number], form) for number in numbers if number != sentinel)


class _Search:
    """One expression; compiled when it is first met, since most never are."""

    def __init__(self, expression: Expression, max_per_line: int) -> None:
        self.lane = expression.lane
        self.is_case_sensitive = expression.is_case_sensitive
        self.first = expression.pattern.gate or expression.pattern.source
        self.owner = expression.owner
        self._expression = expression
        self._max_per_line = max_per_line

    @cached_property
    def _pattern(self) -> re2._Regexp:
        return self._compile(self._expression.pattern.source)

    @cached_property
    def _gate(self) -> re2._Regexp | None:
        gate = self._expression.pattern.gate
        return None if gate is None else self._compile(gate)

    @cached_property
    def _also(self) -> tuple[re2._Regexp, ...]:
        return tuple(self._compile(pattern.source) for pattern in self._expression.also)

    def _compile(self, pattern: str) -> re2._Regexp:
        options = _options(_PATTERN_BYTES)
        options.case_sensitive = self.is_case_sensitive
        return re2.compile(pattern, options)

    def locate(self, form: bytes, original: bytes) -> Iterator[Match]:
        """The matches, at most so many of a line; the last of those says if the line holds more."""
        position, line_end, in_line = 0, -1, 0
        pending: tuple[int, int] | None = None
        while (span := self._next(form, position)) is not None:
            start, end = span
            position = max(end, start + 1)
            if start >= line_end:
                line_end, in_line = _find_line_end(original, start), 0
            if pending is not None:
                yield Match(self.owner, *pending, is_capped=in_line >= self._max_per_line)
                pending = None
            if in_line >= self._max_per_line:
                position = max(position, line_end)
                continue
            pending = span
            in_line += 1
        if pending is not None:
            yield Match(self.owner, *pending)

    def _next(self, form: bytes, position: int) -> tuple[int, int] | None:
        window_bytes = self._expression.window_bytes
        while (span := self._next_alone(form, position)) is not None:
            begin, end = max(0, span[0] - window_bytes), min(len(form), span[1] + window_bytes)
            if all(pattern.search(form, begin, end) for pattern in self._also):
                return span
            position = max(span[1], span[0] + 1)
        return None

    def _next_alone(self, form: bytes, position: int) -> tuple[int, int] | None:
        if self._gate is None:
            return _span(self._pattern.search(form, position))
        probe = position
        while (hit := self._gate.search(form, probe)) is not None:
            begin, end = max(position, hit.start() - _WINDOW_BYTES), hit.start() + 2 * _WINDOW_BYTES
            span = _span(self._pattern.search(form, begin, min(len(form), end)))
            if span is not None:
                return span
            probe = min(len(form), hit.start() + _WINDOW_BYTES)
        return None


def _span(match: re2._Match | None) -> tuple[int, int] | None:
    return None if match is None else (match.start(), match.end())


def _build_set(searches: Sequence[_Search]) -> tuple[re2.Set, int]:
    patterns = re2.Set.SearchSet(_options(_SET_BYTES))
    for search in searches:
        patterns.Add(search.first if search.is_case_sensitive else f"(?i:{search.first})")
    sentinel = patterns.Add(_SENTINEL)
    patterns.Compile()
    return patterns, sentinel


def _find_line_end(text: bytes, start: int) -> int:
    found = text.find(b"\n", start)
    return len(text) if found < 0 else found


def _options(max_mem: int) -> re2.Options:
    options = re2.Options()
    options.max_mem = max_mem
    options.never_capture = True
    options.log_errors = False
    return options
