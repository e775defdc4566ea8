"""The frames that cross the wall of the jail."""

from mudroom.wire.control import (
    GuestHello,
    GuestReady,
    decode_failure,
    decode_hello,
    decode_ready,
    encode_failure,
    encode_hello,
    encode_ready,
)
from mudroom.wire.extracting import (
    ExtractOrder,
    decode_extract_request,
    decode_extracted,
    encode_extract_request,
    encode_extracted,
)
from mudroom.wire.frame import (
    HEADER_BYTES,
    NONCE_BYTES,
    FrameHeader,
    FrameKind,
    pack_header,
    parse_header,
    refuse,
)
from mudroom.wire.limits import AnswerLimits
from mudroom.wire.scanning import (
    EncodedScan,
    decode_scan_report,
    decode_scan_request,
    digest_payload,
    digest_scan_request,
    encode_once,
    encode_scan_report,
    encode_scan_request,
)
from mudroom.wire.sitemaps import (
    SitemapOrder,
    decode_sitemap,
    decode_sitemap_request,
    encode_sitemap,
    encode_sitemap_request,
)

__all__ = [
    "HEADER_BYTES",
    "NONCE_BYTES",
    "AnswerLimits",
    "EncodedScan",
    "ExtractOrder",
    "FrameHeader",
    "FrameKind",
    "GuestHello",
    "GuestReady",
    "SitemapOrder",
    "decode_extract_request",
    "decode_extracted",
    "decode_failure",
    "decode_hello",
    "decode_ready",
    "decode_scan_report",
    "decode_scan_request",
    "decode_sitemap",
    "decode_sitemap_request",
    "digest_payload",
    "digest_scan_request",
    "encode_extract_request",
    "encode_extracted",
    "encode_failure",
    "encode_hello",
    "encode_once",
    "encode_ready",
    "encode_scan_report",
    "encode_scan_request",
    "encode_sitemap",
    "encode_sitemap_request",
    "pack_header",
    "parse_header",
    "refuse",
]
