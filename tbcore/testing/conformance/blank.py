"""A plugin that does nothing. Its tab is opened to close that of the plugin under test."""

from __future__ import annotations

from tbcore.hookspecs import PluginInfo, hookimpl

NAME = "conformance-blank"


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(title="Blank", module="static/blank.js", order=1_000_000)
