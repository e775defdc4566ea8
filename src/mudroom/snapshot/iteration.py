"""Many records one after the other, a page of the index at a time, so that no reader holds up a writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mudroom.snapshot.index import Index, SpanRow

__all__ = ["AllRecords", "RecordsOfRun", "group_rows"]

_PAGE_ROWS = 512
_GROUP_ROWS = 32
_GROUP_BYTES = 4 * 1024**2


class RecordsOfRun:
    """The rows of one run in order of time, page by page. A record that comes meanwhile may be among them."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._after = ("", 0)

    def next_page(self, index: Index) -> list[SpanRow]:
        """The next rows; none at the end."""
        rows = index.page_of_run(self._run_id, after=self._after, limit=_PAGE_ROWS)
        if rows:
            self._after = (rows[-1].fetched_at, rows[-1].key)
        return rows


class AllRecords:
    """All rows in the order in which they were indexed, page by page."""

    def __init__(self) -> None:
        self._after = 0

    def next_page(self, index: Index) -> list[SpanRow]:
        """The next rows; none at the end."""
        rows = index.page_of_all(after=self._after, limit=_PAGE_ROWS)
        if rows:
            self._after = rows[-1].key
        return rows


def group_rows(rows: Sequence[SpanRow]) -> Iterator[list[SpanRow]]:
    """Rows in groups whose bodies fit into memory together; a larger body is a group of its own."""
    group: list[SpanRow] = []
    size = 0
    for row in rows:
        if group and (len(group) == _GROUP_ROWS or size + row.content_bytes > _GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(row)
        size += row.content_bytes
    if group:
        yield group
