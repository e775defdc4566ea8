from __future__ import annotations

import pytest

from mudroom.robots import forbids_following, is_robots_name

ROWS = [
    ((), False),
    (("",), False),
    (("index, follow",), False),
    (("noindex",), False),
    (("nofollow",), True),
    (("NoIndex , NoFollow",), True),
    (("none",), True),
    (("nofollowing",), False),
    (("follow", "nofollow"), True),
    (("mudroom: nofollow",), True),
    (("otherbot: nofollow",), False),
    (("otherbot: noindex, nofollow",), False),
    (("otherbot: noindex, mudroom: nofollow",), True),
    (("mudroom: noindex, otherbot: nofollow",), False),
    (("nofollow, otherbot: noindex",), True),
    (("unavailable_after: 25 Jun 2030 15:00:00 GMT, nofollow",), True),
    (("max-snippet:-1, none",), True),
    (("*: nofollow",), True),
    (("x" * 5000 + ", nofollow",), False),
]


@pytest.mark.parametrize(("values", "expected"), ROWS)
def test_directives_hold_for_those_they_name(values: tuple[str, ...], expected: bool) -> None:
    assert forbids_following(values, "mudroom") is expected


def test_a_meta_element_speaks_to_all_or_to_us() -> None:
    assert is_robots_name(" Robots", "mudroom")
    assert is_robots_name("MUDROOM", "mudroom")
    assert not is_robots_name("otherbot", "mudroom")
    assert not is_robots_name("", "mudroom")
