"""The rules that ship: each finds its own examples, and every fault of a rule file is named."""

from __future__ import annotations

from importlib import resources

import pytest

from mudroom.errors import InvalidConfig
from mudroom.model import ExposedForm, ExposedText, ScanRequest, SecurityText, Severity
from mudroom.screen import RuleSet, Scanner, digest_rules, load_rules, parse_rules

GOOD = b"""
category: sample
rules:
  - id: SAMPLE-001
    name: A sample
    severity: HIGH
    message: It is a sample.
    remediation: None needed.
    patterns: ['green cheese']
    tests: {positive: [green cheese], negative: [blue cheese]}
"""


def test_every_rule_finds_its_positive_examples_and_leaves_its_negative_ones(
    rules: RuleSet, scanner: Scanner
) -> None:
    missed = [
        (rule.id, text)
        for rule in rules.rules
        for text in rule.positive
        if rule.id not in {hit.rule.id for hit in scanner.find(text.encode())}
    ]
    mistaken = [
        (rule.id, text)
        for rule in rules.rules
        for text in rule.negative
        if rule.id in {hit.rule.id for hit in scanner.find(text.encode()) if not hit.is_decoded}
    ]
    assert (missed, mistaken) == ([], [])


def _packaged_files() -> dict[str, bytes]:
    folder = resources.files("mudroom.screen").joinpath("data")
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith(".yaml")}


def test_re2_takes_every_pattern_that_ships() -> None:
    assert parse_rules(_packaged_files()) == load_rules()


def test_a_pattern_that_re2_refuses_is_told_unless_none_is_tried() -> None:
    broken = {"a.yaml": GOOD.replace(b"green cheese'", b"green cheese{2000}'")}
    with pytest.raises(InvalidConfig) as refused:
        parse_rules(broken)
    assert "not a pattern for RE2" in refused.value.faults[0]
    assert parse_rules(broken, are_packaged=True).rules


def test_the_packaged_rules_are_named_without_being_parsed() -> None:
    assert digest_rules() == load_rules().digest


@pytest.mark.parametrize("change", [str.lower, str.upper, str.capitalize, str.swapcase])
def test_case_changes_nothing_in_any_category(rules: RuleSet, scanner: Scanner, change: object) -> None:
    # Row 85. Tokens and encodings are told by their letters, so their case is theirs.
    assert callable(change)
    for rule in rules.rules:
        if rule.lane == "prose":
            text = rule.positive[0]
            assert rule.id in {hit.rule.id for hit in scanner.find(change(text).encode())}, (
                rule.id,
                change(text),
            )


def test_the_set_is_large_enough_and_covers_the_categories(rules: RuleSet) -> None:
    assert len(rules.rules) >= 60
    assert {rule.category for rule in rules.rules} >= {
        "role-override",
        "instruction-injection",
        "exfiltration",
        "jailbreak",
        "encoding",
        "tool-abuse",
        "tool-poisoning",
        "persistence",
        "concealment",
        "chat-template",
        "evaluator-steering",
        "multilingual",
    }


def test_signals_find_their_examples(rules: RuleSet) -> None:
    assert {signal.group for signal in rules.signals} == {"addressee", "order", "goal"}
    assert all(signal.positive and signal.negative for signal in rules.signals)


def test_hiding_raises_what_warns_and_leaves_what_is_only_recorded() -> None:
    by_severity = {
        severity: parse_rules({"a.yaml": GOOD.replace(b"HIGH", severity.encode())}).rules[0].hidden
        for severity in ("LOW", "MEDIUM", "HIGH", "CRITICAL")
    }
    assert by_severity == {
        "LOW": Severity.LOW,
        "MEDIUM": Severity.HIGH,
        "HIGH": Severity.CRITICAL,
        "CRITICAL": Severity.CRITICAL,
    }


def test_the_digest_follows_every_byte_and_name() -> None:
    one = parse_rules({"a.yaml": GOOD})
    assert one.digest == parse_rules({"a.yaml": GOOD}).digest
    assert one.digest != parse_rules({"b.yaml": GOOD}).digest
    assert one.digest != parse_rules({"a.yaml": GOOD + b"\n"}).digest
    assert load_rules().digest == load_rules().digest


