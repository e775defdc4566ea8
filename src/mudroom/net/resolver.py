"""Names to addresses: the system's resolver, off the event loop, bounded in answers, time and threads.

Why threads and not a DNS library: the system's resolver is what the machine's owner configured (VPN,
split DNS, nsswitch), and a second one would disagree with it. A blocked `getaddrinfo` cannot be
cancelled, so what matters is that slow names do not hold up others:

- a thread is started for a name whenever none is free, up to `max_threads`, far above what a crawl asks at once;
- a name that hangs holds one thread, whoever asks for it and however often;
- its callers get DNS_TIMEOUT at their deadline, and a look-up that nobody waits for any more never starts.

An answer is kept for some seconds, a failure is not. It is judged anew for every hop that uses it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol

from mudroom.address import IPAddress
from mudroom.errors import Code, FetchFailed
from mudroom.net.lookup_threads import LookupThreads
from mudroom.net.proxies import note_proxies

__all__ = ["Lookup", "Resolver", "ResolverOptions", "SystemResolver"]

Lookup = Callable[[str], Iterable[str]]
"""An absolute name to its addresses as text; blocks; raises OSError (as socket.gaierror) when there are none."""


class Resolver(Protocol):
    """What knows the addresses of a name."""

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        """All addresses of an ASCII host name, in the order of preference; at least one.

        Raises: FetchFailed DNS_FAILURE when there is none, or more than are judged; DNS_TIMEOUT.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverOptions:
    """Bounds of name resolution."""

    timeout_seconds: float = 5.0
    max_answers: int = 64
    """A name with more addresses is refused: each would have to be judged."""
    max_threads: int = 256
    cache_seconds: float = 30.0
    """How long an answer is used again; getaddrinfo tells no TTL, and browsers keep answers for 60 s."""
    max_cached: int = 4096


@dataclass(slots=True)
class _Flight:
    """One look-up and those who wait for it."""

    answer: asyncio.Future[tuple[IPAddress, ...] | str]
    """Addresses, or why there are none."""
    waiting: int = 0


class SystemResolver:
    """A `Resolver` over `getaddrinfo`: absolute names only, so that no search list is ever applied."""

    def __init__(
        self,
        options: ResolverOptions = ResolverOptions(),
        *,
        lookup: Lookup | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._options = options
        self._lookup = lookup or look_up
        # Where names are looked up by a proxy, none may resolve without it.
        self._note = note_proxies(environ)
        self._threads = LookupThreads(options.max_threads)
        self._flights: dict[str, _Flight] = {}
        self._cache: dict[str, tuple[float, tuple[IPAddress, ...]]] = {}

    async def resolve(self, host: str) -> tuple[IPAddress, ...]:
        """All addresses of an ASCII host name. Raises: as `Resolver.resolve`."""
        cached = self._cache.get(host)
        if cached is not None and asyncio.get_running_loop().time() < cached[0]:
            return cached[1]
        flight = self._flights.get(host) or self._take_off(host)
        flight.waiting += 1
        try:
            async with asyncio.timeout(self._options.timeout_seconds):
                answer = await asyncio.shield(flight.answer)
        except TimeoutError:
            raise FetchFailed(
                Code.DNS_TIMEOUT, f"the name {host} was not resolved in time{self._note}"
            ) from None
        finally:
            flight.waiting -= 1
        if isinstance(answer, str):
            raise FetchFailed(Code.DNS_FAILURE, f"the name {host} does not resolve: {answer}{self._note}")
        return answer

    def close(self) -> None:
        """Let the threads end."""
        self._threads.close()

    def _take_off(self, host: str) -> _Flight:
        loop = asyncio.get_running_loop()
        flight = self._flights[host] = _Flight(loop.create_future())

        def run() -> None:
            answer = self._ask(host) if flight.waiting else "nobody waits for it"
            with suppress(RuntimeError):  # the loop was closed meanwhile: nobody is left to tell
                loop.call_soon_threadsafe(self._land, host, flight, answer)

        self._threads.submit(run)
        return flight

    def _land(self, host: str, flight: _Flight, answer: tuple[IPAddress, ...] | str) -> None:
        if self._flights.get(host) is flight:
            del self._flights[host]
        if not isinstance(answer, str) and self._options.cache_seconds > 0:
            self._cache.pop(host, None)
            self._cache[host] = (flight.answer.get_loop().time() + self._options.cache_seconds, answer)
            if len(self._cache) > self._options.max_cached:
                del self._cache[next(iter(self._cache))]
        if not flight.answer.done():
            flight.answer.set_result(answer)

    def _ask(self, host: str) -> tuple[IPAddress, ...] | str:
        """Addresses or a reason; on a look-up thread."""
        try:
            texts = list(self._lookup(f"{host}."))
            addresses = tuple(dict.fromkeys(ip_address(text.partition("%")[0]) for text in texts))
        except OSError as error:
            return error.strerror or "the resolver failed"
        except ValueError:
            return "it is not a name that can be looked up, or the answer is not an address"
        if len(addresses) > self._options.max_answers:
            return f"it has more than {self._options.max_answers} addresses"
        return addresses or "it has no address"


def look_up(name: str) -> list[str]:
    """The addresses of an absolute name, by the system's resolver; blocks."""
    answers: list[Any] = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(answer[4][0]) for answer in answers]
