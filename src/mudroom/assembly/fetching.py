"""The guarded fetcher for programs: `mudroom.Fetcher`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from mudroom.address import ExceptionScope
from mudroom.assembly.house import Network, open_fetcher
from mudroom.clock import SystemClock
from mudroom.fetch import (
    FetchContext,
    Fetched,
    FetchRequest,
    FinishedEvent,
    Reply,
    Streamed,
    Watch,
    describe_end,
)
from mudroom.fetch import Fetcher as Engine
from mudroom.settings import Settings, load_settings

__all__ = ["Fetcher"]


class Fetcher:
    """The one fetcher, with settings read and parts joined: guarded, bounded, scheduled.

        async with mudroom.Fetcher() as fetcher:
            reply = await fetcher.submit(mudroom.FetchRequest("GET", "https://example.org/"))

    A URL that a program writes into a request counts as named by the operator, as with `mudroom.open`: the
    exceptions of the settings (`egress.allow_origins`, `allow_networks`) hold for it. A URL that the program read
    in a document does not deserve that: give the document's URL as `base` in its request, or `is_named=False`.
    Leaving closes every connection; requests that are still on their way fail.
    """

    def __init__(
        self,
        config: Settings | None = None,
        context: FetchContext | None = None,
        *,
        network: Network | None = None,
    ) -> None:
        """Shapes: without `config`, the settings of this user; without `context`, nobody hears or is asked."""
        self._config = config
        self._context = context
        self._network = network or Network()
        self._now = SystemClock().monotonic
        self._stack = AsyncExitStack()
        self._engine: Engine | None = None

    async def __aenter__(self) -> Self:
        """Open the network. Raises: InvalidConfig."""
        settings = self._config or load_settings(os.environ)
        self._engine = await self._stack.enter_async_context(
            open_fetcher(settings, self._network, context=self._context)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; no socket, task or thread remains."""
        self._engine = None
        await self._stack.aclose()

    @property
    def in_flight(self) -> int:
        """How many exchanges of `submit` run; when it is 0 they hold no slot, no socket and no task."""
        return 0 if self._engine is None else self._engine.in_flight

    async def submit(self, request: FetchRequest | str, *, is_named: bool = True) -> Reply:
        """The answer, any status; shared with those who ask the same at the same time.

        Shapes: with `is_streaming` in the request it is here at the beginning of its body, else with all of it.
        Raises: EgressRefused, FetchFailed, ContentRefused.
        """
        return await self._opened().submit(_name(request, is_named=is_named))

    async def fetch(self, request: FetchRequest | str, *, is_named: bool = True) -> Fetched:
        """The whole answer, any status, by a request of its own, with its bytes as received and decoded.

        Raises: as `submit`.
        """
        engine, request = self._opened(), _name(request, is_named=is_named)
        watch = engine.watch(request)
        with _telling_failures(watch):
            fetched = await engine.fetch(request, listener=watch)
        if watch is not None:
            watch.tell(FinishedEvent(fetched.wire_bytes, fetched.duration_seconds))
        return fetched

    @asynccontextmanager
    async def stream(self, request: FetchRequest | str, *, is_named: bool = True) -> AsyncIterator[Streamed]:
        """The answer, entered at its headers, by a request of its own; its body is read as it comes.

        Leaving it ends the request: for observers as finished, however much of the body was wanted, unless an
        error left with it. Raises: as `submit`.
        """
        engine, request = self._opened(), _name(request, is_named=is_named)
        watch, began = engine.watch(request), self._now()
        with _telling_failures(watch):
            async with engine.stream(request, listener=watch) as answer:
                yield answer
        if watch is not None:
            watch.tell(FinishedEvent(answer.wire_bytes, self._now() - began))

    def _opened(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("the fetcher is not open: async with mudroom.Fetcher() as fetcher")
        return self._engine


@contextmanager
def _telling_failures(watch: Watch | None) -> Iterator[None]:
    """Whatever ends the work otherwise than well is told before it goes on its way."""
    try:
        yield
    except BaseException as error:
        if watch is not None:
            watch.tell(describe_end(error))
        raise


def _name(request: FetchRequest | str, *, is_named: bool) -> FetchRequest:
    """The request, with the operator's exceptions where its URL is one that the program wrote."""
    if isinstance(request, str):
        request = FetchRequest("GET", request)
    is_written = isinstance(request.url, str) and request.base is None
    if not is_named or not is_written or request.initiator_scope != ExceptionScope.none():
        return request
    return replace(request, initiator_scope=ExceptionScope.operator())
