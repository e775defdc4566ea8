"""Where a crawl begins, and where it turns out to be rooted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

from mudroom.address import ExceptionScope, ParsedUrl, is_same_host, parse_url, strip_credentials
from mudroom.crawl.discovery import DiscoveryStart
from mudroom.crawl.ended import decode_scope, encode_scope
from mudroom.crawl.frontier import FrontierEntry
from mudroom.crawl.links import make_entry
from mudroom.model import Hop, Initiator

__all__ = ["Seed", "find_root", "find_start"]

_INITIATOR, _SCOPE = "initiator", "scope"


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

    def list_notes(self) -> Iterator[tuple[str, str]]:
        """What the next sitting has to know of who named it."""
        yield _INITIATOR, self.initiator.value
        yield _SCOPE, encode_scope(self.scope)

    @classmethod
    def restore(cls, url: ParsedUrl, notes: Mapping[str, str]) -> Self:
        """The seed of an earlier sitting. Raises: ValueError."""
        return cls(
            untrusted_url=url.normalized,
            url=url,
            initiator=Initiator(notes.get(_INITIATOR, Initiator.OPERATOR)),
            scope=decode_scope(notes.get(_SCOPE, "*")),
        )

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


def find_start(seed: Seed, root: ParsedUrl, hops: tuple[Hop, ...]) -> DiscoveryStart:
    """Where a crawl's sitemaps are looked for once its seed has ended, however it did; `hops` are its requests.

    Who named the seed named its origin too. Anything else may use the exceptions that the root was itself
    dialled in, as its links may, and none where nobody got that far.
    """
    dialled = ExceptionScope.none()
    for hop in hops:
        url = parse_url(hop.url)
        if hop.exception is not None and url is not None and url.origin == root.origin:
            dialled = ExceptionScope.of(hop.exception)
    return DiscoveryStart(
        root=root,
        own_scope=seed.scope if root.origin == seed.url.origin else dialled,
        named_scope=dialled,
    )
