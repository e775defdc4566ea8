from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from mudroom.corpus import SCHEMA_NAMES, load_schema
from mudroom.model import Decision, OutcomeKind, RobotsState, RunKind, Severity

_OUTCOME: dict[str, Any] = {
    "outcome": "STORED",
    "decision": "SAFE",
    "code": None,
    "reason": None,
    "retryable": False,
    "requested_url": "https://example.org/",
    "final_url": "https://example.org/",
    "http_status": 200,
    "title": "A page",
    "markdown": "# A page",
    "source_ref": None,
    "document_id": "open_01KD4000000000000000000000/000001",
    "run_id": "open_01KD4000000000000000000000",
    "path": "/home/a/runs/open_01KD4000000000000000000000/pages/000001-a.md",
    "retrieved_at": "2026-11-30T12:00:00.000Z",
    "findings": [{"id": "ROLE-004", "severity": "LOW", "category": "role-override", "channel": "comment"}],
    "versions": {"mudroom": "0.1.0", "scanner": "1", "policy": "a"},
    "warnings": [],
    "message": None,
    "isolation": "strict",
}


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_each_schema_is_a_schema_and_closed(name: str) -> None:
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"mudroom.{name}/1"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) - {"title", "markdown"} == set(schema["properties"]) - {
        "title",
        "markdown",
    }


def test_what_robots_txt_said_is_one_of_a_closed_set() -> None:
    assert load_schema("document")["properties"]["robots"]["enum"] == [state.value for state in RobotsState]


def test_a_name_that_is_no_schema_is_refused() -> None:
    with pytest.raises(KeyError):
        load_schema("../records")


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("decision", [word.value for word in Decision]),
        ("outcome", [word.value for word in OutcomeKind]),
        ("severity", [word.name for word in Severity]),
    ],
)
def test_the_words_of_the_schemas_are_those_of_the_code(definition: str, words: list[str]) -> None:
    found = [
        schema["$defs"][definition]
        for schema in map(load_schema, SCHEMA_NAMES)
        if definition in schema["$defs"]
    ]
    assert found
    assert all(entry == {"enum": words} for entry in found)
    assert load_schema("manifest")["properties"]["kind"] == {"enum": [kind.value for kind in RunKind]}


def test_an_outcome_that_was_stored_has_title_and_markdown() -> None:
    jsonschema.validate(_OUTCOME, load_schema("outcome"))


@pytest.mark.parametrize(
    ("name", "changes", "without"),
    [
        ("blocked with Markdown", {"outcome": "BLOCKED"}, ("title",)),
        ("failed with a title", {"outcome": "FAILED"}, ("markdown",)),
        ("stored without Markdown", {}, ("markdown",)),
        ("a key of its own", {"links": []}, ()),
        ("a finding with text", {"findings": [_OUTCOME["findings"][0] | {"text": "x"}]}, ()),
        ("no decision", {}, ("decision",)),
        ("an unknown reason", {"reason": "BECAUSE"}, ()),
    ],
)
def test_an_outcome_that_says_too_much_or_too_little_is_invalid(
    name: str, changes: dict[str, Any], without: tuple[str, ...]
) -> None:
    value = {key: entry for key, entry in (_OUTCOME | changes).items() if key not in without}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, load_schema("outcome"))
