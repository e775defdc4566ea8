"""The study: what was taken in, looked at again. No part of it opens a connection or resolves a name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn

from mudroom.address import EgressPolicy
from mudroom.assembly.build import build_archive, build_fetch_options, build_jail_options, find_versions
from mudroom.clock import SystemClock
from mudroom.corpus import FileCorpus, RunVersions
from mudroom.crawl import CrawlObserver, SilentObserver
from mudroom.errors import Code, FetchFailed
from mudroom.fetch import FetchRequest
from mudroom.intake import Guests, Parts
from mudroom.jail import GuestPool
from mudroom.replay import Replayer, Rescanner, Verifier
from mudroom.settings import Settings
from mudroom.snapshot import FileSnapshotStore, KeepRule

__all__ = ["Study", "open_study"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The stores of a workspace, and guests that read what is in them again."""

    settings: Settings
    archive: FileSnapshotStore
    corpus: FileCorpus
    versions: RunVersions
    replayer: Replayer
    verifier: Verifier
    rescanner: Rescanner


class _NoFetcher:
    """Stands where a fetcher would: here nothing is fetched."""

    async def fetch(self, request: FetchRequest) -> NoReturn:
        """Refuse."""
        del request
        raise FetchFailed(Code.CONNECT_FAILED, "nothing is fetched here")


@asynccontextmanager
async def open_study(
    settings: Settings,
    *,
    observer: CrawlObserver | None = None,
    guests: AbstractAsyncContextManager[Guests] | None = None,
) -> AsyncIterator[Study]:
    """The study, its guests started; closing it leaves no process or thread.

    Shapes: `guests` stands in for the jailed ones that settings describe, and only tests have any.
    Raises: GuestFailed with JAIL_UNAVAILABLE when no level of isolation can be had.
    """
    observer = observer or SilentObserver()
    clock = SystemClock()
    versions = find_versions(settings, settings.policy)
    async with AsyncExitStack() as stack:
        archive = build_archive(settings, clock)
        stack.push_async_callback(archive.aclose)
        corpus = FileCorpus(settings.workspace, versions, clock)
        stack.push_async_callback(corpus.aclose)
        started = await stack.enter_async_context(guests or GuestPool(build_jail_options(settings)))
        parts = Parts(
            fetcher=_NoFetcher(),
            guests=started,
            archive=archive,
            keep=KeepRule.ALL,
            egress=EgressPolicy(),
            extract_limits=settings.extract,
            policy=settings.policy,
            clock=clock,
            observer=observer,
        )
        max_decoded_bytes = build_fetch_options(settings).max_decoded_bytes
        yield Study(
            settings=settings,
            archive=archive,
            corpus=corpus,
            versions=versions,
            replayer=Replayer(parts, corpus, observer, max_decoded_bytes=max_decoded_bytes),
            verifier=Verifier(parts, corpus, versions, max_decoded_bytes=max_decoded_bytes),
            rescanner=Rescanner(parts, corpus, versions, max_decoded_bytes=max_decoded_bytes),
        )
