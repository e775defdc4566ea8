from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from mudroom.mcp import build_server
from mudroom.mcp.schemas import INPUT_SCHEMA, OUTPUT_SCHEMA

SERVER = """
import asyncio, sys
sys.path.insert(0, {folder!r})
import conftest
from mudroom.mcp import AgentParts, McpOptions, serve

class Opener(conftest.ScriptedOpener):
    async def open_page(self, url, **more):
        print("a stray print of a library")
        return await super().open_page(url, **more)

parts = AgentParts(
    opener=Opener({{"https://a.example/": "the page"}}), screen=conftest.ScriptedScreen(),
    options=McpOptions(), version="1",
)
asyncio.run(serve(parts))
"""


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_ages_of_the_protocol_list_the_one_tool(house: Callable[..., Any], mode: str) -> None:
    async with Client(build_server(house({}).parts), mode=mode) as client:
        (tool,) = (await client.list_tools()).tools
    assert tool.name == "web_open"
    assert (tool.input_schema, tool.output_schema) == (INPUT_SCHEMA, OUTPUT_SCHEMA)
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint
    assert tool.annotations.open_world_hint
    assert not tool.annotations.destructive_hint


def test_the_schemas_are_schemas_and_stay_as_they_are() -> None:
    for schema in (INPUT_SCHEMA, OUTPUT_SCHEMA):
        jsonschema.Draft202012Validator.check_schema(schema)
    assert list(INPUT_SCHEMA["properties"]) == ["url", "view", "max_chars", "cursor"]
    assert INPUT_SCHEMA["required"] == ["url"]
    assert INPUT_SCHEMA["properties"]["max_chars"]["default"] == 20_000
    assert not INPUT_SCHEMA["additionalProperties"]


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(house: Callable[..., Any]) -> None:
    async with Client(build_server(house({}).parts), mode="legacy") as client:
        with pytest.raises(MCPError):
            await client.call_tool("web_crawl", {})


def test_standard_output_carries_the_protocol_alone() -> None:
    folder = Path(__file__).parent
    messages = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": {"name": "web_open", "arguments": {"url": "https://a.example/"}},
        },
    ]
    answers, errors = _converse(SERVER.format(folder=str(folder)), messages)
    assert answers[1]["result"]["serverInfo"]["name"] == "mudroom"
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["web_open"]
    told = answers[3]["result"]["structuredContent"]
    assert told["outcome"] == "STORED"
    assert "the page" in told["markdown"]
    assert "a stray print" in errors


def _converse(program: str, messages: list[dict[str, Any]]) -> tuple[dict[int, Any], str]:
    """The answers by id; each line of standard output must be one of the protocol."""
    source = Path(__file__).parents[2] / "src"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        answers: dict[int, Any] = {}
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
                answers[answer["id"]] = answer
        process.stdin.close()
        assert process.stdout.read() == ""
        return answers, process.stderr.read()
