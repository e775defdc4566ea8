"""All settings, checked together: every fault is reported at once, with key, value and what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from platformdirs import user_data_path

from mudroom.crawl import CrawlPolicy
from mudroom.errors import FetchFailed, InvalidConfig
from mudroom.extract import ExtractLimits
from mudroom.net import check_request_headers
from mudroom.screen import PolicyOptions, ScanLimits
from mudroom.settings.anchors import check_anchors
from mudroom.settings.layers import (
    CONFIG_VARIABLE,
    WORKSPACE_VARIABLE,
    Layer,
    find_config_file,
    read_environment,
    read_file,
)
from mudroom.settings.paths import find_user_folder, make_absolute
from mudroom.settings.ranges import RANGES
from mudroom.settings.sections import (
    ArchiveSettings,
    EgressSettings,
    FetchSettings,
    JailSettings,
    McpSettings,
)
from mudroom.settings.values import Reader, find_reader, shorten

__all__ = ["SECTIONS", "SettingValue", "Settings", "find_setting_reader", "load_settings", "setting_fields"]


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
_NOT_SETTINGS = frozenset(
    {("crawl", "seed_headers"), ("crawl", "include"), ("crawl", "exclude"), ("crawl", "should_follow")}
)
"""Fields of a section that belong to one run, not to a settings file."""

_WIDEST = {4: 8, 6: 7}
"""The widest network that may be opened: what 10.0.0.0/8 and fc00::/7 need. A wider one would be a way to
turn the guard off."""

Chosen = Mapping[tuple[str, str], tuple[object, Layer]]


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
    is_required = config is not None or bool(environment.get(CONFIG_VARIABLE))
    layers = (
        read_file(path, is_required=is_required),
        read_environment(environment),
        Layer(origin="command line", values=overrides or {}),
    )
    faults = [fault for layer in layers for fault in layer.faults]
    chosen: dict[tuple[str, str], tuple[object, Layer]] = {}
    for layer in layers:
        for (section, key), value in layer.values.items():
            if _is_known(section, key):
                chosen[section, key] = (value, layer)
            else:
                faults.append(_describe_unknown(section, key, layer.origin))
    sections: dict[str, Any] = {name: _build_section(name, chosen, faults) for name in SECTIONS}
    faults += _check_together(sections, chosen)
    if faults:
        raise InvalidConfig(tuple(faults))
    return Settings(
        workspace=_choose_workspace(workspace, environment),
        config_file=make_absolute(path, "--config"),
        values=tuple(_list_values(sections, chosen)),
        **sections,
    )


def setting_fields(section: str) -> tuple[Field[Any], ...]:
    """The fields of a section that are settings, in order."""
    return tuple(field for field in fields(SECTIONS[section]) if (section, field.name) not in _NOT_SETTINGS)


@cache
def find_setting_reader(section: str, key: str) -> Reader:
    """How the value of a setting is read, and what is expected of it."""
    last = key.rpartition("_")[2]
    unit = last if last in {"bytes", "seconds"} else "characters" if last == "chars" else ""
    return find_reader(get_type_hints(SECTIONS[section])[key], RANGES.get((section, key)), unit)


def _build_section(name: str, chosen: Chosen, faults: list[str]) -> Any:
    """The section; what is wrong with a value is added to the faults, and its default stands in for it."""
    given = {}
    for (section, key), (value, layer) in chosen.items():
        if section != name:
            continue
        reader = find_setting_reader(section, key)
        try:
            given[key] = reader.read(reader.parse(str(value)) if layer.is_text else value)
        except ValueError as error:
            what = f": {error}" if str(error) else f" is {shorten(value)}; expected {reader.expected}"
            faults.append(f"{section}.{key}{what} ({layer.origin})")
    return SECTIONS[name](**given)


def _check_together(sections: Mapping[str, Any], chosen: Chosen) -> Iterator[str]:
    """What is wrong although each value by itself is right."""

    def origin_of(section: str, key: str) -> str:
        return chosen[section, key][1].origin if (section, key) in chosen else "default"

    for fault in sections["crawl"].list_faults():
        yield f"crawl.{fault} ({origin_of('crawl', fault.split(' ', 1)[0].rstrip(':'))})"
    for network in sections["egress"].allow_networks:
        widest = _WIDEST[network.version]
        if network.prefixlen < widest:
            fault = f"{str(network)!r} is wider than an exception may be; expected /{widest} or narrower"
            yield f"egress.allow_networks: {fault} ({origin_of('egress', 'allow_networks')})"
    user_agent = sections["fetch"].user_agent
    if user_agent is not None:
        try:
            check_request_headers((("User-Agent", user_agent),))
        except FetchFailed as error:
            yield f"fetch.user_agent is {shorten(user_agent)}: {error.message} ({origin_of('fetch', 'user_agent')})"
    for key, fault in check_anchors(sections["egress"]):
        yield f"egress.{key} {fault} ({origin_of('egress', key)})"


def _choose_workspace(named: Path | None, environment: Mapping[str, str]) -> Path:
    if named is not None:
        return make_absolute(named, "--workspace")
    if environment.get(WORKSPACE_VARIABLE):
        return make_absolute(Path(environment[WORKSPACE_VARIABLE]), WORKSPACE_VARIABLE)
    return find_user_folder(
        lambda: user_data_path("mudroom", appauthor=False), ".local/share/mudroom", WORKSPACE_VARIABLE
    )


def _is_known(section: str, key: str) -> bool:
    return section in SECTIONS and key in {field.name for field in setting_fields(section)}


_NOT_BUILT = {
    ("egress", "proxy"): "requests go out directly, since a proxy would choose the address in our place",
    ("fetch", "http3"): "HTTP/3 is not spoken; HTTP/2 and HTTP/1.1 are",
}
"""Keys that people look for, and why there are none."""


def _describe_unknown(section: str, key: str, origin: str) -> str:
    if (section, key) in _NOT_BUILT:
        return f"{section}.{key}: no such key: {_NOT_BUILT[section, key]} ({origin})"
    if section not in SECTIONS:
        return f"[{section}]: no such section; expected one of {', '.join(SECTIONS)} ({origin})"
    keys = ", ".join(field.name for field in setting_fields(section))
    return f"{section}.{key}: no such key; expected one of {keys} ({origin})"


def _list_values(sections: Mapping[str, object], chosen: Chosen) -> Iterator[SettingValue]:
    for name, section in sections.items():
        for field in setting_fields(name):
            given = chosen.get((name, field.name))
            yield SettingValue(
                section=name,
                key=field.name,
                value=getattr(section, field.name),
                origin=given[1].origin if given else "default",
            )
