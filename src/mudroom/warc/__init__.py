"""WARC/1.1 records as bytes: built, compressed one by one, and read back. Pure."""

from mudroom.warc.compression import DEFAULT_GZIP_LEVEL, compress_member, decompress_member
from mudroom.warc.http_block import build_http_block
from mudroom.warc.reader import Damage, ReadRecord, ScanItem, iterate, parse_record, read_record
from mudroom.warc.record import RecordInput, RecordType, derive_record_id, encode_record, serialize_record

__all__ = [
    "DEFAULT_GZIP_LEVEL",
    "Damage",
    "ReadRecord",
    "RecordInput",
    "RecordType",
    "ScanItem",
    "build_http_block",
    "compress_member",
    "decompress_member",
    "derive_record_id",
    "encode_record",
    "iterate",
    "parse_record",
    "read_record",
    "serialize_record",
]
