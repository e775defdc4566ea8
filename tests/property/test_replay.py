"""Whatever a record or a name holds: a value, or a failure of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.address import AllowedOrigin, EgressPolicy
from mudroom.errors import Code, StoreFailed
from mudroom.replay import compare_manifests, describe_egress, name_ref
from mudroom.replay.egress import find_egress
from mudroom.replay.shapes import check_finding, check_manifest, check_metadata, check_source

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["n", "url", "pages", "hops", "options", "warnings", "code", "findings", "kind", "totals"]
)
RECORDS = st.dictionaries(KEYS, JSON, max_size=8)


def code_of(work: Callable[[Any], object], value: Any) -> Code | None:
    """The code of a refusal; None where there was none."""
    try:
        work(value)
    except StoreFailed as error:
        return error.code
    return None


@settings(max_examples=150, deadline=None)
@given(RECORDS)
def test_a_record_of_anything_is_refused_in_one_way(record: dict[str, Any]) -> None:
    for check in (check_manifest, check_metadata, check_source, check_finding):
        assert code_of(check, record) in {None, Code.SNAPSHOT_CORRUPT}


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_an_egress_policy_of_anything_is_refused_in_one_way(described: Any) -> None:
    assert code_of(find_egress, {"egress": described}) in {None, Code.SNAPSHOT_CORRUPT}
    whole = describe_egress(EgressPolicy())
    for key in whole:
        assert code_of(find_egress, {"egress": whole | {key: described}}) in {None, Code.SNAPSHOT_CORRUPT}


@settings(max_examples=50, deadline=None)
@given(
    st.frozensets(st.integers(1, 65_535), max_size=4),
    st.lists(st.integers(1, 65_535), max_size=3),
    st.frozensets(st.from_regex(r"[a-z]{1,8}\.example", fullmatch=True), max_size=3),
)
def test_an_egress_policy_is_read_back_as_it_was(
    ports: frozenset[int], own: list[int], denied: frozenset[str]
) -> None:
    origins = tuple(AllowedOrigin.parse(f"http://127.0.0.1:{port}") for port in own)
    policy = EgressPolicy(ports=ports, allow_origins=origins, deny_hosts=denied)
    assert find_egress({"egress": describe_egress(policy)}) == policy


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_a_name_without_its_path(text: str) -> None:
    assert "\n" not in name_ref(text)


ROW = {"n": 1, "code": None, "decision": "SAFE"}
MANIFEST: dict[str, Any] = {
    "kind": "crawl",
    "state": "COMPLETE",
    "root_url": "x",
    "options": {},
    "totals": {},
}


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(["code", "url", "message"]), st.text(max_size=4)), max_size=4)
)
def test_a_run_equals_itself_whatever_the_order_of_its_warnings(warnings: list[dict[str, str]]) -> None:
    run = MANIFEST | {"pages": [ROW], "warnings": warnings}
    assert compare_manifests(run, run | {"warnings": warnings[::-1]}) == ()
    more = run | {"warnings": [*warnings, {"code": "NEW"}]}
    assert [each.field for each in compare_manifests(run, more)] == ["warning"]
