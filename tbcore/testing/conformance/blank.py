"""A plugin that does nothing: its tab is opened when the one that is checked is left."""

from __future__ import annotations

from tbcore.hookspecs import PluginInfo, hookimpl

NAME = "conformance-blank"


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(title="Blank", module="static/blank.js", order=1_000_000)
