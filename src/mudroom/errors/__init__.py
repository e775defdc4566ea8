"""Every way mudroom can fail: one tree, stable codes."""

from mudroom.errors.codes import Code, Reason
from mudroom.errors.facts import CODES, CodeFacts
from mudroom.errors.tree import (
    ContentRefused,
    CrawlStopped,
    EgressRefused,
    FetchFailed,
    FileRefused,
    GuestFailed,
    InvalidConfig,
    MudroomError,
    NotFound,
    StoreFailed,
)

__all__ = [
    "CODES",
    "Code",
    "CodeFacts",
    "ContentRefused",
    "CrawlStopped",
    "EgressRefused",
    "FetchFailed",
    "FileRefused",
    "GuestFailed",
    "InvalidConfig",
    "MudroomError",
    "NotFound",
    "Reason",
    "StoreFailed",
]
