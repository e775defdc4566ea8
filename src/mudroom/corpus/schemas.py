"""The JSON Schemas of what mudroom writes, as the package holds them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

__all__ = ["SCHEMA_NAMES", "load_schema"]

SCHEMA_NAMES = ("document", "findings", "manifest", "outcome", "security-summary", "sources")


def load_schema(name: str) -> dict[str, Any]:
    """The schema of that name, JSON Schema 2020-12. Raises KeyError for a name that is none of ours."""
    if name not in SCHEMA_NAMES:
        raise KeyError(name)
    text = files("mudroom.corpus").joinpath("schemas").joinpath(f"{name}.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
