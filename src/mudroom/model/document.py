"""A document as it came from outside: what was read of it, and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from mudroom.errors import Code, Reason
from mudroom.model.text import SecurityText
from mudroom.model.vocabulary import Initiator, Isolation, LinkRelation, RobotsState, View, WarningCode

__all__ = [
    "UPGRADE_PROTOCOL",
    "BlockedDocument",
    "ExtractedDocument",
    "Hop",
    "Link",
    "Provenance",
    "UntrustedDocument",
]


class Link(NamedTuple):
    """A link of a document, as written; judged by `address` before anyone follows it.

    A tuple, since a page has hundreds of them.
    """

    untrusted_href: str
    is_nofollow: bool = False
    relation: LinkRelation = LinkRelation.ANCHOR


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedDocument:
    """What a guest read of a document's bytes. Untrusted: nothing in it was judged yet.

    `views` holds the forms that were asked for, each cleaned by the rules for exposed text (decision 13).
    """

    media_type: str
    """What the bytes were read as, for example text/html."""
    charset: str
    """The WHATWG name of the encoding, lower case, for example windows-1252."""
    title: str
    views: Mapping[View, str]
    links: tuple[Link, ...]
    base_url: str
    """The URL that links are relative to: the document's own, or that of its base element."""
    security_text: SecurityText
    visible_chars: int
    hidden_chars: int
    removed_chars: int
    """Characters that exposed text may not hold and that were removed before the scan."""
    needs_render: bool
    """The page shows (almost) nothing until its scripts have run."""
    warnings: tuple[WarningCode, ...] = ()


UPGRADE_PROTOCOL = "HSTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One request of a chain: the URL asked, the address dialled, the answer."""

    url: str
    address: str
    """The IP address that was dialled, as text; empty where none was (HSTS upgrade, replay)."""
    status: int
    protocol: str
    """HTTP/1.1, HTTP/2 or HTTP/3; HSTS for an upgrade."""
    exception: str | None = None
    """The configured exception that allowed this hop (decision 4)."""

    @property
    def is_upgrade(self) -> bool:
        """Whether nobody was asked: https was taken in place of http, because the host had said so before."""
        return self.protocol == UPGRADE_PROTOCOL


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a document came from, and how it was held while it was read."""

    document_id: str
    run_id: str
    requested_url: str
    final_url: str
    hops: tuple[Hop, ...]
    http_status: int | None
    """None for files."""
    content_type: str
    """As declared; empty when it was not."""
    retrieved_at: datetime
    source_ref: str | None
    """None when archive.keep did not keep the bytes."""
    sha256: str
    """Of the body as received, 64 hex digits."""
    size_bytes: int
    initiator: Initiator
    isolation: Isolation
    robots: RobotsState = RobotsState.NOT_CHECKED


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrustedDocument:
    """A document after fetch and extraction. It leaves `intake` only through `screen`."""

    provenance: Provenance
    content: ExtractedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedDocument:
    """A document that was withheld. It has no field that can hold text of the page."""

    document_id: str
    requested_url: str
    final_url: str | None
    code: Code
    reason: Reason
    finding_ids: tuple[str, ...] = field(default=())
    scanner_version: str | None = None
    source_ref: str | None = None
