"""WARC/1.1 records as bytes: built, compressed one by one, and read back. Pure."""

from mudroom.warc.compression import DEFAULT_GZIP_LEVEL, compress_member, decompress_member
from mudroom.warc.digests import does_digest_hold
from mudroom.warc.foreign import ForeignDamage, ForeignFault, ForeignLimits, ForeignRecord, read_foreign
from mudroom.warc.http_block import build_http_block
from mudroom.warc.http_message import HttpMessage, parse_http_answer
from mudroom.warc.reader import Damage, ReadRecord, ScanItem, iterate, parse_record, read_record
from mudroom.warc.record import RecordInput, RecordType, derive_record_id, encode_record, serialize_record
from mudroom.warc.unpacking import ByteSource

__all__ = [
    "DEFAULT_GZIP_LEVEL",
    "ByteSource",
    "Damage",
    "ForeignDamage",
    "ForeignFault",
    "ForeignLimits",
    "ForeignRecord",
    "HttpMessage",
    "ReadRecord",
    "RecordInput",
    "RecordType",
    "ScanItem",
    "build_http_block",
    "compress_member",
    "decompress_member",
    "derive_record_id",
    "does_digest_hold",
    "encode_record",
    "iterate",
    "parse_http_answer",
    "parse_record",
    "read_foreign",
    "read_record",
    "serialize_record",
]
