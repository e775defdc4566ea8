"""One URL to its bytes: redirects judged hop by hop, results bounded."""

from mudroom.fetch.conditional import (
    ContentRange,
    Validators,
    check_not_modified,
    check_part,
    condition_headers,
    range_headers,
    read_validators,
)
from mudroom.fetch.context import (
    FetchContext,
    FetchLabel,
    FetchObserver,
    NullContext,
    NullObserver,
    RequestInitiator,
    ResourceKind,
)
from mudroom.fetch.events import FetchEvent
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
from mudroom.fetch.telling import Telling, TimedObserver, Watch, open_telling

__all__ = [
    "AcceptType",
    "ContentRange",
    "FetchContext",
    "FetchEvent",
    "FetchLabel",
    "FetchObserver",
    "FetchOptions",
    "FetchRequest",
    "Fetched",
    "Fetcher",
    "HopCheck",
    "NullContext",
    "NullObserver",
    "OriginSlots",
    "Priority",
    "RedirectRule",
    "RedirectScope",
    "RequestInitiator",
    "ResourceKind",
    "Slots",
    "Streamed",
    "Telling",
    "TimedObserver",
    "Validators",
    "Watch",
    "check_not_modified",
    "check_part",
    "condition_headers",
    "open_telling",
    "range_headers",
    "read_validators",
]
