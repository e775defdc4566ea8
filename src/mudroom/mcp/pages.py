"""A long document in pages, cut where a reader would turn one: between blocks.

The pages joined are the document, character for character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["split_pages"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SMALLEST_FILL = 2
"""A page that is not cut between blocks is filled to at least one part in this many."""


def split_pages(text: str, max_chars: int) -> tuple[str, ...]:
    """The pages of a document, each of at most `max_chars` characters.

    Cuts come before a block (not inside fenced code) where one begins in time, else before a line, else
    after a space, else where the page is full. An empty document has one empty page.
    """
    if len(text) <= max_chars:
        return (text,)
    blocks = list(_find_blocks(text))
    pages: list[str] = []
    start = 0
    next_block = 0
    while len(text) - start > max_chars:
        limit = start + max_chars
        cut = start
        while next_block < len(blocks) and blocks[next_block] <= limit:
            cut = blocks[next_block]
            next_block += 1
        if cut <= start:
            cut = _cut_block(text, start, limit)
        pages.append(text[start:cut])
        start = cut
    return (*pages, text[start:])


def _find_blocks(text: str) -> Iterator[int]:
    """Where blocks begin: behind an empty line, outside fenced code."""
    position = 0
    fence = ""
    was_empty = False
    for line in text.splitlines(keepends=True):
        if was_empty and not fence and line.strip():
            yield position
        fence = _follow_fence(line, fence)
        was_empty = not line.strip()
        position += len(line)


def _follow_fence(line: str, fence: str) -> str:
    """The fence that is open behind a line. Source: CommonMark 0.31 section 4.5."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    is_closing = mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line[mark.end() :].strip()
    return "" if is_closing else fence


def _cut_block(text: str, start: int, limit: int) -> int:
    """Where to cut a block that is longer than a page."""
    least = start + (limit - start) // _SMALLEST_FILL
    for mark in ("\n", " "):
        at = text.rfind(mark, least, limit)
        if at >= 0:
            return at + 1
    return limit
