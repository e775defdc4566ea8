"""What `import mudroom` offers a program: pages and files taken in, sites crawled."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mudroom.address import ExceptionScope
from mudroom.assembly.house import House, fail_without_run, open_house
from mudroom.crawl import CrawlPolicy, OutcomeStream
from mudroom.errors import FetchFailed, GuestFailed, InvalidConfig
from mudroom.intake import Outcome
from mudroom.model import Initiator, View
from mudroom.net import check_request_headers
from mudroom.settings import Settings, load_settings

__all__ = ["Seed", "crawl_site", "open_target", "open_target_blocking", "stream_site"]


async def open_target(target: str | Path, *, settings: Settings | None = None, text: bool = False) -> Outcome:
    """One page, or one file given as a Path, through the whole path: `mudroom.open`.

    Shapes: `settings` are those of this user where none are given; `text` asks for the text view too.
    Raises: InvalidConfig only; whatever becomes of the target is an outcome.
    """
    settings = settings or load_settings(os.environ)
    views = frozenset({View.MARKDOWN, View.TEXT} if text else {View.MARKDOWN})
    try:
        async with open_house(settings) as house:
            if isinstance(target, Path):
                return await house.open_file(target, None, views=views)
            return await house.open_url(
                target, initiator=Initiator.OPERATOR, scope=ExceptionScope.operator(), views=views
            )
    except GuestFailed as error:
        return fail_without_run(str(target), error)


def open_target_blocking(
    target: str | Path, *, settings: Settings | None = None, text: bool = False
) -> Outcome:
    """As `mudroom.open`, for programs without an event loop: `mudroom.open_sync`."""
    return asyncio.run(open_target(target, settings=settings, text=text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """Where a crawl begins, with what is sent for it alone: `mudroom.Seed`."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    """Sent to the seed's origin and nowhere else."""
    agent: str | None = None
    """What the User-Agent header says in this crawl; None for that of the settings."""


async def crawl_site(
    seed: str | Seed, policy: CrawlPolicy | None = None, *, settings: Settings | None = None
) -> dict[str, Any]:
    """The manifest of one crawl: `mudroom.crawl`. Cancelling the task stops it and still gives its manifest.

    Shapes: without a policy, that of the settings.
    Raises: InvalidConfig only, also where this machine can hold no guest.
    """
    url, settings, policy = _prepare(seed, policy, settings)
    try:
        async with open_house(settings) as house:
            return await house.crawl(url, policy)
    except GuestFailed as error:
        raise InvalidConfig(f"{error.message}; {error.advice}") from error


async def stream_site(
    seed: str | Seed, policy: CrawlPolicy | None = None, *, settings: Settings | None = None
) -> AsyncIterator[Outcome]:
    """The pages of one crawl, each as soon as it is decided: `mudroom.crawl_stream`.

    Why: a site of thousands of pages is read while it comes in. The crawl waits for its reader when eight
        pages wait; a reader who leaves the loop ends it in good order, with a manifest, as a person does.
    Shapes: in the order in which pages end, which is not that of their numbers.
    Raises: InvalidConfig only, before the first page.
    """
    url, settings, policy = _prepare(seed, policy, settings)
    stream = OutcomeStream()
    try:
        async with open_house(settings) as house:
            crawl = asyncio.create_task(_feed(house, url, policy, stream))
            try:
                while (outcome := await stream.get()) is not None:
                    yield outcome
            finally:
                await _end(crawl, stream)
    except GuestFailed as error:
        raise InvalidConfig(f"{error.message}; {error.advice}") from error


async def _feed(house: House, url: str, policy: CrawlPolicy, stream: OutcomeStream) -> None:
    try:
        await house.crawl(url, policy, outlet=stream.put)
    finally:
        await stream.close()


async def _end(crawl: asyncio.Task[None], stream: OutcomeStream) -> None:
    """Let the crawl write its manifest, whether it has come to its end or its reader has left."""
    await stream.close()
    crawl.cancel()  # after its end this does nothing, before it is a person's word to stop
    await asyncio.wait({crawl})
    if not crawl.cancelled():  # as it is when it never began
        crawl.result()


def _prepare(
    seed: str | Seed, policy: CrawlPolicy | None, settings: Settings | None
) -> tuple[str, Settings, CrawlPolicy]:
    """URL, settings and policy of one crawl. Raises: InvalidConfig."""
    if not isinstance(policy, CrawlPolicy | None):
        raise InvalidConfig(f"policy is {type(policy).__name__}; expected a CrawlPolicy")
    settings = settings or load_settings(os.environ)
    policy = policy or settings.crawl
    if isinstance(seed, str):
        return seed, settings, policy
    _check_seed(seed)
    if seed.agent is not None:
        try:
            check_request_headers((("User-Agent", seed.agent),))
        except FetchFailed as error:
            raise InvalidConfig(f"the seed's agent cannot be sent: {error.message}") from error
        settings = replace(settings, fetch=replace(settings.fetch, user_agent=seed.agent))
    return seed.url, settings, replace(policy, seed_headers=(*policy.seed_headers, *seed.headers))


def _check_seed(seed: object) -> None:
    """Nothing, when it is one, of the types that it says. Raises: InvalidConfig."""
    if not isinstance(seed, Seed) or not isinstance(seed.url, str):
        raise InvalidConfig(f"seed is {type(seed).__name__}; expected a URL as text, or a Seed with one")
    if not isinstance(seed.agent, str | None):
        raise InvalidConfig(f"the seed's agent is {type(seed.agent).__name__}; expected text")
    if not isinstance(seed.headers, tuple | list):
        raise InvalidConfig(f"the seed's headers are {type(seed.headers).__name__}; expected a tuple")
