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
_SPACERS = b" \t._*|/-\\"


def build_views(text: bytes, limits: ScanLimits) -> Iterator[View]:
    """The other forms of a text, cheapest first.

    Raises: TooMuchDecoded when the decoded text passes its bound; UnicodeDecodeError when `text` is not UTF-8.
    """
    yield from _build(text, limits.max_decode_depth, _Budget(limits.max_decoded_bytes))


def _build(text: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    yield from _read(text, depth, budget)
    folded = _fold(text) if needs_fold(text) else None
    if folded is not None:
        yield folded
        for inner in _read(folded.text, depth, budget):
            yield View(inner.text, _chain(inner.locate, folded.locate), inner.is_tight)


def _read(text: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    yield from _turn(text)
    if depth:
        yield from _decode(text, depth, budget)


def _fold(text: bytes) -> View | None:
    """The lines that folding changes, and their neighbours; None when it changes none."""
    lines = text.split(b"\n")
    folded = [line if line.isascii() and b"\x1b" not in line else fold_text(line) for line in lines]
    changed = {number for number, pair in enumerate(zip(lines, folded, strict=True)) if pair[0] != pair[1]}
    if not changed:
        return None
    kept = sorted({near for number in changed for near in range(number - _NEAR, number + _NEAR + 1)})
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    passages = [
        (starts[number], starts[number] + len(lines[number]), folded[number])
        for number in kept
        if 0 <= number < len(lines)
    ]
    return _join(passages, is_tight=False)


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


def _decode(text: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    passages = []
    for passage in decode_passages(text):
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
