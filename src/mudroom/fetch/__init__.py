"""One URL to its bytes: redirects judged hop by hop, results bounded."""

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
from mudroom.fetch.resume import Continuation, HeldBody, Validators, find_total, judge_continuation
from mudroom.fetch.slots import OriginSlots, Slots
from mudroom.fetch.telling import Telling, TimedObserver, Watch, open_telling

__all__ = [
    "AcceptType",
    "Continuation",
    "FetchContext",
    "FetchEvent",
    "FetchLabel",
    "FetchObserver",
    "FetchOptions",
    "FetchRequest",
    "Fetched",
    "Fetcher",
    "HeldBody",
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
    "find_total",
    "judge_continuation",
    "open_telling",
]
