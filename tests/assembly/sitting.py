"""One sitting of a crawl, as a program of its own that kills itself at a chosen moment.

Its arguments: workspace, origin to open, seed or run, event at which to die (`STATE:number` or none), policy.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from mudroom.assembly import open_house
from mudroom.crawl import CrawlEvent, CrawlPolicy
from mudroom.intake import PageEvent
from mudroom.settings import load_settings
from mudroom.testing.unjailed import UnjailedGuests


class Killer:
    """Dies by SIGKILL when so many pages have entered a state."""

    def __init__(self, moment: str) -> None:
        self._state, _, number = moment.partition(":")
        self._left = int(number or 0)

    def on_page(self, event: PageEvent) -> None:
        if event.state == self._state:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def on_crawl(self, event: CrawlEvent) -> None:
        del event


async def main(workspace: str, origin: str, target: str, moment: str, options: str) -> None:
    settings = load_settings(
        {},
        config=Path("/dev/null"),
        workspace=Path(workspace),
        overrides={("egress", "allow_origins"): (origin,)},
    )
    async with open_house(settings, observer=Killer(moment), guests=UnjailedGuests()) as house:
        if target.startswith("http"):
            manifest = await house.crawl(target, CrawlPolicy(**json.loads(options)))
        else:
            manifest = await house.resume(target)
    sys.stdout.write(json.dumps(manifest))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
