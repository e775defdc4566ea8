"""How an interrupted body is gone on with, so that the halves of two versions never become one file.

    what lies here, its validators ─▶ Range, If-Range ─▶ 206 that fits   APPEND
                                                         200             RESTART, with what it brings
                                                         416, all here   COMPLETE
                                                         anything else   AGAIN, without Range

Source: RFC 9110 sections 8.8.1 (strong validators), 13.1.5 (If-Range), 14.4 (Content-Range), 15.3.7, 15.5.17.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum, unique

from mudroom.errors import Code, FetchFailed
from mudroom.media import header_values
from mudroom.net import Headers, declared_length

__all__ = ["BodyVersion", "Continuation", "HeldBody", "find_total", "judge_continuation"]

_STRONG_ETAG = re.compile(r'"[\x21\x23-\x7e]{1,512}"')
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
_UNSATISFIED = re.compile(r"bytes \*/([0-9]{1,18})")
_DATE = re.compile(r"[\x20-\x7e]{1,64}")
_SETTLED = timedelta(seconds=60)
"""How much older than its answer a Last-Modified must be to be strong, clocks of two machines considered."""
_PARTIAL = 206
_UNSATISFIABLE = 416


@unique
class Continuation(StrEnum):
    """What an answer means for the bytes that lie here."""

    APPEND = "append"
    RESTART = "restart"
    COMPLETE = "complete"
    AGAIN = "again"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyVersion:
    """What tells one version of a body from another, byte for byte; empty where nothing does."""

    etag: str = ""
    last_modified: str = ""

    @classmethod
    def of(cls, untrusted_headers: Headers) -> BodyVersion:
        """The strong ones of an answer. A body in a content coding has none here: its ranges are of other bytes."""
        if header_values(untrusted_headers, "content-encoding"):
            return cls()
        etags = header_values(untrusted_headers, "etag")
        etag = etags[0] if len(etags) == 1 and _STRONG_ETAG.fullmatch(etags[0]) else ""
        return cls(etag=etag, last_modified=_settled_date(untrusted_headers))

    @property
    def is_sound(self) -> bool:
        """Whether they have the form of strong ones: those from a file need not."""
        etag, date = self.etag, self.last_modified
        return (not etag or _STRONG_ETAG.fullmatch(etag) is not None) and (
            not date or _DATE.fullmatch(date) is not None
        )

    @property
    def if_range(self) -> str:
        """The value of If-Range; empty where a body cannot be gone on with."""
        return self.etag or self.last_modified

    def fit(self, untrusted_headers: Headers) -> bool:
        """Whether a part is of the version that these are of: it must say so itself."""
        name, value = ("etag", self.etag) if self.etag else ("last-modified", self.last_modified)
        return bool(value) and header_values(untrusted_headers, name) == (value,)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBody:
    """What lies here of a body."""

    size: int = 0
    total: int | None = None
    """The whole length, where the answer declared one."""
    validators: BodyVersion = BodyVersion()

    @property
    def range_headers(self) -> Headers:
        """What asks for the rest; nothing where there is nothing to go on with."""
        if not self.size or not self.validators.if_range:
            return ()
        return (("Range", f"bytes={self.size}-"), ("If-Range", self.validators.if_range))


def judge_continuation(held: HeldBody, status: int, untrusted_headers: Headers) -> Continuation:
    """What an answer to a request with `held.range_headers` means. A status of an error is judged by the caller.

    Raises: FetchFailed PROTOCOL_ERROR for a part, or the lack of one, that nobody asked for.
    """
    if not held.range_headers:
        if status in {_PARTIAL, _UNSATISFIABLE}:
            raise FetchFailed(Code.PROTOCOL_ERROR, "the server answered with a part that nobody asked for")
        return Continuation.RESTART
    if status == _PARTIAL:
        return Continuation.APPEND if _fits(held, untrusted_headers) else Continuation.AGAIN
    if status == _UNSATISFIABLE:
        return Continuation.COMPLETE if _is_whole(held, untrusted_headers) else Continuation.AGAIN
    return Continuation.RESTART


def find_total(status: int, untrusted_headers: Headers) -> int | None:
    """The length of the whole body as an answer declares it; None where it does not, or in a content coding."""
    if header_values(untrusted_headers, "content-encoding"):
        return None
    if status != _PARTIAL:
        return declared_length(untrusted_headers)
    found = _RANGE.fullmatch(_only(untrusted_headers, "content-range"))
    return None if found is None else int(found[2]) + 1


def _fits(held: HeldBody, untrusted_headers: Headers) -> bool:
    """Whether a 206 is the rest, to the last byte, of the version that lies here."""
    found = _RANGE.fullmatch(_only(untrusted_headers, "content-range"))
    if found is None or header_values(untrusted_headers, "content-encoding"):
        return False
    first, last = int(found[1]), int(found[2])
    total = last + 1 if found[3] == "*" else int(found[3])
    return (
        first == held.size
        and last + 1 == total
        and held.total in {None, total}
        and held.validators.fit(untrusted_headers)
    )


def _is_whole(held: HeldBody, untrusted_headers: Headers) -> bool:
    """Whether a 416 says that nothing is missing: of a body whose length was known, and is the same still."""
    found = _UNSATISFIED.fullmatch(_only(untrusted_headers, "content-range"))
    etags = header_values(untrusted_headers, "etag")
    return (
        found is not None
        and held.total == held.size == int(found[1])
        and (not etags or not held.validators.etag or etags == (held.validators.etag,))
    )


def _only(untrusted_headers: Headers, name: str) -> str:
    values = header_values(untrusted_headers, name)
    return values[0] if len(values) == 1 else ""


def _settled_date(untrusted_headers: Headers) -> str:
    """Last-Modified where it is a strong validator: long enough before the answer's own Date."""
    modified, date = _only(untrusted_headers, "last-modified"), _only(untrusted_headers, "date")
    if not _DATE.fullmatch(modified) or not _DATE.fullmatch(date):
        return ""
    try:
        age = parsedate_to_datetime(date) - parsedate_to_datetime(modified)
    except (TypeError, ValueError, OverflowError):
        return ""  # none, not a date, or one with a zone and one without
    return modified if age >= _SETTLED else ""
