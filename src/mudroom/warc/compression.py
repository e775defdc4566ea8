"""One gzip member a record, so that a record can be read at its offset without what stands before it.

ISA-L writes what zlib level 3 writes in a quarter of the time of zlib level 1; benchmarks/archive_cost.py
holds the comparison. Any gzip reader reads it.
"""

from __future__ import annotations

from typing import cast

from isal import isal_zlib

from mudroom.errors import Code, StoreFailed

__all__ = ["DEFAULT_GZIP_LEVEL", "GZIP_ERROR", "GZIP_WINDOW", "compress_member", "decompress_member"]

DEFAULT_GZIP_LEVEL = 2
"""0 to 3, ISA-L's own scale. A page of 22 KB: level 1 0.047 ms to 25.0 %, 2 0.054 ms to 24.8 %,
3 0.074 ms to 24.2 %; zlib level 1 0.19 ms to 25.5 %, level 6 0.37 ms to 21.9 %."""

GZIP_WINDOW = 31
"""15 bits of window, and 16 for "with a gzip header", as zlib has it."""

GZIP_ERROR = cast("type[Exception]", isal_zlib.error)
"""What the library raises of bytes that are no gzip; its stubs call the class an instance."""


def compress_member(parts: tuple[bytes, ...], level: int = DEFAULT_GZIP_LEVEL) -> bytes:
    """A gzip member that holds the parts, one after the other; its time stamp is 0."""
    packer = isal_zlib.compressobj(level, isal_zlib.DEFLATED, GZIP_WINDOW)
    packed = [packer.compress(part) for part in parts]
    packed.append(packer.flush())
    return b"".join(packed)


def decompress_member(untrusted_data: bytes, max_bytes: int) -> tuple[bytes, int]:
    """What the gzip member at the start of the data holds, and how long the member is.

    Raises: StoreFailed SNAPSHOT_CORRUPT when it is no gzip, is damaged, ends early, or holds more than
    `max_bytes`.
    """
    unpacker = isal_zlib.decompressobj(GZIP_WINDOW)
    try:
        content = unpacker.decompress(untrusted_data, max_bytes + 1)
    except GZIP_ERROR as damage:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT, "an archive record is damaged: its gzip data is invalid"
        ) from damage
    if len(content) > max_bytes:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, f"an archive record holds more than {max_bytes} bytes")
    if not unpacker.eof:
        raise StoreFailed(Code.SNAPSHOT_CORRUPT, "an archive record is damaged: it ends early")
    return content, len(untrusted_data) - len(unpacker.unused_data)
