"""A scan asked for, and its report."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from mudroom.model import (
    Channel,
    ExposedForm,
    ExposedText,
    Finding,
    Hiding,
    ScanReport,
    ScanRequest,
    Severity,
)
from mudroom.wire.codec import PayloadReader, PayloadWriter
from mudroom.wire.columns import put_security_text, take_security_text
from mudroom.wire.frame import refuse
from mudroom.wire.limits import AnswerLimits

__all__ = [
    "EncodedScan",
    "decode_scan_report",
    "decode_scan_request",
    "digest_payload",
    "digest_scan_request",
    "encode_once",
    "encode_scan_report",
    "encode_scan_request",
]

_FORMS = {
    1: ExposedForm.TITLE,
    2: ExposedForm.URL,
    3: ExposedForm.SLUG,
    4: ExposedForm.MARKDOWN,
    5: ExposedForm.TEXT,
    6: ExposedForm.DECODED_URL,
}
_FORM_NUMBERS = {form: number for number, form in _FORMS.items()}
_SEVERITIES = {int(severity): severity for severity in Severity}
_CHANNELS = {int(channel): channel for channel in Channel}
_HIDINGS = {int(hiding): hiding for hiding in Hiding}
# Narrow on purpose: a finding's names reach people and agents, and a scanner that was taken over
# must not be able to say a sentence in them.
_RULE_ID = re.compile(r"[A-Z][A-Z0-9]{1,15}-[0-9]{1,4}", re.ASCII)
_CATEGORY = re.compile(r"[a-z][a-z0-9]{0,19}(?:[_-][a-z0-9]{1,20}){0,3}", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_/:-]{0,99}", re.ASCII)
_MAX_NAME_BYTES = 100
_MAX_EXPOSED = 1024
_MAX_LINE = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedScan(ScanRequest):
    """A request and its payload, encoded once: for the scanner, and to check what it answers."""

    payload: bytes = field(repr=False, compare=False)

    def digest(self, request: ScanRequest) -> str:
        """As `digest_scan_request`. The very same texts, which nothing can change, are not encoded again."""
        is_same = request.exposed is self.exposed and request.security_text is self.security_text
        return digest_payload(self.payload) if is_same else digest_scan_request(request)


def encode_once(request: ScanRequest) -> EncodedScan:
    """The request with its payload. Raises UnicodeEncodeError as `encode_scan_request`."""
    return EncodedScan(
        exposed=request.exposed,
        security_text=request.security_text,
        payload=encode_scan_request(request),
    )


def encode_scan_request(request: ScanRequest) -> bytes:
    """The payload that asks for a scan; the same request always gives the same bytes.

    Raises: UnicodeEncodeError on a lone surrogate in an exposed text.
    """
    if isinstance(request, EncodedScan):
        return request.payload
    writer = PayloadWriter()
    writer.put_u32(len(request.exposed))
    for exposed in request.exposed:
        writer.put_u8(_FORM_NUMBERS[exposed.form])
        writer.put_text(exposed.text)
    put_security_text(writer, request.security_text)
    return writer.finish()


def decode_scan_request(payload: bytes | bytearray | memoryview, limits: AnswerLimits) -> ScanRequest:
    """The request in a payload. Raises GuestFailed(GUEST_PROTOCOL) on any departure from the schema."""
    reader = PayloadReader(payload)
    exposed: list[ExposedText] = []
    for _ in range(reader.take_u32(_MAX_EXPOSED)):
        number = reader.take_u8()
        if number not in _FORMS:
            raise refuse("an exposed text of unknown form")
        exposed.append(ExposedText(form=_FORMS[number], text=reader.take_text(limits.max_view_bytes)))
    security_text = take_security_text(reader, limits)
    reader.finish()
    return ScanRequest(exposed=tuple(exposed), security_text=security_text)


def digest_payload(payload: bytes | bytearray | memoryview) -> str:
    """SHA-256 of a payload, 64 hex digits."""
    return hashlib.sha256(payload).hexdigest()


def digest_scan_request(request: ScanRequest) -> str:
    """The digest that a scanner must echo: SHA-256 of the request's payload, 64 hex digits."""
    return digest_payload(encode_scan_request(request))


def encode_scan_report(report: ScanReport) -> bytes:
    """The payload that holds a finished scan."""
    writer = PayloadWriter()
    writer.put_raw(bytes.fromhex(report.request_sha256))
    writer.put_text(report.scanner_version)
    writer.put_u32(len(report.findings))
    for finding in report.findings:
        writer.put_text(finding.id)
        writer.put_text(finding.category)
        writer.put_raw(bytes((finding.severity, finding.channel, finding.hiding, finding.is_decoded)))
        writer.put_u32(finding.line)
    return writer.finish()


def decode_scan_report(untrusted_payload: bytes | bytearray | memoryview, limits: AnswerLimits) -> ScanReport:
    """The report in an answer: names of rules, known words and numbers, and no sentence.

    Raises: GuestFailed(GUEST_PROTOCOL) on any departure from the schema or above a limit.
    """
    reader = PayloadReader(untrusted_payload)
    digest = reader.take_raw(32).hex()
    version = reader.take_text(_MAX_NAME_BYTES)
    if not _VERSION.fullmatch(version):
        raise refuse("a scanner version that is none")
    count = reader.take_u32(limits.max_findings)
    findings = tuple(_take_finding(reader) for _ in range(count))
    reader.finish()
    return ScanReport(findings=findings, request_sha256=digest, scanner_version=version)


def _take_finding(reader: PayloadReader) -> Finding:
    rule_id = reader.take_text(_MAX_NAME_BYTES)
    category = reader.take_text(_MAX_NAME_BYTES)
    if not _RULE_ID.fullmatch(rule_id) or not _CATEGORY.fullmatch(category):
        raise refuse("a finding whose rule or category is no name of one")
    severity, channel, hiding = reader.take_raw(3)
    if severity not in _SEVERITIES or channel not in _CHANNELS or hiding not in _HIDINGS:
        raise refuse("a finding of unknown severity, channel or hiding")
    is_decoded = reader.take_flag()
    return Finding(
        id=rule_id,
        severity=_SEVERITIES[severity],
        category=category,
        channel=_CHANNELS[channel],
        hiding=_HIDINGS[hiding],
        line=reader.take_u32(_MAX_LINE),
        is_decoded=is_decoded,
    )
