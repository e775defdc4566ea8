"""A crawl's policy, read back from the options of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

from mudroom.crawl import CrawlPolicy
from mudroom.errors import Code, InvalidConfig, StoreFailed

__all__ = ["read_policy"]


def read_policy(options: Mapping[str, Any]) -> CrawlPolicy:
    """The policy that a run was begun with; headers for the seed are never recorded, so it has none.

    Raises: StoreFailed SNAPSHOT_CORRUPT when the options describe no policy of this version.
    """
    try:
        policy = CrawlPolicy(**dict(_read_fields(options)))
        policy.check()
    except (TypeError, ValueError, InvalidConfig) as fault:
        raise StoreFailed(
            Code.SNAPSHOT_CORRUPT, "a run's options are damaged, or of another version of mudroom"
        ) from fault
    return policy


def _read_fields(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(CrawlPolicy)
    for field in fields(CrawlPolicy):
        if field.name in options:
            yield field.name, _read_value(hints[field.name], options[field.name])


def _read_value(hint: Any, value: Any) -> Any:
    """A value of JSON as the field has it: words are members of their enumeration, lists are tuples."""
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return tuple(_read_value(inner, item) for item in value)
    return value
