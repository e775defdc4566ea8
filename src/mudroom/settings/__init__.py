"""File and environment are read here, once."""

from mudroom.settings.layers import CONFIG_VARIABLE, WORKSPACE_VARIABLE, Layer, find_config_file
from mudroom.settings.load import (
    SECTIONS,
    Settings,
    SettingValue,
    find_setting_reader,
    load_settings,
    setting_fields,
)
from mudroom.settings.paths import expand_home, make_absolute
from mudroom.settings.sections import (
    ArchiveSettings,
    EgressSettings,
    FetchSettings,
    JailSettings,
    McpSettings,
)

__all__ = [
    "CONFIG_VARIABLE",
    "SECTIONS",
    "WORKSPACE_VARIABLE",
    "ArchiveSettings",
    "EgressSettings",
    "FetchSettings",
    "JailSettings",
    "Layer",
    "McpSettings",
    "SettingValue",
    "Settings",
    "expand_home",
    "find_config_file",
    "find_setting_reader",
    "load_settings",
    "make_absolute",
    "setting_fields",
]
