"""One frame: a fixed header, then a payload of exactly the length it names.

    offset  size  what
    0       4     magic, b"MUDR"
    4       1     version of the schemas
    5       1     kind
    6       2     zero
    8       16    nonce: chosen by the asker for each frame, echoed by the answerer
    24      4     length of the payload in bytes, little endian

A reader looks at the length before it reads a byte of the payload.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, unique

from mudroom.errors import Code, GuestFailed

__all__ = ["HEADER_BYTES", "NONCE_BYTES", "FrameHeader", "FrameKind", "pack_header", "parse_header", "refuse"]

_HEADER = struct.Struct("<4sBBH16sI")
_MAGIC = b"MUDR"
_VERSION = 1
HEADER_BYTES = _HEADER.size
NONCE_BYTES = 16


@unique
class FrameKind(IntEnum):
    """What a payload holds. Never renumbered."""

    HELLO = 1
    READY = 2
    EXTRACT = 3
    EXTRACTED = 4
    SCAN = 5
    SCANNED = 6
    FAILURE = 7
    SITEMAP = 8
    SITEMAP_READ = 9


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """What stands before a payload."""

    kind: FrameKind
    nonce: bytes
    length: int


_KINDS = {int(kind): kind for kind in FrameKind}


def pack_header(kind: FrameKind, nonce: bytes, length: int) -> bytes:
    """The bytes that go before a payload of `length` bytes. Raises ValueError on a nonce of another size."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError("a nonce has 16 bytes")
    return _HEADER.pack(_MAGIC, _VERSION, kind, 0, nonce, length)


def parse_header(untrusted: bytes | bytearray | memoryview, max_payload_bytes: int) -> FrameHeader:
    """The header in the first HEADER_BYTES bytes, its length within the cap.

    Shapes: `untrusted` holds HEADER_BYTES bytes or more; what follows is not looked at.
    Raises: GuestFailed(GUEST_PROTOCOL) on a wrong magic, version, kind or filler, or on a length above
    the cap; nothing was allocated for it by then.
    """
    magic, version, kind, filler, nonce, length = _HEADER.unpack_from(untrusted)
    if magic != _MAGIC or version != _VERSION or filler != 0:
        raise refuse("not a frame of this version")
    if kind not in _KINDS:
        raise refuse("a frame of unknown kind")
    if length > max_payload_bytes:
        raise refuse(f"a payload of {length} bytes where {max_payload_bytes} are allowed")
    return FrameHeader(_KINDS[kind], nonce, length)


def refuse(what: str) -> GuestFailed:
    """The failure of a frame that does not keep to its schema; `what` holds no text of the document."""
    return GuestFailed(Code.GUEST_PROTOCOL, f"a frame from the jail was refused: {what}")