FAULTS = (
    ("unknown key", GOOD.replace(b"name:", b"nmae:"), "a.yaml: rules[SAMPLE-001]: nmae: unknown key"),
    ("unknown file key", GOOD + b"extra: 1\n", "a.yaml: extra: unknown key"),
    (
        "missing text",
        GOOD.replace(b"    name: A sample\n", b""),
        "a.yaml: rules[SAMPLE-001]: name: expected a text",
    ),
    ("bad severity", GOOD.replace(b"HIGH", b"SEVERE"), "rules[SAMPLE-001]: severity: expected one of LOW"),
    ("bad id", GOOD.replace(b"SAMPLE-001", b"sample1"), "a.yaml: rules[sample1]: id: expected capitals"),
    ("bad pattern", GOOD.replace(b"green cheese'", b"green (cheese'"), "patterns[0]: not a pattern for RE2"),
    ("lookbehind", GOOD.replace(b"'green cheese'", b"'(?<=x)y'"), "patterns[0]: not a pattern for RE2"),
    ("empty match", GOOD.replace(b"'green cheese'", b"'z*'"), "patterns[0]: matches the empty text"),
    ("unknown word", GOOD.replace(b"'green cheese'", b"'%nope%'"), "patterns[0]: unknown word %nope%"),
    ("open bracket", GOOD.replace(b"'green cheese'", b"'gr[een'"), "patterns[0]: a bracket"),
    (
        "no tests",
        GOOD.replace(b"    tests: {positive: [green cheese], negative: [blue cheese]}\n", b""),
        "tests: expected",
    ),
    ("no negative", GOOD.replace(b", negative: [blue cheese]", b""), "negative: expected a list"),
    ("not yaml", b"rules: [", "a.yaml: not readable as YAML"),
    ("not a mapping", b"- 1", "a.yaml: expected a mapping"),
    (
        "case in prose",
        GOOD.replace(b"    tests", b"    case_sensitive: true\n    tests"),
        "case_sensitive: prose is",
    ),
)


@pytest.mark.parametrize(("content", "expected"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_is_named_with_its_file_and_key(content: bytes, expected: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse_rules({"a.yaml": content})
    assert expected in caught.value.message


def test_an_id_given_twice_is_refused_across_files() -> None:
    with pytest.raises(InvalidConfig, match="SAMPLE-001 is given twice"):
        parse_rules({"a.yaml": GOOD, "b.yaml": GOOD})


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse_rules({"a.yaml": GOOD.replace(b"HIGH", b"SEVERE"), "b.yaml": b"- 1"})
    assert len(caught.value.faults) >= 2


def test_words_that_lead_back_to_themselves_are_refused() -> None:
    with pytest.raises(InvalidConfig, match="leads back to itself"):
        parse_rules({"words.yaml": b"words: {a: 'x%a%'}", "a.yaml": GOOD.replace(b"green cheese'", b"%a%'")})


def test_every_packaged_pattern_compiles_by_itself() -> None:
    # Loading them at a start takes this on trust.
    folder = resources.files("mudroom.screen").joinpath("data")
    files = {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith(".yaml")}
    assert parse_rules(files) == load_rules()


MANUALS = (
    "This option forces child sections to ignore all rules that they would inherit.",
    "Applications should not use any of these parameters.",
    "Close the archive and forget everything we know about it.",
    "If the filter wants no more, it should stop processing, then return the constant.",
    "Copy files from the index to the tree, see [the list](http://manual.test/list.html).",
    "Send email to [the list](mailto:list@manual.test).",
    "You can provide your own configuration in a module.",
    "It prints a notice before printing the first prompt.",
    "Set the variable to enable the debug mode of the loop.",
    "Encode the bytes-like object using Base64.",
    "Pass it as the context argument of the call.",
    "Mark the output as safe from further escaping.",
    "The counter is an integer because it has no limit.",
    "Before running the server you must fill the folder.",
    "subprocess.\nrun\nsubprocess.\nPopen",
    "The database will be destroyed without consulting the user.",
    '{"sub": "17", "admin": true}',
    "quantity<UNIT(System), Y>",
    "![build](https://ci.manual.test/{owner}/{repo}/badge.svg)",
    "Permet de contourner les restrictions du serveur.",
)


@pytest.mark.parametrize("text", MANUALS)
def test_manuals_raise_no_warning(scanner: Scanner, text: str) -> None:
    page = ScanRequest(
        exposed=(ExposedText(form=ExposedForm.MARKDOWN, text=text),),
        security_text=SecurityText.from_pieces([]),
    )
    assert [finding.id for finding in scanner.scan(page) if finding.severity > Severity.LOW] == []
