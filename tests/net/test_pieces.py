"""Bytes that wait: in their order, whatever sizes they came in, and never as many small pieces."""

from __future__ import annotations

import pytest

from mudroom.net.pieces import Pieces

SIZES = {
    "crumbs": (1, 2, 3),
    "crumbs and whole pieces": (1, 1, 1, 5000),
    "at the border": (1023, 1024, 1025),
    "none among them": (0, 2),
}


@pytest.mark.parametrize("name", SIZES)
def test_what_is_put_in_comes_out_in_its_order(name: str) -> None:
    pieces, given, taken = Pieces(), bytearray(), bytearray()
    sizes = SIZES[name]
    for number in range(5000):
        piece = bytes([number % 251]) * sizes[number % len(sizes)]
        given += piece
        pieces.add(piece)
        assert pieces.size == len(given) - len(taken)
        if not number % 1777:
            taken += pieces.take()
    while piece := pieces.take():
        taken += piece
    assert taken == given
    assert pieces.size == 0


def test_all_of_it_is_taken_at_once() -> None:
    pieces = Pieces()
    for number in range(3000):
        pieces.add(b"%d" % number)
    assert pieces.take_all() == b"".join(b"%d" % number for number in range(3000))
    assert (pieces.size, pieces.take(), pieces.take_all()) == (0, b"", b"")


def test_crumbs_are_taken_some_kilobytes_at_a_time() -> None:
    pieces = Pieces()
    for _ in range(100_000):
        pieces.add(b"xy")
    takes = 0
    while pieces.take():
        takes += 1
    assert takes < 200
