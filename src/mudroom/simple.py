"""One URL in one call, guarded: `mudroom.simple.get("https://example.org/")`.

    get, fetch      block; in a running event loop too, which then stands still for as long
    aget, afetch    the same for coroutines

At most 10 MiB, connected within 10 s, all of it within 30 s. `get` and `aget` give the bytes of a 2xx answer and raise
FetchFailed HTTP_STATUS for any other; `fetch` and `afetch` give every answer. The guard is that of `mudroom.open`, with
the settings of this user; what is named here counts as named by the operator. Each call opens the network and closes
it again: for more than a few requests a `mudroom.Fetcher` is quicker, and shares connections.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

from mudroom.address import parse_url
from mudroom.assembly.fetching import Fetcher
from mudroom.errors import Code, FetchFailed
from mudroom.fetch import Fetched, FetchRequest
from mudroom.settings import Settings, load_settings

__all__ = ["Response", "afetch", "aget", "fetch", "get"]

_MAX_BYTES = 10 * 1024 * 1024
_CONNECT_SECONDS = 10.0
_TOTAL_SECONDS = 30.0
_SUCCESSES = range(200, 300)

Answer = TypeVar("Answer")
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer of any status. All of it but `url` and `status` are the peer's words: untrusted."""

    url: str
    """Where it came from, after redirects."""
    status: int
    reason: str
    headers: Headers
    """In order, duplicates kept."""
    body: bytes
    """Without content codings."""

    def header(self, name: str) -> str | None:
        """The last value of a field; None where it is not there."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return values[-1] if values else None


def get(url: str, *, headers: Headers = (), settings: Settings | None = None) -> bytes:
    """The body of a 2xx answer.

    Raises: EgressRefused where the guard refuses; FetchFailed, with HTTP_STATUS for any other status;
        ContentRefused for more than 10 MiB; InvalidConfig.
    """
    return _block(lambda: aget(url, headers=headers, settings=settings))


def fetch(url: str, *, headers: Headers = (), settings: Settings | None = None) -> Response:
    """The answer, whatever its status. Raises: as `get`, but for the status."""
    return _block(lambda: afetch(url, headers=headers, settings=settings))


async def aget(url: str, *, headers: Headers = (), settings: Settings | None = None) -> bytes:
    """The body of a 2xx answer. Raises: as `get`."""
    answer = await _ask(url, headers, settings)
    if answer.status not in _SUCCESSES:
        raise FetchFailed(Code.HTTP_STATUS, f"{answer.final.host} answered with status {answer.status}")
    return answer.decoded


async def afetch(url: str, *, headers: Headers = (), settings: Settings | None = None) -> Response:
    """The answer, whatever its status. Raises: as `fetch`."""
    answer = await _ask(url, headers, settings)
    return Response(
        url=answer.final.href,
        status=answer.status,
        reason=answer.reason,
        headers=answer.headers,
        body=answer.decoded,
    )


async def _ask(
    url: str, headers: Headers, settings: Settings | None, total_seconds: float = _TOTAL_SECONDS
) -> Fetched:
    """The answer, opening and closing of the network included in its time. Raises: as `fetch`."""
    request = FetchRequest(
        "GET", url, headers=headers, max_body_bytes=_MAX_BYTES, max_decoded_bytes=_MAX_BYTES
    )
    try:
        async with (
            asyncio.timeout(total_seconds),
            Fetcher(_tighten(settings or load_settings(os.environ))) as fetcher,
        ):
            return await fetcher.fetch(request)
    except TimeoutError:
        asked = parse_url(url)
        who = "the site" if asked is None else asked.host
        raise FetchFailed(
            Code.TOTAL_TIMEOUT,
            f"{who} had not sent its whole answer after the {total_seconds:g} seconds that mudroom.simple waits",
        ) from None


def _tighten(settings: Settings) -> Settings:
    """The user's settings with the times of this module."""
    fetching = replace(
        settings.fetch,
        connect_timeout_seconds=_CONNECT_SECONDS,
        response_timeout_seconds=_TOTAL_SECONDS,
        chain_timeout_seconds=_TOTAL_SECONDS,
        total_timeout_seconds=_TOTAL_SECONDS,
    )
    return replace(settings, fetch=fetching)


def _block(work: Callable[[], Coroutine[None, None, Answer]]) -> Answer:
    """The result of a coroutine, on a loop of its own: in this thread, or beside the loop that runs in it."""
    if not _runs_a_loop():
        return asyncio.run(work())
    result: Future[Answer] = Future()
    stop: Future[Callable[[], object]] = Future()
    thread = threading.Thread(target=_work_in_thread, args=(work, result, stop), name="mudroom-simple")
    thread.start()
    try:
        return result.result()
    except BaseException:
        if not result.done():  # Ctrl-C, and not what the work raised
            stop.result()()
        raise
    finally:
        thread.join()


def _runs_a_loop() -> bool:
    """Whether this thread runs an event loop; asked here, so that no error of ours seems to come of that question."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _work_in_thread(
    work: Callable[[], Coroutine[None, None, Answer]],
    result: Future[Answer],
    stop: Future[Callable[[], object]],
) -> None:
    async def run() -> Answer:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work())
        stop.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    try:
        result.set_result(asyncio.run(run()))
    except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
        result.set_exception(error)
