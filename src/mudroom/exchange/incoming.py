"""What a record of a foreign archive asks to be taken in as, or why it is not: pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from mudroom.address import parse_url, strip_credentials
from mudroom.errors import Code, EgressRefused, MudroomError, StoreFailed
from mudroom.intake import RecordRequest
from mudroom.warc import ForeignRecord, HttpMessage, does_digest_hold, parse_http_answer

__all__ = ["Original", "holds_page", "judge_record", "list_names", "list_wanted"]

_SHOWN_CHARS = 2000
_PAGES = frozenset({"response", "resource", "revisit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The body that a revisit stands for."""

    body: bytes
    has_same_digest: bool
    """Its record carried the digest that the revisit carries, and it held there."""


def holds_page(record: ForeignRecord) -> bool:
    """Whether a record is of a type that holds a page: neither request nor metadata, and no answer of DNS."""
    if record.type not in _PAGES:
        return False
    return not record.target_uri.lower().startswith(("dns:", "whois:", "urn:"))


def list_names(record: ForeignRecord) -> tuple[str, ...]:
    """What a revisit may name this record by."""
    uri, date = record.target_uri, record.fields.get("warc-date", "")
    digest = record.fields.get("warc-payload-digest", "").lower()
    names = (
        record.record_id and f"id {record.record_id}",
        uri and f"at {date} {uri}",
        digest and f"of {digest}",
    )
    return tuple(name for name in names if name)


def list_wanted(record: ForeignRecord) -> tuple[str, ...]:
    """By what a revisit names its original, the surest first."""
    fields = record.fields
    refers_to = fields.get("warc-refers-to", "").strip("<>")
    uri = fields.get("warc-refers-to-target-uri", record.target_uri).removeprefix("<").removesuffix(">")
    date = fields.get("warc-refers-to-date", "")
    digest = fields.get("warc-payload-digest", "").lower()
    names = (refers_to and f"id {refers_to}", date and f"at {date} {uri}", digest and f"of {digest}")
    return tuple(name for name in names if name)


def judge_record(record: ForeignRecord, number: int, original: Original | None) -> RecordRequest:
    """The record as a request to take it in; whatever is wrong with it is in its `refusal`.

    Shapes: `original` is None where it is not there, or none is needed.
    """
    url = parse_url(record.target_uri)
    moment = _read_date(record.fields.get("warc-date", ""))
    try:
        if url is None:
            raise EgressRefused(Code.INVALID_URL, "the record's URL is none that a browser could open")
        if moment is None:
            raise _corrupt("its date is none")
        message = _read_answer(record)
        body = _find_body(record, message, original)
    except MudroomError as refusal:
        return RecordRequest(
            url=strip_credentials(url.normalized) if url else record.target_uri[:_SHOWN_CHARS],
            number=number,
            retrieved_at=moment or datetime.fromtimestamp(0, UTC),
            status=None,
            refusal=refusal,
        )
    return RecordRequest(
        url=strip_credentials(url.normalized),
        number=number,
        retrieved_at=moment,
        status=message.status if message else None,
        untrusted_body=body,
        headers=message.headers if message else _type_of(record),
        raw_header=message.raw_header if message else b"",
    )


def _read_answer(record: ForeignRecord) -> HttpMessage | None:
    """The HTTP answer that a record holds; None for a resource. Raises: StoreFailed SNAPSHOT_CORRUPT."""
    if does_digest_hold(record.fields.get("warc-block-digest", ""), record.block) is False:
        raise _corrupt("its block is not the one that its digest names")
    if record.type == "resource":
        return None
    message = parse_http_answer(record.block)
    if message is None and record.type == "response":
        raise _corrupt("it holds no HTTP answer")
    return message


def _find_body(record: ForeignRecord, message: HttpMessage | None, original: Original | None) -> bytes:
    declared = record.fields.get("warc-payload-digest", "")
    if record.type != "revisit":
        kept = (message.body, message.kept_body) if message else (record.block,)
        if does_digest_hold(declared, *kept) is False:
            raise _corrupt("its body is not the one that its digest names")
        return kept[0]
    if original is None:
        raise StoreFailed(Code.SNAPSHOT_MISSING, "the record that holds its body is not in this archive")
    if not original.has_same_digest and does_digest_hold(declared, original.body) is False:
        raise _corrupt("the body that it repeats is not the one that its digest names")
    return original.body


def _type_of(record: ForeignRecord) -> tuple[tuple[str, str], ...]:
    declared = record.fields.get("content-type", "")
    return (("Content-Type", declared),) if declared else ()


def _read_date(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the latter where its zone leads out of all years
        return None


def _corrupt(what: str) -> StoreFailed:
    return StoreFailed(Code.SNAPSHOT_CORRUPT, f"a record of the archive is damaged: {what}")
