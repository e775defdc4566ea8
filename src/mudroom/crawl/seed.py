"""Where a crawl begins, and where it turns out to be rooted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mudroom.address import ExceptionScope, ParsedUrl, is_same_host, strip_credentials
from mudroom.crawl.frontier import FrontierEntry
from mudroom.crawl.links import make_entry
from mudroom.model import Initiator

__all__ = ["Seed", "find_root"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The URL that somebody named: as written, for the way in to judge, and parsed."""

    untrusted_url: str
    url: ParsedUrl
    initiator: Initiator
    scope: ExceptionScope

    @property
    def name(self) -> str:
        """The URL for records: without fragment, and without a user and password, which are never kept."""
        return strip_credentials(self.url.normalized)

    def make_entry(self) -> FrontierEntry:
        """The first URL of the frontier."""
        entry = make_entry(self.url, self.scope, initiator=self.initiator, rank=(0, 0, 0))
        return replace(entry, url=self.untrusted_url)


def find_root(seed: ParsedUrl, final: ParsedUrl) -> ParsedUrl:
    """Where a crawl is rooted whose seed was redirected.

    On another host, there; also where only a slash was added, since a prefix then means the folder. A seed
    that led elsewhere on its own host keeps the reach that its writer saw.
    """
    is_same_page = final.path == f"{seed.path}/"
    return final if is_same_page or not is_same_host(seed, final) else seed
