"""Content codings undone as a stream, within bounds: a bomb stops early, whatever it is wrapped in.

Each coding is a stage that is fed bytes and gives them on in pieces of at most about 128 KiB; the pieces of
one stage are fed to the next before the stage makes more. So memory stays flat however codings are nested,
and every stage, not only the last, is held to the limit.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

import brotli

from mudroom.errors import Code, ContentRefused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["BodyDecoder"]

_MAX_NESTED = 3
_PIECE_BYTES = 65_536
_MAX_MEMBERS = 10_000  # a blocked gzip of 640 MB; each empty member costs as much time as a real one
_ZSTD_WINDOW_LOG = 23  # RFC 9659: a content coding's window is at most 8 MiB
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = (b"\x28\xb5\x2f\xfd", *(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60)))


class _Stage(Protocol):
    """One coding being undone."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces; raises ValueError where the bytes are not of this coding."""
        ...

    def is_complete(self) -> bool:
        """Whether the stream has come to its own end (or never began)."""
        ...


class _GzipStage:
    """RFC 1952, with several members; bytes behind the last that start no member are ignored, as browsers do."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)
        self._held = b""
        self._members = 0
        self._is_started = False
        self._is_over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        pending = self._held + data
        self._held = b""
        while pending and not self._is_over:
            if self._inflate.eof:
                pending = self._next_member(pending)
                continue
            self._is_started = True
            member = self._inflate
            yield member.decompress(pending, _PIECE_BYTES)
            pending = member.unused_data if member.eof else member.unconsumed_tail

    def _next_member(self, pending: bytes) -> bytes:
        pending = pending.lstrip(b"\0")
        if len(pending) < len(_GZIP_MAGIC):
            self._held = pending
            return b""
        if not pending.startswith(_GZIP_MAGIC):
            self._is_over = True
            return b""
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise ValueError("too many members")
        self._inflate = zlib.decompressobj(wbits=31)
        return pending

    def is_complete(self) -> bool:
        return self._inflate.eof or not self._is_started


class _DeflateStage:
    """The coding "deflate": zlib as RFC 9110 says, or the raw stream that some servers send."""

    def __init__(self) -> None:
        self._inflate: zlib._Decompress | None = None
        self._held = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        pending = self._held + data
        if self._inflate is None:
            if len(pending) < 2:  # noqa: PLR2004 - a zlib header is two bytes
                self._held = pending
                return
            self._held = b""
            is_zlib = pending[0] & 0x0F == zlib.DEFLATED and int.from_bytes(pending[:2]) % 31 == 0
            self._inflate = zlib.decompressobj(wbits=15 if is_zlib else -15)
        while pending and not self._inflate.eof:
            yield self._inflate.decompress(pending, _PIECE_BYTES)
            pending = self._inflate.unconsumed_tail

    def is_complete(self) -> bool:
        return not self._held and (self._inflate is None or self._inflate.eof)


class _BrotliStage:
    """RFC 7932."""

    def __init__(self) -> None:
        self._brotli = brotli.Decompressor()
        self._is_started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not data or self._brotli.is_finished():
            return
        self._is_started = True
        yield self._brotli.process(data, output_buffer_limit=_PIECE_BYTES)
        while not self._brotli.can_accept_more_data() and not self._brotli.is_finished():
            yield self._brotli.process(b"", output_buffer_limit=_PIECE_BYTES)

    def is_complete(self) -> bool:
        return self._brotli.is_finished() or not self._is_started


class _ZstdStage:
    """RFC 8878 frames, one behind the other, skippable ones among them."""

    def __init__(self) -> None:
        self._zstd = self._start()
        self._held = b""
        self._frames = 0
        self._is_started = False
        self._is_over = False

    @staticmethod
    def _start() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    def feed(self, data: bytes) -> Iterator[bytes]:
        pending = self._held + data
        self._held = b""
        while not self._is_over and (pending or not (self._zstd.eof or self._zstd.needs_input)):
            if self._zstd.eof:
                pending = self._next_frame(pending)
                continue
            self._is_started = True
            frame = self._zstd
            yield frame.decompress(pending, _PIECE_BYTES)
            pending = frame.unused_data if frame.eof else b""

    def _next_frame(self, pending: bytes) -> bytes:
        if len(pending) < 4:  # noqa: PLR2004 - a zstd magic number is four bytes
            self._held = pending
            return b""
        if pending[:4] not in _ZSTD_MAGIC:
            self._is_over = True
            return b""
        self._frames += 1
        if self._frames > _MAX_MEMBERS:
            raise ValueError("too many frames")
        self._zstd = self._start()
        return pending

    def is_complete(self) -> bool:
        return self._zstd.eof or not self._is_started


_STAGES: dict[str, type[_Stage]] = {
    "gzip": _GzipStage,
    "x-gzip": _GzipStage,
    "deflate": _DeflateStage,
    "br": _BrotliStage,
    "zstd": _ZstdStage,
}


class BodyDecoder:
    """A body as it was before its content codings, piece by piece.

    Raises: ContentRefused with UNSUPPORTED_ENCODING (when made), DECODE_FAILED for bytes that are not of
    the coding or end before it does, DECODED_TOO_LARGE as soon as any stage passes `max_decoded_bytes`.
    """

    def __init__(self, content_encoding: str | None, max_decoded_bytes: int, *, host: str = "") -> None:
        """Shapes: `host` is whose body it is, for what is said of one that cannot be decoded."""
        self._what = f"the body from {host}" if host else "the body"
        names = [name.strip().lower() for name in (content_encoding or "").split(",")]
        names = [name for name in names if name not in {"", "identity"}]
        if len(names) > _MAX_NESTED or any(name not in _STAGES for name in names):
            raise ContentRefused(
                Code.UNSUPPORTED_ENCODING,
                f"{self._what} comes in a Content-Encoding that is not read, or in too many at once",
            )
        self._stages = [_STAGES[name]() for name in reversed(names)]
        self._limit = max_decoded_bytes
        self._made = [0] * (len(self._stages) + 1)

    def feed(self, chunk: bytes) -> bytes:
        """What one more chunk of the body decodes to; may be empty."""
        return b"".join(self.pieces(chunk))

    def pieces(self, chunk: bytes) -> Iterable[bytes]:
        """What one more chunk decodes to, in pieces of which none is much larger than 128 KiB or the chunk.

        To be read to its end before the next chunk.
        """
        if self._stages:
            return self._unpack(chunk)
        self._made[0] += len(chunk)
        self._check(0)
        return (chunk,)

    def _unpack(self, chunk: bytes) -> Iterator[bytes]:
        try:
            yield from self._run(0, chunk)
        except (zlib.error, brotli.error, zstd.ZstdError, ValueError, EOFError) as error:
            raise self._fail() from error

    def finish(self) -> bytes:
        """The end of the body: the last bytes (none, so far), or DECODE_FAILED for a stream cut short."""
        if not all(stage.is_complete() for stage in self._stages):
            raise self._fail()
        return b""

    def _run(self, level: int, data: bytes) -> Iterator[bytes]:
        self._made[level] += len(data) if level else 0
        if level == len(self._stages):
            self._check(level)
            yield data
            return
        self._check(level)
        for piece in self._stages[level].feed(data):
            if piece:
                yield from self._run(level + 1, piece)

    def _check(self, level: int) -> None:
        if self._made[level] > self._limit:
            raise ContentRefused(
                Code.DECODED_TOO_LARGE,
                f"{self._what} unpacks to more than the {self._limit:,} bytes that are allowed",
            )

    def _fail(self) -> ContentRefused:
        return ContentRefused(
            Code.DECODE_FAILED, f"{self._what} is damaged, cut short, or not what its Content-Encoding says"
        )
