"""The frames around the work: a guest greeted, a guest ready, a failure in so many codes."""

from __future__ import annotations

from dataclasses import dataclass

from mudroom.errors import Code
from mudroom.model import REFUSAL_DETAILS
from mudroom.wire.codec import PayloadReader, PayloadWriter
from mudroom.wire.frame import refuse

__all__ = [
    "GuestHello",
    "GuestReady",
    "decode_failure",
    "decode_hello",
    "decode_ready",
    "encode_failure",
    "encode_hello",
    "encode_ready",
]

# What a guest may say went wrong. Numbers cross, never words: a message written inside could hold
# the document's own.
_CODES = {
    1: Code.EXTRACTION_FAILED,
    2: Code.EXTRACTION_LIMIT,
    3: Code.UNSUPPORTED_CONTENT_TYPE,
    4: Code.SCANNER_FAILURE,
    5: Code.GUEST_MEMORY,
    6: Code.GUEST_PROTOCOL,
}
_DETAIL_NUMBERS = {detail: number for number, detail in enumerate(REFUSAL_DETAILS, 1)}
_NO_DETAIL = 0
_CODE_NUMBERS = {code: number for number, code in _CODES.items()}
_MAX_LANDLOCK_ABI = 1000
_MAX_UID = 2**32 - 1
_MAX_SETTINGS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestHello:
    """What a guest is told before its first document."""

    max_answer_bytes: int
    """Longer answers are failures: the parent would kill for them."""
    settings: tuple[int, ...] = ()
    """Its role's own limits, in the order of their declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestReady:
    """What a guest found when it had locked itself and then tried its own door."""

    landlock_abi: int
    """0 where the kernel has no Landlock or it was not asked for."""
    has_seccomp: bool
    uid: int
    escapes: int
    """One bit for each forbidden thing that worked when it was tried; 0 is a good lock."""


def encode_hello(hello: GuestHello) -> bytes:
    """The payload that greets a guest."""
    writer = PayloadWriter()
    writer.put_u64(hello.max_answer_bytes)
    writer.put_u8(len(hello.settings))
    for setting in hello.settings:
        writer.put_u64(setting)
    return writer.finish()


def decode_hello(payload: bytes | bytearray | memoryview) -> GuestHello:
    """What a guest is told. Raises GuestFailed(GUEST_PROTOCOL)."""
    reader = PayloadReader(payload)
    max_answer_bytes = reader.take_u64()
    count = reader.take_u8()
    if count > _MAX_SETTINGS:
        raise refuse("more settings than there are")
    settings = tuple(reader.take_u64() for _ in range(count))
    reader.finish()
    return GuestHello(max_answer_bytes=max_answer_bytes, settings=settings)


def encode_ready(ready: GuestReady) -> bytes:
    """The payload of a guest that can take documents."""
    writer = PayloadWriter()
    writer.put_u32(ready.landlock_abi)
    writer.put_u8(ready.has_seccomp)
    writer.put_u32(ready.uid)
    writer.put_u32(ready.escapes)
    return writer.finish()


def decode_ready(payload: bytes | bytearray | memoryview) -> GuestReady:
    """What a guest says of its lock. Raises GuestFailed(GUEST_PROTOCOL)."""
    reader = PayloadReader(payload)
    ready = GuestReady(
        landlock_abi=reader.take_u32(_MAX_LANDLOCK_ABI),
        has_seccomp=reader.take_flag(),
        uid=reader.take_u32(_MAX_UID),
        escapes=reader.take_u32(_MAX_UID),
    )
    reader.finish()
    return ready


def encode_failure(code: Code, detail: str = "") -> bytes:
    """The payload of a failure; a code that guests may not name becomes EXTRACTION_FAILED.

    Shapes: a `detail` that is none of `REFUSAL_DETAILS` is left out.
    """
    number = _CODE_NUMBERS.get(code, _CODE_NUMBERS[Code.EXTRACTION_FAILED])
    return bytes((number, _DETAIL_NUMBERS.get(detail, _NO_DETAIL)))


def decode_failure(untrusted_payload: bytes | bytearray | memoryview) -> tuple[Code, str]:
    """Code and detail of a failure, each one of those that guests may name; the detail may be empty.

    Raises: GuestFailed(GUEST_PROTOCOL).
    """
    reader = PayloadReader(untrusted_payload)
    number, detail = reader.take_u8(), reader.take_u8()
    reader.finish()
    if number not in _CODES or detail > len(REFUSAL_DETAILS):
        raise refuse("a failure of unknown code")
    return _CODES[number], REFUSAL_DETAILS[detail - 1] if detail else ""
