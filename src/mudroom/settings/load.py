"""All settings, checked together: every fault is reported at once, with key, value and what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from pydantic import TypeAdapter, ValidationError

from mudroom.crawl import CrawlPolicy
from mudroom.errors import InvalidConfig
from mudroom.extract import ExtractLimits
from mudroom.screen import PolicyOptions, ScanLimits
from mudroom.settings.layers import (
    CONFIG_VARIABLE,
    WORKSPACE_VARIABLE,
    Layer,
    find_config_file,
    read_environment,
    read_file,
)
from mudroom.settings.sections import (
    ArchiveSettings,
    EgressSettings,
    FetchSettings,
    JailSettings,
    McpSettings,
)

__all__ = ["SettingValue", "Settings", "load_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingValue:
    """One setting as it holds, and where from."""

    section: str
    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every section, valid."""

    workspace: Path
    config_file: Path
    egress: EgressSettings
    fetch: FetchSettings
    crawl: CrawlPolicy
    archive: ArchiveSettings
    jail: JailSettings
    extract: ExtractLimits
    screen: ScanLimits
    policy: PolicyOptions
    mcp: McpSettings
    values: tuple[SettingValue, ...]
    """All of them with their origins, in order of section and key."""


SECTIONS: Mapping[str, type] = {
    "egress": EgressSettings,
    "fetch": FetchSettings,
    "crawl": CrawlPolicy,
    "archive": ArchiveSettings,
    "jail": JailSettings,
    "extract": ExtractLimits,
    "screen": ScanLimits,
    "policy": PolicyOptions,
    "mcp": McpSettings,
}
_NOT_SETTINGS = frozenset({("crawl", "seed_headers"), ("crawl", "include"), ("crawl", "exclude")})
"""Fields of a section that belong to one run, not to a settings file."""


def load_settings(
    environment: Mapping[str, str],
    *,
    config: Path | None = None,
    workspace: Path | None = None,
    overrides: Mapping[tuple[str, str], object] | None = None,
) -> Settings:
    """The settings of this user, machine and call: defaults, file, environment, command line; the later wins.

    Raises: InvalidConfig with every fault of every origin.
    """
    path = config or find_config_file(environment)
    is_required = config is not None or CONFIG_VARIABLE in environment
    layers = (
        read_file(path, is_required=is_required),
        read_environment(environment),
        Layer(origin="command line", values=overrides or {}),
    )
    faults = [fault for layer in layers for fault in layer.faults]
    chosen: dict[tuple[str, str], tuple[object, str]] = {}
    for layer in layers:
        for (section, key), value in layer.values.items():
            if _is_known(section, key):
                chosen[section, key] = (value, layer.origin)
            else:
                faults.append(_describe_unknown(section, key, layer.origin))
    sections: dict[str, Any] = {}
    for name, kind in SECTIONS.items():
        given = {key: value for (section, key), (value, _) in chosen.items() if section == name}
        try:
            sections[name] = TypeAdapter(kind).validate_python(given)
        except ValidationError as error:
            faults += _describe_faults(name, error, chosen)
        except InvalidConfig as error:
            faults += (f"{name}: {fault}" for fault in error.faults)
    if faults:
        raise InvalidConfig(tuple(faults))
    return Settings(
        workspace=_choose_workspace(workspace, environment),
        config_file=path,
        values=tuple(_list_values(sections, chosen)),
        **sections,
    )


def _choose_workspace(named: Path | None, environment: Mapping[str, str]) -> Path:
    if named is None and environment.get(WORKSPACE_VARIABLE):
        named = Path(environment[WORKSPACE_VARIABLE])
    return (named or user_data_path("mudroom", appauthor=False)).absolute()


def _is_known(section: str, key: str) -> bool:
    return section in SECTIONS and key in {field.name for field in setting_fields(section)}


def setting_fields(section: str) -> tuple[Field[Any], ...]:
    """The fields of a section that are settings, in order."""
    return tuple(field for field in fields(SECTIONS[section]) if (section, field.name) not in _NOT_SETTINGS)


def _describe_unknown(section: str, key: str, origin: str) -> str:
    if section not in SECTIONS:
        return f"[{section}]: no such section; expected one of {', '.join(SECTIONS)} ({origin})"
    keys = ", ".join(field.name for field in setting_fields(section))
    return f"{section}.{key}: no such key; expected one of {keys} ({origin})"


def _describe_faults(
    section: str, error: ValidationError, chosen: Mapping[tuple[str, str], tuple[object, str]]
) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_context=False):
        key = str(fault["loc"][0]) if fault["loc"] else ""
        value, origin = chosen.get((section, key), (fault["input"], "default"))
        expected = fault["msg"].removeprefix("Value error, ")
        name = f"{section}.{key}" if key else f"[{section}]"
        yield f"{name} is {value!r:.200}; {expected} ({origin})"


def _list_values(
    sections: Mapping[str, object], chosen: Mapping[tuple[str, str], tuple[object, str]]
) -> Iterator[SettingValue]:
    for name, section in sections.items():
        for field in setting_fields(name):
            _, origin = chosen.get((name, field.name), (MISSING, "default"))
            yield SettingValue(
                section=name, key=field.name, value=getattr(section, field.name), origin=origin
            )
