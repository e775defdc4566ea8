"""Ids that sort by time: runs and documents."""

from __future__ import annotations

from datetime import datetime

from mudroom.model.vocabulary import RunKind

__all__ = ["format_document_id", "format_run_id"]

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def format_run_id(kind: RunKind, moment: datetime, randomness: bytes) -> str:
    """A run's id: its kind and a ULID.

    Shapes: `randomness` is 10 bytes. The ULID is 26 characters, 10 of time (milliseconds), 16 of chance.
    Source: the ULID specification, canonical encoding.
    """
    if len(randomness) != 10:  # noqa: PLR2004 - the specification's 80 bits
        raise ValueError("a ULID takes 10 bytes of randomness")
    value = int(moment.timestamp() * 1000) << 80 | int.from_bytes(randomness)
    digits = [_CROCKFORD[value >> shift & 31] for shift in range(125, -5, -5)]
    return f"{kind.value}_{''.join(digits)}"


def format_document_id(run_id: str, number: int) -> str:
    """A document's id: its run and its number in it, from 1."""
    return f"{run_id}/{number:06d}"
