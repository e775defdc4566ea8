"""One URL to its bytes: redirects judged hop by hop, results bounded."""

from mudroom.fetch.body import RequestBody, StreamBody
from mudroom.fetch.caller import describe_end
from mudroom.fetch.conditional import (
    Validators,
    check_not_modified,
    condition_headers,
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
from mudroom.fetch.events import FetchEvent, FinishedEvent
from mudroom.fetch.fetcher import Fetcher
from mudroom.fetch.file_sink import FileSink, fail_to_write, put_in_place
from mudroom.fetch.hooks import HopHooks
from mudroom.fetch.hsts import Hsts, HstsEntry, HstsStore, MemoryHstsStore
from mudroom.fetch.hsts_file import FileHstsStore
from mudroom.fetch.pump import Pump, Pumped, Sink
from mudroom.fetch.reply import PEEK_BYTES, Reply, ReplyTimings
from mudroom.fetch.request import (
    AcceptType,
    FetchOptions,
    FetchRequest,
    HopCheck,
    Priority,
    RedirectRule,
    RedirectScope,
)
from mudroom.fetch.result import Fetched, ReplyHead, Streamed
from mudroom.fetch.resume import BodyVersion, Continuation, HeldBody, find_total, judge_continuation
from mudroom.fetch.retry_after import find_retry_after
from mudroom.fetch.scheduler import Scheduler, SchedulerOptions
from mudroom.fetch.shared_body import BodyReader, SharedBody
from mudroom.fetch.slots import Slot, Slots
from mudroom.fetch.telling import Telling, TimedObserver, Watch, open_telling

__all__ = [
    "PEEK_BYTES",
    "AcceptType",
    "BodyReader",
    "BodyVersion",
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
    "FileSink",
    "FinishedEvent",
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
    "Pump",
    "Pumped",
    "RedirectRule",
    "RedirectScope",
    "Reply",
    "ReplyHead",
    "ReplyTimings",
    "RequestBody",
    "RequestInitiator",
    "ResourceKind",
    "Scheduler",
    "SchedulerOptions",
    "SharedBody",
    "Sink",
    "Slot",
    "Slots",
    "StreamBody",
    "Streamed",
    "Telling",
    "TimedObserver",
    "Validators",
    "Watch",
    "check_not_modified",
    "condition_headers",
    "describe_end",
    "fail_to_write",
    "find_retry_after",
    "find_total",
    "judge_continuation",
    "open_telling",
    "put_in_place",
    "read_validators",
]
