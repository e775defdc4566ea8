"""The shipped rules, compiled once for all tests of this floor."""

from __future__ import annotations

import pytest

from mudroom.screen import RuleSet, ScanLimits, Scanner, load_rules


@pytest.fixture(scope="session")
def rules() -> RuleSet:
    return load_rules()


@pytest.fixture(scope="session")
def scanner(rules: RuleSet) -> Scanner:
    return Scanner(rules, ScanLimits())
