"""Pages of one site with the same bytes: each keeps its own record, and their links are followed once."""

from __future__ import annotations

from hashlib import blake2b, sha256

from mudroom.address import parse_url, site_of
from mudroom.crawl.ended import EndedPage
from mudroom.crawl.frontier import Frontier

__all__ = ["find_content_twin"]

_NOTHING = sha256(b"").hexdigest()


def find_content_twin(frontier: Frontier, page: EndedPage) -> int | None:
    """The number of the page of the same site that had this content first, None when this one has."""
    url = parse_url(page.final_url or page.url)
    if page.sha256 is None or page.sha256 == _NOTHING or url is None:
        return None
    digest = blake2b(f"{site_of(url)}\n{page.sha256}".encode(), digest_size=16).digest()
    return frontier.find_twin(digest, page.number)
