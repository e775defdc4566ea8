"""What a person means by a name: a run, a page of it, a reference, or a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mudroom.address import parse_url
from mudroom.corpus import CorpusStore
from mudroom.errors import MudroomError
from mudroom.snapshot import parse_source_ref

__all__ = ["PageTarget", "RefTarget", "RunTarget", "Target", "UrlTarget", "find_target", "name_ref"]

_SCHEME = "mudroom-snapshot:"
_PAGE = re.compile(r"([@A-Za-z0-9_]+)/([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTarget:
    """A run of this workspace."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTarget:
    """One page of a run, which may not have it."""

    run_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefTarget:
    """A reference in its valid spelling; the archive may not have it."""

    source_ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTarget:
    """A URL in normal form."""

    url: str


Target = RunTarget | PageTarget | RefTarget | UrlTarget


async def find_target(corpus: CorpusStore, untrusted_name: str) -> Target:
    """The one thing that a name means.

    Shapes: `mudroom-snapshot:…` is a reference; `RUN/N` is page N of a run; what has `://` is a URL; all else
        is a run: `@last`, an id, or a beginning that one id alone has.
    Raises: NotFound INVALID_REFERENCE, RUN_NOT_FOUND; StoreFailed.
    """
    if untrusted_name.startswith(_SCHEME):
        parse_source_ref(untrusted_name)
        return RefTarget(source_ref=untrusted_name)
    page = _PAGE.fullmatch(untrusted_name)
    if page is not None:
        return PageTarget(run_id=await corpus.resolve_run(page[1]), number=int(page[2]))
    url = parse_url(untrusted_name) if "://" in untrusted_name else None
    if url is not None:
        return UrlTarget(url=url.normalized)
    return RunTarget(run_id=await corpus.resolve_run(untrusted_name))


def name_ref(source_ref: str) -> str:
    """A reference as a person reads it in a sentence: kind, host, moment, and where its digest begins."""
    try:
        ref = parse_source_ref(source_ref)
    except MudroomError:
        return "an invalid reference"
    url = parse_url(ref.url)
    host = f" of {url.host}" if url is not None else ""
    return f"{ref.kind.value}{host}, {ref.fetched_at}, record {ref.record[:12]}"
