"""The house: every part joined, one way in, and the stores it leads to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from mudroom.address import EgressSource, ExceptionScope, strip_credentials
from mudroom.assembly.build import (
    build_archive,
    build_fetch_options,
    build_jail_options,
    build_operator_egress,
    build_scheduler,
    describe_run,
    find_versions,
)
from mudroom.clock import Clock, SystemClock
from mudroom.corpus import FileCorpus, RunVersions, RunWriter
from mudroom.crawl import (
    Crawler,
    CrawlObserver,
    CrawlParts,
    CrawlPolicy,
    Outlet,
    SilentObserver,
    SqliteShelf,
    give_to_nobody,
)
from mudroom.errors import FileRefused, MudroomError
from mudroom.exchange import Importer, ImportLimits
from mudroom.fetch import FetchContext, Fetcher, FileHstsStore, Hsts, RedirectRule, open_telling
from mudroom.intake import (
    HEADER_NAMES_OPTION,
    ArchivePriors,
    Failed,
    FileRequest,
    Guests,
    Intake,
    Outcome,
    PageFacts,
    PageRequest,
    Parts,
    RobotsGates,
    RobotsMode,
    Sitemaps,
    read_local_file,
    read_stream,
    take_single,
)
from mudroom.jail import GuestPool
from mudroom.model import Initiator, Isolation, RobotsState, RunKind, View
from mudroom.net import CurlTransport, Interface, MachineEgress, Resolver, SystemResolver, list_interfaces
from mudroom.screen import PolicyOptions
from mudroom.settings import Settings
from mudroom.snapshot import FileSnapshotStore, KeepRule
from mudroom.warc import ForeignLimits

__all__ = ["House", "Network", "fail_without_run", "open_fetcher", "open_house", "open_network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What names resolve to, and which addresses are this machine's own."""

    resolver: Resolver | None = None
    """None for the system's."""
    interfaces: Callable[[], tuple[Interface, ...]] = list_interfaces


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Everything joined: one way in, and the stores it leads to."""

    settings: Settings
    fetcher: Fetcher
    guests: Guests
    archive: FileSnapshotStore
    corpus: FileCorpus
    intake: Intake
    robots: RobotsGates
    crawler: Crawler
    versions: RunVersions

    async def open_url(
        self,
        untrusted_url: str,
        *,
        initiator: Initiator,
        scope: ExceptionScope,
        headers: tuple[tuple[str, str], ...] = (),
        views: frozenset[View] = frozenset({View.MARKDOWN}),
    ) -> Outcome:
        """One page in a run of its own. An agent's page is asked of robots.txt, a person's is not (decision 6)."""
        asks_robots = initiator is Initiator.AGENT

        async def take(run: RunWriter) -> Outcome:
            gate = self.robots.open_gate(run.run_id, RobotsMode.OBEY, run.record_source)
            try:
                request = PageRequest(
                    untrusted_url=untrusted_url,
                    number=run.next_number(),
                    initiator=initiator,
                    scope=scope,
                    headers=headers,
                    redirects=RedirectRule(max_hops=self.settings.fetch.max_redirects),
                    gate=gate.check if asks_robots else None,
                    robots=RobotsState.ALLOWED if asks_robots else RobotsState.NOT_CHECKED,
                    views=views,
                )
                return await self.intake.take_page(request, run)
            finally:
                await gate.aclose()

        return await self._take(RunKind.OPEN, untrusted_url, take, [name for name, _ in headers])

    async def open_file(
        self,
        path: Path,
        stream: BinaryIO | None,
        *,
        url: str | None = None,
        retrieved_at: datetime | None = None,
        content_type: str = "",
        views: frozenset[View] = frozenset({View.MARKDOWN}),
    ) -> Outcome:
        """One file, or what a stream holds, in a run of its own.

        Shapes: `url` and `retrieved_at` say where it came from and when, and are believed of a person only.
        """
        max_bytes = self.settings.extract.max_body_bytes
        name = "standard input" if stream is not None else _show_name(path)
        url = strip_credentials(url) if url is not None else None

        async def take(run: RunWriter) -> Outcome:
            number = run.next_number()
            try:
                body = await asyncio.to_thread(_read_input, path, stream, max_bytes)
            except FileRefused as error:
                return await self.intake.refuse_file(error, name, number, run)
            request = FileRequest(
                name=name,
                number=number,
                untrusted_body=body,
                content_type=content_type,
                url=url,
                retrieved_at=retrieved_at,
                views=views,
            )
            return await self.intake.take_file(request, run)

        return await self._take(RunKind.FILE, url or name, take)

    async def _take(
        self,
        kind: RunKind,
        name: str,
        take: Callable[[RunWriter], Awaitable[Outcome]],
        header_names: Sequence[str] = (),
    ) -> Outcome:
        """The outcome, also where the workspace cannot be written and so no run begun or ended."""
        name = strip_credentials(name)
        options = {**describe_run(self.settings), HEADER_NAMES_OPTION: list(header_names)}
        try:
            return await take_single(self.corpus, kind, name, options, take)
        except MudroomError as error:
            return fail_without_run(name, error)

    async def import_archive(self, path: Path) -> dict[str, Any]:
        """The manifest of a run that holds what is in a WARC or WACZ file, marked as imported.

        Raises: FileRefused where there is no such file, or it is none; StoreFailed.
        """
        limits = ImportLimits(
            foreign=ForeignLimits(max_record_bytes=self.settings.extract.max_body_bytes + _HEAD_ROOM_BYTES)
        )
        importer = Importer(self.intake, self.corpus, self.archive, limits)
        return await importer.take(path, _show_name(path), describe_run(self.settings))

    async def crawl(
        self, untrusted_seed: str, policy: CrawlPolicy, *, outlet: Outlet = give_to_nobody
    ) -> dict[str, Any]:
        """The manifest of one crawl. Cancelling the task stops it and still gives its manifest."""
        return await self.crawler.crawl_to_end(untrusted_seed, policy, outlet=outlet)

    async def resume(
        self, untrusted_run: str, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> dict[str, Any]:
        """The manifest of a crawl that was killed or stopped, gone on with; cancelled as `crawl` is."""
        return await self.crawler.resume_to_end(untrusted_run, seed_headers=headers)


_HEAD_ROOM_BYTES = 1 << 20
"""Of an archived answer beside its body."""


def fail_without_run(name: str, error: MudroomError) -> Failed:
    """The outcome of a target for which no run could be begun."""
    facts = PageFacts(number=0, document_id="", run_id="", requested_url=name)
    return Failed(facts=facts, code=error.code, message=error.message, retryable=error.retryable)


@asynccontextmanager
async def open_fetcher(
    settings: Settings, network: Network = Network(), *, context: FetchContext | None = None
) -> AsyncIterator[Fetcher]:
    """The guarded fetcher alone: no guest is started, nothing is kept. Closing it leaves no socket or thread.

    Shapes: `context` is the host's part in what is fetched; None for none.
    """
    async with open_network(settings, network, SystemClock(), context) as (fetcher, _):
        yield fetcher


@asynccontextmanager
async def open_network(
    settings: Settings, network: Network, clock: Clock, context: FetchContext | None = None
) -> AsyncIterator[tuple[Fetcher, EgressSource]]:
    """The fetcher, and the one source of policy that it shares with all who judge before it."""
    async with AsyncExitStack() as stack:
        transport = CurlTransport()
        stack.push_async_callback(transport.aclose)
        resolver = network.resolver
        if resolver is None:
            resolver = system = SystemResolver()
            stack.callback(system.close)
        egress = MachineEgress(
            build_operator_egress(settings.egress), resolver, clock, interfaces=network.interfaces
        )
        telling = open_telling(context)
        if telling is not None:
            stack.push_async_callback(telling.aclose)
        options, slots = build_fetch_options(settings), build_scheduler(settings, clock)
        hsts = None
        if settings.fetch.hsts:
            store = FileHstsStore(settings.workspace / "private" / "state" / "hsts.json", clock)
            hsts = Hsts(await stack.enter_async_context(store), clock)
        fetcher = Fetcher(
            transport, resolver, egress, options, clock, slots=slots, telling=telling, hsts=hsts
        )
        stack.push_async_callback(fetcher.aclose)
        yield fetcher, egress


@asynccontextmanager
async def open_house(
    settings: Settings,
    *,
    observer: CrawlObserver | None = None,
    policy: PolicyOptions | None = None,
    floor: Isolation = Isolation.PROCESS,
    guests: AbstractAsyncContextManager[Guests] | None = None,
    network: Network = Network(),
) -> AsyncIterator[House]:
    """The house, its guests started; closing it leaves no process, socket or thread.

    Shapes: `floor` is the weakest level of isolation that is taken unless the settings name one; `guests`
        stands in for the jailed ones that settings describe, and only tests have any.
    Raises: GuestFailed with JAIL_UNAVAILABLE when no such level can be had.
    """
    observer = observer or SilentObserver()
    policy = policy or settings.policy
    clock = SystemClock()
    versions = find_versions(settings, policy)
    async with AsyncExitStack() as stack:
        fetcher, egress = await stack.enter_async_context(open_network(settings, network, clock))
        archive = build_archive(settings, clock)
        stack.push_async_callback(archive.aclose)
        corpus = FileCorpus(settings.workspace, versions, clock)
        stack.push_async_callback(corpus.aclose)
        started = await stack.enter_async_context(
            guests or GuestPool(build_jail_options(settings, floor=floor))
        )
        keep = settings.archive.keep
        profile = build_fetch_options(settings)
        intake = Intake(
            Parts(
                fetcher=fetcher,
                guests=started,
                archive=archive,
                keep=keep,
                egress=egress,
                extract_limits=settings.extract,
                policy=policy,
                clock=clock,
                observer=observer,
                priors=ArchivePriors(
                    archive, corpus, profile.headers, max_decoded_bytes=profile.max_decoded_bytes
                ),
            )
        )
        robots = RobotsGates(fetcher, archive if keep is KeepRule.ALL else None, clock, asyncio.sleep)
        crawler = Crawler(
            CrawlParts(
                intake=intake,
                corpus=corpus,
                robots=robots,
                egress=egress,
                clock=clock,
                sleep=asyncio.sleep,
                sitemaps=Sitemaps(fetcher, started, archive if keep is KeepRule.ALL else None, clock),
                observer=observer,
                options=describe_run(settings),
                frontiers=SqliteShelf(settings.workspace / "private" / "frontier"),
            )
        )
        yield House(
            settings=settings,
            fetcher=fetcher,
            guests=started,
            archive=archive,
            corpus=corpus,
            intake=intake,
            robots=robots,
            crawler=crawler,
            versions=versions,
        )


def _show_name(path: Path) -> str:
    """A file's name as a record can hold it: bytes that are no text, and signs that act, as escapes."""
    name = path.name or str(path)
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in name
    )


def _read_input(path: Path, stream: BinaryIO | None, max_bytes: int) -> bytes:
    return read_local_file(path, max_bytes) if stream is None else read_stream(stream, max_bytes)
