"""However often a download breaks off, and whatever the server changes meanwhile: one version, whole, or none."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.cli.partial import PartialFile
from mudroom.errors import Code, FetchFailed
from mudroom.fetch import BodyVersion, Continuation, find_total, judge_continuation

URL = "https://a.test/f"
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Manner:
    """How a server answers one request, and in which version; a strong tag is never of two versions."""

    version: int
    length: int
    is_tagged: bool
    heeds_range: bool
    heeds_if_range: bool
    shift: int
    """How far beside the range asked for a part begins."""
    tells_length: bool
    breaks_after: int | None

    @property
    def body(self) -> bytes:
        return bytes([65 + self.version]) * self.length

    @property
    def etag(self) -> str:
        return f'"{self.version}.{self.length}"'


manners = st.builds(
    Manner,
    version=st.integers(0, 2),
    length=st.sampled_from([0, 1, 7, 20]),
    is_tagged=st.sampled_from([True, True, True, False]),
    heeds_range=st.sampled_from([True, True, True, False]),
    heeds_if_range=st.booleans(),
    shift=st.sampled_from([0, 0, 0, -1, 1]),
    tells_length=st.booleans(),
    breaks_after=st.none() | st.integers(0, 20),
)


def answer(manner: Manner, asked: Headers) -> tuple[int, Headers, bytes]:
    fields = dict(asked)
    tag: Headers = (("ETag", manner.etag),) if manner.is_tagged else ()
    length: Headers = (("Content-Length", str(manner.length)),) if manner.tells_length else ()
    is_same = not manner.heeds_if_range or fields.get("If-Range") == manner.etag
    if "Range" not in fields or not manner.heeds_range or not is_same:
        return 200, (*tag, *length), manner.body
    first = max(0, int(fields["Range"].removeprefix("bytes=").removesuffix("-")) + manner.shift)
    if first >= manner.length:
        return 416, (*tag, ("Content-Range", f"bytes */{manner.length}")), b""
    whole = str(manner.length) if manner.tells_length else "*"
    content_range = ("Content-Range", f"bytes {first}-{manner.length - 1}/{whole}")
    return 206, (*tag, content_range), manner.body[first:]


async def send(body: bytes, breaks_after: int | None) -> AsyncIterator[bytes]:
    sent = body if breaks_after is None else body[:breaks_after]
    for index in range(0, len(sent), 3):
        yield sent[index : index + 3]
    if sent != body:
        raise FetchFailed(Code.CONNECTION_LOST, "it broke off")


async def ask(part: PartialFile, manner: Manner) -> Continuation:
    held = part.held
    status, headers, body = answer(manner, held.range_headers)
    meaning = judge_continuation(held, status, headers)
    if meaning is Continuation.APPEND:
        part.expect(find_total(status, headers))
    elif meaning is Continuation.RESTART:
        part.begin(BodyVersion.of(headers), find_total(status, headers))
    if meaning in {Continuation.APPEND, Continuation.RESTART}:
        await part.take(send(body, manner.breaks_after))
    return meaning


async def attempt(target: Path, manner: Manner) -> bool:
    """Whether the file has come."""
    try:
        with PartialFile(target, URL) as part:
            if await ask(part, manner) is Continuation.AGAIN:
                part.forget()
                await ask(part, manner)
            part.finish()
    except FetchFailed:
        return False
    return True


@given(st.lists(manners, min_size=1, max_size=6))
@settings(max_examples=300)
def test_what_comes_is_one_version_and_whole(history: list[Manner]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "f"
        for manner in history:
            has_come = asyncio.run(attempt(target, manner))
            assert target.exists() == has_come
            if has_come:
                # The server's of this moment, or one that had come wholly before: the last is all that tells.
                assert target.read_bytes() == manner.body
                return
