"""What an answer means for the part that lies here: a table, in which two versions never meet."""

from __future__ import annotations

import pytest

from mudroom.errors import Code, FetchFailed
from mudroom.fetch import BodyVersion, Continuation, HeldBody, find_total, judge_continuation

ETAG = '"v1"'
OLD, NOW = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:59:37 GMT"
BY_ETAG = HeldBody(size=5, total=9, validators=BodyVersion(etag=ETAG))
BY_DATE = HeldBody(size=5, total=9, validators=BodyVersion(last_modified=OLD))
OF_NO_LENGTH = HeldBody(size=5, validators=BodyVersion(etag=ETAG))
ALL = HeldBody(size=9, total=9, validators=BodyVersion(etag=ETAG))
REST = (("Content-Range", "bytes 5-8/9"), ("ETag", ETAG))

MEANINGS: list[tuple[str, HeldBody, int, tuple[tuple[str, str], ...], Continuation]] = [
    ("the rest", BY_ETAG, 206, REST, Continuation.APPEND),
    ("the rest, by date", BY_DATE, 206, (REST[0], ("Last-Modified", OLD)), Continuation.APPEND),
    ("the rest, its length unknown till now", OF_NO_LENGTH, 206, REST, Continuation.APPEND),
    ("the rest, of a whole not told", BY_ETAG, 206, (("Content-Range", "bytes 5-8/*"), REST[1]), Continuation.APPEND),
    ("another version", BY_ETAG, 206, (REST[0], ("ETag", '"v2"')), Continuation.AGAIN),
    ("a weak version", BY_ETAG, 206, (REST[0], ("ETag", f"W/{ETAG}")), Continuation.AGAIN),
    ("no version", BY_ETAG, 206, (REST[0],), Continuation.AGAIN),
    ("two versions", BY_ETAG, 206, (*REST, ("ETag", '"v2"')), Continuation.AGAIN),
    ("another date", BY_DATE, 206, (REST[0], ("Last-Modified", NOW)), Continuation.AGAIN),
    ("no date", BY_DATE, 206, REST, Continuation.AGAIN),
    ("from before", BY_ETAG, 206, (("Content-Range", "bytes 4-8/9"), REST[1]), Continuation.AGAIN),
    ("from behind", BY_ETAG, 206, (("Content-Range", "bytes 6-8/9"), REST[1]), Continuation.AGAIN),
    ("from the beginning", BY_ETAG, 206, (("Content-Range", "bytes 0-8/9"), REST[1]), Continuation.AGAIN),
    ("not to the end", BY_ETAG, 206, (("Content-Range", "bytes 5-7/9"), REST[1]), Continuation.AGAIN),
    ("past the end", BY_ETAG, 206, (("Content-Range", "bytes 5-9/9"), REST[1]), Continuation.AGAIN),
    ("of another length", BY_ETAG, 206, (("Content-Range", "bytes 5-9/10"), REST[1]), Continuation.AGAIN),
    ("other units", BY_ETAG, 206, (("Content-Range", "lines 5-8/9"), REST[1]), Continuation.AGAIN),
    ("no range", BY_ETAG, 206, (REST[1],), Continuation.AGAIN),
    ("two ranges", BY_ETAG, 206, (REST[0], *REST), Continuation.AGAIN),
    ("many parts", BY_ETAG, 206, (("Content-Type", "multipart/byteranges; boundary=x"), REST[1]), Continuation.AGAIN),
    ("a huge number", BY_ETAG, 206, (("Content-Range", f"bytes 5-8/{'9' * 400}"), REST[1]), Continuation.AGAIN),
    ("in a coding", BY_ETAG, 206, (*REST, ("Content-Encoding", "gzip")), Continuation.AGAIN),
    ("the whole", BY_ETAG, 200, (("ETag", '"v2"'),), Continuation.RESTART),
    ("the whole, the same", BY_ETAG, 200, (("ETag", ETAG),), Continuation.RESTART),
    ("all is here", ALL, 416, (("Content-Range", "bytes */9"),), Continuation.COMPLETE),
    ("all is here of another version", ALL, 416, (("Content-Range", "bytes */9"), ("ETag", '"v2"')), Continuation.AGAIN),
    ("it shrank", BY_ETAG, 416, (("Content-Range", "bytes */4"),), Continuation.AGAIN),
    ("it shrank to what is here", BY_ETAG, 416, (("Content-Range", "bytes */5"),), Continuation.AGAIN),
    ("it grew", ALL, 416, (("Content-Range", "bytes */10"),), Continuation.AGAIN),
    ("its length was never known", OF_NO_LENGTH, 416, (("Content-Range", "bytes */5"),), Continuation.AGAIN),
    ("it does not say", ALL, 416, (), Continuation.AGAIN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("held", "status", "headers", "expected"), [row[1:] for row in MEANINGS], ids=[row[0] for row in MEANINGS]
)
def test_what_an_answer_means(
    held: HeldBody, status: int, headers: tuple[tuple[str, str], ...], expected: Continuation
) -> None:
    assert judge_continuation(held, status, headers) is expected


@pytest.mark.parametrize("status", [206, 416])
@pytest.mark.parametrize("held", [HeldBody(), HeldBody(size=5), HeldBody(validators=BodyVersion(etag=ETAG))])
def test_a_part_that_nobody_asked_for_is_an_error(held: HeldBody, status: int) -> None:
    assert held.range_headers == ()
    with pytest.raises(FetchFailed) as caught:
        judge_continuation(held, status, REST)
    assert caught.value.code is Code.PROTOCOL_ERROR


def test_the_rest_is_asked_for_with_what_tells_the_version() -> None:
    assert BY_ETAG.range_headers == (("Range", "bytes=5-"), ("If-Range", ETAG))
    assert BY_DATE.range_headers == (("Range", "bytes=5-"), ("If-Range", OLD))


VALIDATORS: list[tuple[str, tuple[tuple[str, str], ...], str]] = [
    ("a strong tag", (("ETag", ETAG), ("Last-Modified", OLD), ("Date", NOW)), ETAG),
    ("a weak tag", (("ETag", f"W/{ETAG}"),), ""),
    ("a weak tag and a settled date", (("ETag", f"W/{ETAG}"), ("Last-Modified", OLD), ("Date", NOW)), OLD),
    ("a bare tag", (("ETag", "v1"),), ""),
    ("two tags", (("ETag", ETAG), ("ETag", '"v2"')), ""),
    ("a tag of other letters", (("ETag", '"\xe9"'),), ""),
    ("a long tag", (("ETag", '"' + "x" * 513 + '"'),), ""),
    ("a date without a date", (("Last-Modified", OLD),), ""),
    ("a date of just now", (("Last-Modified", OLD), ("Date", "Sun, 06 Nov 1994 08:50:36 GMT")), ""),
    ("a date of one minute ago", (("Last-Modified", OLD), ("Date", "Sun, 06 Nov 1994 08:50:37 GMT")), OLD),
    ("a date of tomorrow", (("Last-Modified", NOW), ("Date", OLD)), ""),
    ("no date at all", (("Last-Modified", "yesterday"), ("Date", NOW)), ""),
    ("a date of no zone", (("Last-Modified", "Sun, 06 Nov 1994 08:49:37 -0000"), ("Date", NOW)), ""),
    ("a year without end", (("Last-Modified", "Sun, 06 Nov 99999 08:49:37 GMT"), ("Date", NOW)), ""),
    ("of a coding", (("ETag", ETAG), ("Content-Encoding", "gzip")), ""),
]


@pytest.mark.parametrize(
    ("headers", "expected"), [row[1:] for row in VALIDATORS], ids=[row[0] for row in VALIDATORS]
)
def test_only_what_is_strong_tells_a_version(headers: tuple[tuple[str, str], ...], expected: str) -> None:
    found = BodyVersion.of(headers)
    assert found.if_range == expected
    assert found.is_sound


@pytest.mark.parametrize(
    "unsound",
    [
        BodyVersion(etag="v1"),
        BodyVersion(etag='"a\r\nb"'),
        BodyVersion(last_modified="x\ny"),
        BodyVersion(etag='W/"a"'),
    ],
)
def test_validators_from_elsewhere_need_not_be_sound(unsound: BodyVersion) -> None:
    assert not unsound.is_sound


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, (("Content-Length", "9"),), 9),
        (200, (), None),
        (200, (("Content-Length", "9"), ("Content-Encoding", "gzip")), None),
        (206, (("Content-Length", "4"), ("Content-Range", "bytes 5-8/9")), 9),
        (206, (("Content-Range", "bytes 5-8/*"),), 9),
        (206, (("Content-Range", "bytes */9"),), None),
    ],
)
def test_the_length_of_the_whole(
    status: int, headers: tuple[tuple[str, str], ...], expected: int | None
) -> None:
    assert find_total(status, headers) == expected
