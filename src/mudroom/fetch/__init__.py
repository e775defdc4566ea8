"""One URL to its bytes: redirects judged hop by hop, results bounded."""

from mudroom.fetch.fetcher import Fetcher
from mudroom.fetch.request import (
    AcceptType,
    FetchOptions,
    FetchRequest,
    HopCheck,
    Priority,
    RedirectRule,
    RedirectScope,
)
from mudroom.fetch.result import Fetched, Streamed
from mudroom.fetch.slots import OriginSlots, Slots

__all__ = [
    "AcceptType",
    "FetchOptions",
    "FetchRequest",
    "Fetched",
    "Fetcher",
    "HopCheck",
    "OriginSlots",
    "Priority",
    "RedirectRule",
    "RedirectScope",
    "Slots",
    "Streamed",
]
