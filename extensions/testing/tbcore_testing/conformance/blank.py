"""A plugin that does nothing. The suite opens its tab to close the tab under test."""

from __future__ import annotations

from tbcore import PluginInfo, hookimpl

NAME = "conformance-blank"


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(title="Blank", module="static/blank.js", order=1_000_000)
