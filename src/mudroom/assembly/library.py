"""What `import mudroom` offers a program: pages and files taken in, sites crawled."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from mudroom.address import ExceptionScope
from mudroom.assembly.house import fail_without_run, open_house
from mudroom.crawl import CrawlPolicy
from mudroom.errors import GuestFailed, InvalidConfig
from mudroom.intake import Outcome
from mudroom.model import Initiator, View
from mudroom.settings import Settings, load_settings

__all__ = ["crawl_site", "open_target", "open_target_blocking"]


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


async def crawl_site(
    seed: str, policy: CrawlPolicy | None = None, *, settings: Settings | None = None
) -> dict[str, Any]:
    """The manifest of one crawl: `mudroom.crawl`. Cancelling the task stops it and still gives its manifest.

    Shapes: without a policy, that of the settings.
    Raises: InvalidConfig only, also where this machine can hold no guest.
    """
    settings = settings or load_settings(os.environ)
    try:
        async with open_house(settings) as house:
            return await house.crawl(seed, policy or settings.crawl)
    except GuestFailed as error:
        raise InvalidConfig(f"{error.message}; {error.advice}") from error
