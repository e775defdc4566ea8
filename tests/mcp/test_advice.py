"""Advice to an agent names nothing that only a person at a command line can do, unless it says whom to ask."""

import re

import pytest

from mudroom.errors import CODES, Code
from mudroom.mcp.advice import advise_agent

FOR_PEOPLE = re.compile(
    r"--[a-z]|\[[a-z]+\]|\b(egress|fetch|extract|archive|jail|mcp)\.[a-z_]+|\bmudroom (?!does)[a-z]+"
)


@pytest.mark.parametrize("code", list(Code))
def test_what_only_the_operator_can_do_is_said_to_be_so(code: Code) -> None:
    advice = advise_agent(code)
    assert advice
    assert len(advice) < 250
    if FOR_PEOPLE.search(advice):
        assert re.search(r"operator|your user", advice), advice
    assert "--" not in advice


@pytest.mark.parametrize("code", [Code.DENIED_ADDRESS, Code.DENIED_HOST, Code.INVALID_PORT])
def test_the_way_to_a_private_origin_is_named_to_people_and_to_agents(code: Code) -> None:
    assert "--allow-origin http://127.0.0.1:8000" in CODES[code].advice
    assert "mcp.allow_origins" in advise_agent(code)
    assert "http://127.0.0.1:8000" in advise_agent(code)
