"""What the archive holds of a page from an earlier run, and whether the site may be asked if it still holds.

An earlier answer serves only a request like the one that it came to: its run has to say with which headers it
asked, and that nobody gave it any of his own, which may have been credentials (decision 9).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from mudroom.address import ParsedUrl
from mudroom.clock import format_time
from mudroom.corpus import CorpusStore
from mudroom.errors import FetchFailed, NotFound, StoreFailed
from mudroom.fetch import Fetched, Validators, check_not_modified, read_validators
from mudroom.intake.recall import Recalled, recall_answer
from mudroom.media import header_values
from mudroom.snapshot import Snapshot, SnapshotStore, SourceKind, build_source_id

__all__ = ["HEADER_NAMES_OPTION", "PROFILE_OPTION", "ArchivePriors", "Prior", "Priors"]

PROFILE_OPTION = "request_headers"
"""The option of a run that says which headers all of its requests carried."""
HEADER_NAMES_OPTION = "seed_header_names"
"""The option of a run that names the headers which its caller gave beside them."""

_OK = 200
_MAX_RUNS = 1000

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A page as an earlier run took it in, and by what the site will know it again."""

    snapshot: Snapshot
    validators: Validators


class Priors(Protocol):
    """Earlier snapshots that sites may be asked about. The real one is `ArchivePriors`."""

    async def find(self, requested_url: str, url: ParsedUrl) -> Prior | None:
        """What a site may be asked about. Raises StoreFailed where it cannot be read."""
        ...

    def recall(self, prior: Prior, answer: Fetched, now: datetime) -> Recalled:
        """It in place of an answer that says it has not changed. Raises FetchFailed, ContentRefused."""
        ...


class ArchivePriors:
    """Finds earlier snapshots of pages that a request without headers of a caller's may ask about."""

    def __init__(
        self, archive: SnapshotStore, corpus: CorpusStore, profile: Headers, *, max_decoded_bytes: int
    ) -> None:
        """Shapes: `profile` is what every request carries."""
        self._archive = archive
        self._corpus = corpus
        self._profile = profile
        self._max_decoded_bytes = max_decoded_bytes
        self._profiles: OrderedDict[str, Headers | None] = OrderedDict()

    async def find(self, requested_url: str, url: ParsedUrl) -> Prior | None:
        """The newest snapshot of a page, if it can be asked about; None where there is none such.

        Raises: StoreFailed where what the archive holds of the page cannot be read.
        """
        try:
            snapshot = await self._archive.latest(build_source_id(SourceKind.PAGE, requested_url))
        except NotFound:
            return None
        envelope = snapshot.envelope
        is_plain = envelope.status == _OK and len(envelope.redirects) == 1 and not envelope.rendered
        if not is_plain or envelope.redirects[0].url != url.normalized or _may_not_be_kept(snapshot):
            return None
        sent = await self._find_profile(snapshot.run_id)
        if sent is None:
            return None
        validators = read_validators(url.normalized, snapshot.headers, sent)
        if validators is None or not _is_for(validators, self._profile):
            return None
        return Prior(snapshot=snapshot, validators=validators)

    def recall(self, prior: Prior, answer: Fetched, now: datetime) -> Recalled:
        """The earlier snapshot in place of an answer that says it has not changed.

        Raises: FetchFailed HTTP_STATUS where the answer says so to another request than the one that may
            have the snapshot; ContentRefused.
        """
        check_not_modified(prior.validators, answer.final.normalized, answer.headers, answer.sent_headers)
        fetched = recall_answer(
            prior.snapshot,
            answer.final,
            requested_url=answer.requested_url,
            hops=answer.hops,
            wire_bytes=answer.wire_bytes,
            duration_seconds=answer.duration_seconds,
            max_decoded_bytes=self._max_decoded_bytes,
        )
        return Recalled(fetched=fetched, snapshot=prior.snapshot, revalidated_at=format_time(now))

    async def _find_profile(self, run_id: str) -> Headers | None:
        """The headers with which a run asked; None where it does not say, or was given some by its caller."""
        if run_id not in self._profiles:
            if len(self._profiles) >= _MAX_RUNS:
                self._profiles.popitem(last=False)
            self._profiles[run_id] = await self._read_profile(run_id)
        return self._profiles[run_id]

    async def _read_profile(self, run_id: str) -> Headers | None:
        try:
            options = (await self._corpus.summarise_run(run_id)).options
        except (NotFound, StoreFailed):
            return None  # a run that was removed, or is of another workspace
        return _read_fields(options.get(PROFILE_OPTION)) if options.get(HEADER_NAMES_OPTION) == [] else None


def _read_fields(value: Any) -> Headers | None:
    try:
        fields = tuple((str(name), str(text)) for name, text in value)
    except (TypeError, ValueError):
        return None
    return fields or None


def _is_for(validators: Validators, profile: Headers) -> bool:
    """Whether a request of this profile may have what these know again; a site may not look at it itself."""
    try:
        check_not_modified(validators, validators.url, (), profile)
    except FetchFailed:
        return False
    return True


def _may_not_be_kept(snapshot: Snapshot) -> bool:
    """Whether the site asked that no cache keep it. Source: RFC 9111 section 5.2.2.5."""
    return any("no-store" in value.lower() for value in header_values(snapshot.headers, "cache-control"))
