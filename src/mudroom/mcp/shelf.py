"""Long documents of which an agent has not read all pages yet, and the cursors that name the next.

A cursor is a random word that only this session knows; it says nothing of what it names. What is kept is
bounded, and a cursor whose document has gone is as unknown as one that never was.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from mudroom.errors import Code, NotFound
from mudroom.screen import ExposedPage

__all__ = ["KeptDocument", "Shelf"]

_CURSOR_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDocument:
    """An accepted document in pages."""

    untrusted_url: str
    """As the agent wrote it; a cursor works with this URL only."""
    page: ExposedPage
    run_id: str
    pages: tuple[str, ...]
    cursors: tuple[str, ...]
    """One a page, the first included."""


class Shelf:
    """The long documents of one session."""

    def __init__(self, max_documents: int, max_chars: int) -> None:
        self._max_documents = max_documents
        self._max_chars = max_chars
        self._documents: OrderedDict[str, KeptDocument] = OrderedDict()
        """By the cursor of the first page."""
        self._places: dict[str, tuple[str, int]] = {}
        self._chars = 0

    def keep(
        self, untrusted_url: str, page: ExposedPage, run_id: str, pages: tuple[str, ...]
    ) -> KeptDocument:
        """A document with cursors for its pages; the oldest make room for it."""
        cursors = tuple(secrets.token_urlsafe(_CURSOR_BYTES) for _ in pages)
        document = KeptDocument(
            untrusted_url=untrusted_url, page=page, run_id=run_id, pages=pages, cursors=cursors
        )
        if len(pages) > 1:
            self._documents[cursors[0]] = document
            self._places.update({cursor: (cursors[0], index) for index, cursor in enumerate(cursors)})
            self._chars += len(page.markdown)
            self._make_room()
        return document

    def find(self, untrusted_url: str, untrusted_cursor: str) -> tuple[KeptDocument, int]:
        """The document and the index of the page that a cursor names.

        Raises: NotFound INVALID_REFERENCE, alike for a cursor that never was, has gone, or belongs to
            another URL.
        """
        key, index = self._places.get(untrusted_cursor, ("", 0))
        document = self._documents.get(key)
        if document is None or document.untrusted_url != untrusted_url:
            raise NotFound(
                Code.INVALID_REFERENCE, "this cursor is not known here; open the URL again without it"
            )
        self._documents.move_to_end(key)
        return document, index

    def _make_room(self) -> None:
        while len(self._documents) > self._max_documents or self._chars > self._max_chars:
            _, document = self._documents.popitem(last=False)
            self._chars -= len(document.page.markdown)
            for cursor in document.cursors:
                del self._places[cursor]
