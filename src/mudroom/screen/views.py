"""A text in every other form in which a model could read it, each with the way back to the original.

Folded (compatibility forms, lookalikes, invisible characters), turned (rot13, reversed, digits for
letters), gathered (letters spaced out) and decoded passages, these again in every form, to a bounded depth.
Plain text is told by a few looks and has no views.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import re2

from mudroom.screen.decode import decode_passages
from mudroom.screen.fold import fold_text, needs_fold
from mudroom.screen.limits import ScanLimits

__all__ = ["TooMuchDecoded", "View", "build_views"]

Locate = Callable[[int, int], tuple[int, int]]


class TooMuchDecoded(Exception):  # noqa: N818 - a bound that was reached, turned into a finding
    """More decoded text than a scan takes on."""


@dataclass(frozen=True, slots=True)
class View:
    """One other form of a text. `is_tight`: its blanks say nothing, words may run together."""

    text: bytes
    locate: Locate
    """From a span in `text` to the span in the original that it stands for, wide rather than narrow."""
    is_tight: bool = False


@dataclass(slots=True)
class _Budget:
    left_bytes: int

    def spend(self, amount: int) -> None:
        self.left_bytes -= amount
        if self.left_bytes < 0:
            raise TooMuchDecoded


def _compile(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.never_capture = True
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(pattern, options)


# Words without which a turned text is no attack; looking for them costs a tenth of a scan.
_CORE = _compile(
    r"\b(?:ignore|disregard|forget|override|bypass|instructions?|prompts?|password|assistant|reveal|system|guidelines)\b"
)
_SPACED = _compile(r"\b(?:[a-z0-9][ \t._*|/\\\-]{1,3}){9,}[a-z0-9]\b")
_ROT13 = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    codecs.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "rot13").encode(),
)
_LEET = (
    bytes.maketrans(b"01345789@$!|+", b"oieastbgasiit"),
    bytes.maketrans(b"013456789@$!|+", b"oleasgtbgaslit"),
)
_SPACERS = b" \t._*|/-\\"


def build_views(text: bytes, limits: ScanLimits) -> Iterator[View]:
    """The other forms of a text, cheapest first.

    Raises: TooMuchDecoded when the decoded text passes its bound; UnicodeDecodeError when `text` is not UTF-8.
    """
    yield from _build(text, limits.max_decode_depth, _Budget(limits.max_decoded_bytes))


def _build(text: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    plain = text
    locate: Locate = _same
    if needs_fold(text):
        plain = fold_text(text)
        if plain != text:
            locate = _map_lines(plain, text)
            yield View(plain, locate)
    yield from (View(view.text, _chain(view.locate, locate), view.is_tight) for view in _turn(plain))
    if depth == 0:
        return
    yield from _decode(text, _same, depth, budget)
    if plain is not text:
        yield from _decode(plain, locate, depth, budget)


def _turn(text: bytes) -> Iterator[View]:
    rotated = text.translate(_ROT13)
    if _CORE.search(rotated):
        yield View(rotated, _same)
    backwards = text[::-1]
    if _CORE.search(backwards):
        yield View(backwards, _mirror(len(text)))
    yield from _read_digits(text)
    spaced = list(_gather(text))
    if spaced:
        yield _join(spaced, is_tight=True)


def _read_digits(text: bytes) -> Iterator[View]:
    """The text with digits and signs read as letters, where that makes a word of the core appear."""
    spelled: set[bytes] = set()
    for table in _LEET:
        form = text.translate(table)
        if form not in spelled and any(
            text[match.start() : match.end()].lower() != form[match.start() : match.end()].lower()
            for match in _CORE.finditer(form)
        ):
            spelled.add(form)
            yield View(form, _same)


def _gather(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    for match in _SPACED.finditer(text):
        yield match.start(), match.end(), text[match.start() : match.end()].translate(None, _SPACERS)


def _decode(text: bytes, outer: Locate, depth: int, budget: _Budget) -> Iterator[View]:
    passages = []
    for passage in decode_passages(text):
        budget.spend(len(passage[2]))
        passages.append(passage)
    if not passages:
        return
    view = _join(passages, is_tight=False)
    locate = _chain(view.locate, outer)
    yield View(view.text, locate)
    for inner in _build(view.text, depth - 1, budget):
        yield View(inner.text, _chain(inner.locate, locate), inner.is_tight)


def _join(passages: list[tuple[int, int, bytes]], *, is_tight: bool) -> View:
    starts = list(accumulate((len(content) + 1 for _, _, content in passages), initial=0))

    def locate(start: int, end: int) -> tuple[int, int]:
        first = passages[min(bisect_right(starts, start), len(passages)) - 1]
        last = passages[min(bisect_right(starts, max(start, end - 1)), len(passages)) - 1]
        return min(first[0], last[0]), max(first[1], last[1])

    return View(b"\n".join(content for _, _, content in passages), locate, is_tight)


def _same(start: int, end: int) -> tuple[int, int]:
    return start, end


def _mirror(length: int) -> Locate:
    return lambda start, end: (length - end, length - start)


def _chain(inner: Locate, outer: Locate) -> Locate:
    return (
        outer if inner is _same else inner if outer is _same else lambda start, end: outer(*inner(start, end))
    )


def _map_lines(view: bytes, original: bytes) -> Locate:
    """From the lines of a view to the same lines of the original; the tables are made when first asked for."""
    tables: list[list[int]] = []

    def locate(start: int, end: int) -> tuple[int, int]:
        if not tables:
            tables.extend(
                list(accumulate((len(line) + 1 for line in text.split(b"\n")), initial=0))
                for text in (view, original)
            )
        view_starts, starts = tables
        first = bisect_right(view_starts, start) - 1
        last = bisect_right(view_starts, max(start, end - 1)) - 1
        return starts[first], starts[min(last + 1, len(starts) - 1)] - 1

    return locate
