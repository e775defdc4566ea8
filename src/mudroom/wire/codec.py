"""Primitive values to bytes and back: fixed sizes, lengths before contents, nothing left over."""

from __future__ import annotations

import struct

from mudroom.wire.frame import refuse

__all__ = ["PayloadReader", "PayloadWriter"]

_U8 = struct.Struct("<B")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class PayloadWriter:
    """Collects the parts of a payload; `finish` joins them once."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def put_u8(self, value: int) -> None:
        """One byte, 0 to 255."""
        self._parts.append(_U8.pack(value))

    def put_u32(self, value: int) -> None:
        """Four bytes, little endian."""
        self._parts.append(_U32.pack(value))

    def put_u64(self, value: int) -> None:
        """Eight bytes, little endian."""
        self._parts.append(_U64.pack(value))

    def put_raw(self, value: bytes) -> None:
        """Bytes whose length the schema knows."""
        self._parts.append(value)

    def put_bytes(self, value: bytes) -> None:
        """A length and so many bytes."""
        self._parts += (_U32.pack(len(value)), value)

    def put_text(self, value: str) -> None:
        """A length in bytes and the text as UTF-8. Raises UnicodeEncodeError on a lone surrogate."""
        self.put_bytes(value.encode())

    def finish(self) -> bytes:
        """The payload."""
        return b"".join(self._parts)


class PayloadReader:
    """Takes values from a payload in order, never beyond its end, never above a cap.

    Each method raises GuestFailed(GUEST_PROTOCOL) where the payload does not hold what is asked for.
    """

    __slots__ = ("_data", "_offset")

    def __init__(self, untrusted_payload: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(untrusted_payload)
        self._offset = 0

    def take_u8(self) -> int:
        """One byte."""
        return self._take(1)[0]

    def take_u32(self, maximum: int) -> int:
        """Four bytes as a number that is at most `maximum`."""
        (value,) = _U32.unpack(self._take(4))
        if value > maximum:
            raise refuse(f"a number of {value} where {maximum} is the most")
        return int(value)

    def take_u64(self) -> int:
        """Eight bytes as a number."""
        (value,) = _U64.unpack(self._take(8))
        return int(value)

    def take_raw(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        return bytes(self._take(size))

    def take_bytes(self, max_bytes: int) -> bytes:
        """A length of at most `max_bytes` and so many bytes."""
        return bytes(self._take(self.take_u32(max_bytes)))

    def take_text(self, max_bytes: int) -> str:
        """A length of at most `max_bytes` and so many bytes of strict UTF-8."""
        view = self._take(self.take_u32(max_bytes))
        try:
            return str(view, "utf-8")
        except UnicodeDecodeError:
            raise refuse("text that is not UTF-8") from None

    def take_flag(self) -> bool:
        """One byte that is 0 or 1."""
        value = self.take_u8()
        if value > 1:
            raise refuse("a flag that is neither 0 nor 1")
        return value == 1

    def finish(self) -> None:
        """Nothing, if the payload was read to its end."""
        if self._offset != len(self._data):
            raise refuse(f"{len(self._data) - self._offset} bytes behind the end")

    def _take(self, size: int) -> memoryview:
        end = self._offset + size
        if end > len(self._data):
            raise refuse("a payload that ends too early")
        view = self._data[self._offset : end]
        self._offset = end
        return view
