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
from mudroom.fetch.cookies import CookieJar, JarContext
from mudroom.fetch.events import FetchEvent
from mudroom.fetch.fetcher import Fetcher
from mudroom.fetch.hooks import HopHooks
from mudroom.fetch.hsts import Hsts, HstsEntry, HstsStore, MemoryHstsStore
from mudroom.fetch.hsts_file import FileHstsStore
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
from mudroom.fetch.resume import BodyVersion, Continuation, HeldBody, find_total, judge_continuation
from mudroom.fetch.retry_after import find_retry_after
from mudroom.fetch.scheduler import Scheduler, SchedulerOptions
from mudroom.fetch.slots import Slot, Slots
from mudroom.fetch.telling import Telling, TimedObserver, Watch, open_telling

__all__ = [
    "AcceptType",
    "BodyVersion",
    "ContentRange",
    "Continuation",
    "CookieJar",
    "FetchContext",
    "FetchEvent",
    "FetchLabel",
    "FetchObserver",
    "FetchOptions",
    "FetchRequest",
    "Fetched",
    "Fetcher",
    "FileHstsStore",
    "HeldBody",
    "HopCheck",
    "HopHooks",
    "Hsts",
    "HstsEntry",
    "HstsStore",
    "JarContext",
    "MemoryHstsStore",
    "NullContext",
    "NullObserver",
    "Priority",
    "RedirectRule",
    "RedirectScope",
    "RequestInitiator",
    "ResourceKind",
    "Scheduler",
    "SchedulerOptions",
    "Slot",
    "Slots",
    "Streamed",
    "Telling",
    "TimedObserver",
    "Validators",
    "Watch",
    "check_not_modified",
    "check_part",
    "condition_headers",
    "find_retry_after",
    "find_total",
    "judge_continuation",
    "open_telling",
    "range_headers",
    "read_validators",
]
