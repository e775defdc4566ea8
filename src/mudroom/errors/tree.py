"""Every way mudroom can fail: one tree, stable codes.

    MudroomError
    ├── InvalidConfig      settings or arguments that cannot be used
    ├── EgressRefused      a URL, name or address that policy does not let us reach
    ├── FetchFailed        the network or the peer failed
    ├── ContentRefused     bytes of a size, type or form that we do not read
    ├── GuestFailed        a jailed guest died, hung or answered nonsense
    ├── StoreFailed        the archive or the corpus could not read or write
    ├── FileRefused        a local file that cannot be taken in
    ├── CrawlStopped       a budget or a person ended the work
    └── NotFound           a run, reference or file that is not there

A code is what crosses a process or network boundary; the message is for a person and names
the host, run or file, never the path or query of a URL.
"""

from __future__ import annotations

from typing import Any

from mudroom.errors.codes import Code, Reason
from mudroom.errors.facts import CODES

__all__ = [
    "ContentRefused",
    "CrawlStopped",
    "EgressRefused",
    "FetchFailed",
    "FileRefused",
    "GuestFailed",
    "InvalidConfig",
    "MudroomError",
    "NotFound",
    "StoreFailed",
]


class MudroomError(Exception):
    """A failure with a code. Raised at floors, turned into an outcome by `intake`."""

    def __init__(self, code: Code, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        """What exactly, where the code leaves it open: one of `model.REFUSAL_DETAILS`, or nothing."""
        self.wire_bytes = 0
        """Body bytes that had come when a fetch failed, of all its hops."""
        self.hops: tuple[Any, ...] = ()
        """The requests made before the failure (`model.Hop`), where it met a fetch on its way."""
        self.stopped_at: str | None = None
        """The URL at which a fetch stood when it failed; a redirect that was not followed leads from it."""

    @property
    def reason(self) -> Reason:
        """The class of this failure."""
        return CODES[self.code].reason

    @property
    def retryable(self) -> bool:
        """Whether the same request can succeed later without a change."""
        return CODES[self.code].retryable

    @property
    def advice(self) -> str:
        """What a person can do about it, in one sentence."""
        return CODES[self.code].advice


class InvalidConfig(MudroomError):  # noqa: N818 - the public name of the plan
    """Settings or arguments that cannot be used; `faults` holds each of them."""

    def __init__(self, faults: str | tuple[str, ...], *, is_of_run: bool = False) -> None:
        self.faults = (faults,) if isinstance(faults, str) else faults
        self.is_of_run = is_of_run
        """A run that was named does not fit what is asked of it: the fault says what to do instead."""
        super().__init__(Code.INVALID_CONFIG, "\n".join(self.faults))


class EgressRefused(MudroomError):  # noqa: N818 - a refusal is a verdict, not an error
    """A URL, name, port or address that policy does not let us reach."""


class FetchFailed(MudroomError):  # noqa: N818
    """The network failed, or the peer broke the protocol."""


class ContentRefused(MudroomError):  # noqa: N818
    """Bytes of a size, type or form that we do not read."""


class GuestFailed(MudroomError):  # noqa: N818
    """A jailed guest died, hung or answered nonsense; it cost one document."""


class StoreFailed(MudroomError):  # noqa: N818
    """The archive or the corpus could not be read or written."""


class FileRefused(MudroomError):  # noqa: N818
    """A local file that cannot be taken in."""


class CrawlStopped(MudroomError):  # noqa: N818
    """A budget or a person ended the work."""


class NotFound(MudroomError):  # noqa: N818
    """A run, reference or file that is not there."""
