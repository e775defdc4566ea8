import gzip
import sys
import tracemalloc
import zlib

import brotli
import pytest

from mudroom.errors import Code, ContentRefused
from mudroom.media import BodyDecoder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"Coats hang on the left, boots stand on the right.\n" * 400
LIMIT = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACK = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def unpack(coding: str | None, body: bytes, limit: int = LIMIT) -> bytes:
    decoder = BodyDecoder(coding, limit)
    return decoder.feed(body) + decoder.finish()


def refused(coding: str | None, body: bytes, limit: int = LIMIT) -> Code:
    with pytest.raises(ContentRefused) as caught:
        unpack(coding, body, limit)
    return caught.value.code


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
@pytest.mark.parametrize("coding", PACK)
def test_each_coding_is_undone_however_the_chunks_fall(coding: str, step: int) -> None:
    packed = PACK[coding](TEXT)
    decoder = BodyDecoder(coding.upper(), LIMIT)
    out = b"".join(decoder.feed(packed[start : start + step]) for start in range(0, len(packed), step))
    assert out + decoder.finish() == TEXT


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        pytest.param(None, TEXT, id="no coding"),
        pytest.param("", TEXT, id="empty header"),
        pytest.param("identity", TEXT, id="identity"),
        pytest.param("deflate", raw_deflate(TEXT), id="raw deflate, as some servers send it"),
        pytest.param(
            "deflate, gzip", gzip.compress(zlib.compress(TEXT)), id="two codings, undone from the last"
        ),
        pytest.param("gzip,br,zstd", zstd.compress(brotli.compress(gzip.compress(TEXT))), id="three codings"),
        pytest.param("gzip", gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:]), id="two gzip members"),
        pytest.param("gzip", gzip.compress(TEXT) + b"\0" * 9, id="gzip, padded with zeros"),
        pytest.param("gzip", gzip.compress(TEXT) + b"trailer", id="gzip with rubbish behind it, as browsers"),
        pytest.param("zstd", zstd.compress(TEXT[:99]) + zstd.compress(TEXT[99:]), id="two zstd frames"),
        pytest.param(
            "zstd", b"\x50\x2a\x4d\x18\x04\0\0\0note" + zstd.compress(TEXT), id="skippable zstd frame first"
        ),
    ],
)
def test_what_honest_servers_send_is_read(coding: str | None, body: bytes) -> None:
    assert unpack(coding, body) == TEXT


@pytest.mark.parametrize("coding", PACK)
def test_an_empty_body_needs_no_stream_in_it(coding: str) -> None:
    assert unpack(coding, b"") == b""


@pytest.mark.parametrize("coding", ["compress", "sdch", "gzip;q=1", "aes128gcm", "gzip,gzip,gzip,gzip"])
def test_codings_that_are_not_read_are_refused_before_any_byte(coding: str) -> None:
    assert refused(coding, b"") is Code.UNSUPPORTED_ENCODING


@pytest.mark.parametrize("coding", PACK)
def test_a_stream_cut_short_is_damage_never_a_short_success(coding: str) -> None:
    assert refused(coding, PACK[coding](TEXT)[:-9]) is Code.DECODE_FAILED


@pytest.mark.parametrize("coding", PACK)
def test_bytes_that_are_not_of_the_coding_are_damage(coding: str) -> None:
    assert refused(coding, b"\x1b<html>this was never packed</html>" * 9) is Code.DECODE_FAILED


def test_a_gzip_whose_checksum_lies_is_damage() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 0xFF
    assert refused("gzip", bytes(packed)) is Code.DECODE_FAILED


@pytest.mark.parametrize("coding", [None, *PACK])
def test_the_limit_itself_passes_and_one_byte_more_does_not(coding: str | None) -> None:
    body = PACK[coding](TEXT) if coding else TEXT
    assert unpack(coding or "identity", body, len(TEXT)) == TEXT
    assert refused(coding, body, len(TEXT) - 1) is Code.DECODED_TOO_LARGE


ZEROS = bytes(50_000_000)
BOMBS = {coding: PACK[coding](ZEROS) for coding in ("gzip", "deflate", "br", "zstd")}


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        *((coding, bomb) for coding, bomb in BOMBS.items()),
        ("gzip,gzip", gzip.compress(BOMBS["gzip"])),
        ("br,gzip,zstd", zstd.compress(gzip.compress(BOMBS["br"]))),
        pytest.param("gzip,gzip", BOMBS["gzip"], id="what the outer coding holds is no inner one"),
    ],
)
def test_a_bomb_stops_early_in_flat_memory(coding: str, bomb: bytes) -> None:
    tracemalloc.start()
    try:
        code = refused(coding, bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code in {Code.DECODED_TOO_LARGE, Code.DECODE_FAILED}
    assert peak < 4 * LIMIT


def test_a_window_larger_than_the_standard_allows_is_refused() -> None:
    wide = zstd.compress(ZEROS[: 20 << 20], options={zstd.CompressionParameter.window_log: 27})
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    wide = packer.compress(ZEROS[: 20 << 20]) + packer.flush()
    assert refused("zstd", wide, 1 << 30) is Code.DECODE_FAILED


@pytest.mark.parametrize(("coding", "empty"), [("gzip", gzip.compress(b"")), ("zstd", zstd.compress(b""))])
def test_ten_thousand_empty_streams_in_a_row_are_enough(coding: str, empty: bytes) -> None:
    assert refused(coding, empty * 11_000) is Code.DECODE_FAILED
