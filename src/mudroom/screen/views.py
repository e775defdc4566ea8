"""A text in every other form in which a model could read it, each with the way back to the original.

Folded (compatibility forms, lookalikes, invisible characters), turned (rot13, reversed, digits for
letters), gathered (letters spaced out) and decoded passages, these again in every form, to a bounded depth.
Plain text is told by one pass and has no views.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import re2

from mudroom.screen.decode import decode_passages
from mudroom.screen.fold import find_fold, fold_text
from mudroom.screen.limits import ScanLimits
from mudroom.screen.signs import CORE_WORDS, Sign, read_signs

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


_CORE = _compile(rf"\b(?:{'|'.join(CORE_WORDS)})\b")
_SPACED = _compile(r"\b(?:[a-z0-9][ \t._*|/\\\-]{1,3}){9,}[a-z0-9]\b")
_DIGIT_WORD = _compile(r"(?:[a-z]+[0-9@$!|+]|[0-9@$!|+]+[a-z])[a-z0-9@$!|+]*")
_ROT13 = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    codecs.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "rot13").encode(),
)
_LEET = (
    bytes.maketrans(b"01345789@$!|+", b"oieastbgasiit"),
    bytes.maketrans(b"013456789@$!|+", b"oleasgtbgaslit"),
)
# Lines on either side of a changed one that are read with it: phrases run over line ends.
_NEAR = 3
# Between passages that are not neighbours, so that no phrase is read across.
_APART = b"\0 " * 160
# Lines behind a changed one that are folded with it unasked.
_STRIDE = 12
_SPACERS = b" \t._*|/-\\"


def build_views(text: bytes, limits: ScanLimits) -> Iterator[View]:
    """The other forms of a text, cheapest first.

    Raises: TooMuchDecoded when the decoded text passes its bound; UnicodeDecodeError when `text` is not UTF-8.
    """
    yield from _build(text, limits.max_decode_depth, _Budget(limits.max_decoded_bytes))


def _build(text: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    signs = read_signs(text)
    yield from _read(text, signs, depth, budget)
    folded = _fold(text) if Sign.FOLD in signs else None
    if folded is not None:
        yield folded
        for inner in _read(folded.text, read_signs(folded.text), depth, budget):
            yield View(inner.text, _chain(inner.locate, folded.locate), inner.is_tight)


def _read(text: bytes, signs: frozenset[Sign], depth: int, budget: _Budget) -> Iterator[View]:
    yield from _turn(text, signs)
    if depth:
        yield from _decode(text, signs, depth, budget)


def _fold(text: bytes) -> View | None:
    """The lines that folding changes, and their neighbours; None when it changes none."""
    passages: list[tuple[int, int, bytes]] = []
    for start, end in _find_blocks(text):
        block = text[start:end]
        folded = fold_text(block)
        if folded != block:
            passages.append((start, start, _APART))
            passages.extend(_pair_lines(start, block, folded))
    return _join(passages, is_tight=False) if passages else None


def _find_blocks(text: bytes) -> Iterator[tuple[int, int]]:
    """Whole lines around each character that folding may change, apart from one another."""
    start, end, position = 0, -1, 0
    while (place := find_fold(text, position)) is not None:
        near = _go_back(text, place, _NEAR)
        if near > end:
            if end >= 0:
                yield start, end
            start = near
        position = _go_on(text, place, _STRIDE)
        end = _go_on(text, position, _NEAR)
    if end >= 0:
        yield start, end


def _go_back(text: bytes, place: int, lines: int) -> int:
    """The start of the line that is so many before the one of `place`."""
    for _ in range(lines + 1):
        place = text.rfind(b"\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _go_on(text: bytes, place: int, lines: int) -> int:
    """The end of the line that is so many behind the one of `place`."""
    place -= 1
    for _ in range(lines + 1):
        place = text.find(b"\n", place + 1)
        if place < 0:
            return len(text)
    return place


def _pair_lines(start: int, block: bytes, folded: bytes) -> Iterator[tuple[int, int, bytes]]:
    for line, other in zip(block.split(b"\n"), folded.split(b"\n"), strict=True):
        yield start, start + len(line), other
        start += len(line) + 1


def _turn(text: bytes, signs: frozenset[Sign]) -> Iterator[View]:
    if Sign.ROT13 in signs:
        yield View(text.translate(_ROT13), _same)
    if Sign.REVERSED in signs:
        yield View(text[::-1], _mirror(len(text)))
    if Sign.LEET in signs:
        yield from _read_digits(text)
    spaced = list(_gather(text)) if Sign.SPACED in signs else []
    if spaced:
        yield _join(spaced, is_tight=True)


def _read_digits(text: bytes) -> Iterator[View]:
    """The text with digits and signs read as letters, where that makes a word of the core appear."""
    tokens = b" ".join(text[token.start() : token.end()] for token in _DIGIT_WORD.finditer(text))
    spelled: set[bytes] = set()
    for table in _LEET if tokens else ():
        words = tokens.translate(table)
        if words not in spelled and _CORE.search(words):
            spelled.add(words)
            yield View(text.translate(table), _same)


def _gather(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    for match in _SPACED.finditer(text):
        yield match.start(), match.end(), text[match.start() : match.end()].translate(None, _SPACERS)


def _decode(text: bytes, signs: frozenset[Sign], depth: int, budget: _Budget) -> Iterator[View]:
    passages = []
    for passage in decode_passages(text, signs):
        budget.spend(len(passage[2]))
        passages.append(passage)
    if not passages:
        return
    view = _join(passages, is_tight=False)
    yield view
    for inner in _build(view.text, depth - 1, budget):
        yield View(inner.text, _chain(inner.locate, view.locate), inner.is_tight)


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
