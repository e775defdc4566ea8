"""A file on a site that knows ranges, in the version and manner of the moment."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mudroom.testing.routes import Drop, Route, Step
from mudroom.testing.seen import SeenRequest

BODY = bytes(range(256)) * 400


@dataclass
class RangeFile:
    """One file; tests change it between two requests."""

    body: bytes = BODY
    etag: str | None = '"v1"'
    breaks_after: int | None = None
    """How many bytes of an answer are sent before the connection is closed."""
    heeds_range: bool = True
    heeds_if_range: bool = True

    def route(self, path: str = "/data.bin") -> Route:
        return Route(path=path, answer=self.answer)

    def answer(self, seen: SeenRequest) -> Route:
        headers = (("Accept-Ranges", "bytes"), *((("ETag", self.etag),) if self.etag else ()))
        found = re.fullmatch(r"bytes=(\d+)-", seen.header("range") or "")
        is_same = not self.heeds_if_range or seen.header("if-range") == self.etag
        if found is None or not self.heeds_range or not is_same:
            return self._send(200, self.body, headers)
        first, total = int(found[1]), len(self.body)
        if first >= total:
            return self._send(416, b"", (*headers, ("Content-Range", f"bytes */{total}")))
        return self._send(
            206, self.body[first:], (*headers, ("Content-Range", f"bytes {first}-{total - 1}/{total}"))
        )

    def _send(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> Route:
        steps: tuple[Step, ...] = (body,)
        if self.breaks_after is not None:
            steps = (body[: self.breaks_after], Drop())
        return Route(
            path="",
            status=status,
            headers=headers,
            content_type="application/octet-stream",
            body=steps,
            content_length=len(body),
        )
