"""Bodies in content encodings, honest ones and bombs."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["encode", "make_bomb"]

_PIECE_BYTES = 1 << 20


def encode(body: bytes, *encodings: str) -> bytes:
    """A body with content encodings applied in order, as a Content-Encoding header lists them.

    Shapes: gzip, x-gzip, deflate (zlib), raw-deflate (without the zlib wrapper, as some servers send it),
    br, zstd, identity. The same input gives the same bytes.
    """
    for encoding in encodings:
        body = _encode_once(body, encoding)
    return body


def make_bomb(encoding: str, decoded_bytes: int) -> bytes:
    """A small body of one encoding that unpacks to `decoded_bytes` zeros."""
    return b"".join(_compress(_zeros(decoded_bytes), encoding))


def _encode_once(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "gzip" | "x-gzip":
            return gzip.compress(body, mtime=0)
        case "deflate":
            return zlib.compress(body)
        case "raw-deflate":
            return zlib.compress(body, wbits=-zlib.MAX_WBITS)
        case "br":
            return bytes(brotli.compress(body, quality=5))
        case "zstd":
            return zstd.compress(body)
        case "identity":
            return body
        case _:
            raise ValueError(f"no encoder for {encoding!r}; use gzip, deflate, raw-deflate, br or zstd")


def _zeros(count: int) -> Iterable[bytes]:
    piece = bytes(_PIECE_BYTES)
    for _ in range(count // _PIECE_BYTES):
        yield piece
    yield bytes(count % _PIECE_BYTES)


def _compress(pieces: Iterable[bytes], encoding: str) -> Iterable[bytes]:
    match encoding:
        case "gzip" | "deflate":
            wbits = zlib.MAX_WBITS | 16 if encoding == "gzip" else zlib.MAX_WBITS
            packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
            for piece in pieces:
                yield packer.compress(piece)
            yield packer.flush()
        case "br":
            brotler = brotli.Compressor(quality=5)
            for piece in pieces:
                yield brotler.process(piece)
            yield brotler.finish()
        case "zstd":
            zstder = zstd.ZstdCompressor()
            for piece in pieces:
                yield zstder.compress(piece)
            yield zstder.flush()
        case _:
            raise ValueError(f"no bomb of {encoding!r}; use gzip, deflate, br or zstd")
