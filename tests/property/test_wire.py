"""Any text crosses unchanged; any bytes are decoded or refused, and nothing else happens."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.errors import GuestFailed
from mudroom.model import Channel, ExposedForm, ExposedText, Hiding, ScanRequest, SecurityText, TextPiece
from mudroom.wire import (
    AnswerLimits,
    decode_extract_request,
    decode_extracted,
    decode_failure,
    decode_ready,
    decode_scan_report,
    decode_scan_request,
    encode_scan_request,
)

LIMITS = AnswerLimits()
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PIECES = st.builds(
    TextPiece,
    channel=st.sampled_from(Channel),
    hiding=st.sampled_from(Hiding),
    line=st.integers(0, 2**32 - 1),
    text=TEXT,
)
EXPOSED = st.builds(ExposedText, form=st.sampled_from(ExposedForm), text=TEXT)
DECODERS = [
    decode_extract_request,
    decode_failure,
    decode_ready,
    lambda data: decode_extracted(data, LIMITS),
    lambda data: decode_scan_request(data, LIMITS),
    lambda data: decode_scan_report(data, LIMITS),
]


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=20), st.lists(EXPOSED, max_size=5))
def test_any_text_crosses_unchanged(pieces: list[TextPiece], exposed: list[ExposedText]) -> None:
    request = ScanRequest(exposed=tuple(exposed), security_text=SecurityText.from_pieces(pieces))
    decoded = decode_scan_request(encode_scan_request(request), LIMITS)
    assert decoded == request
    assert list(decoded.security_text.pieces()) == pieces


@settings(max_examples=150)
@given(st.binary(max_size=200), st.sampled_from(DECODERS))
def test_any_bytes_are_decoded_or_refused(data: bytes, decode) -> None:  # noqa: ANN001 - any decoder
    with contextlib.suppress(GuestFailed):
        decode(data)


@settings(max_examples=150)
@given(st.data(), st.lists(PIECES, min_size=1, max_size=5))
def test_a_changed_byte_never_gives_a_text_that_cannot_be_cut(
    data: st.DataObject, pieces: list[TextPiece]
) -> None:
    request = ScanRequest(exposed=(), security_text=SecurityText.from_pieces(pieces))
    payload = bytearray(encode_scan_request(request))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        text = decode_scan_request(payload, LIMITS).security_text
    except GuestFailed:
        return
    assert len(list(text.pieces())) == len(text)
