"""PluginStates: the state, statistics and options of each plugin of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.requests import Request

import tbcore
from tbcore.config import Config
from tbcore.hookspecs import PLUGIN_API
from tbcore.plugins import LoadedPlugin, MountedPlugin, listed_options
from tbcore.server.activity import Activity


class PluginStates:
    """The response of `data/plugins`."""

    def __init__(
        self,
        config: Config,
        mounted: Sequence[MountedPlugin],
        disabled_plugins: Sequence[LoadedPlugin],
        activities: Mapping[str, Activity],
        is_active: Callable[[MountedPlugin], Awaitable[bool]],
    ) -> None:
        """The keys of `activities` are the names of the plugins in `mounted`."""
        self._dev = config.dev
        plugins = [*mounted, *(MountedPlugin(plugin) for plugin in disabled_plugins)]
        self._mounted = sorted(plugins, key=lambda m: m.plugin.name)
        self._activities = activities
        self._is_active = is_active

    async def as_json(self, request: Request) -> dict[str, Any]:
        """All installed plugins, sorted by name. Whole paths and tracebacks only with `--dev`."""
        active = await asyncio.gather(*(self._is_active(m) for m in self._mounted))
        return {
            "version": tbcore.__version__,
            "api": PLUGIN_API,
            "dev": self._dev,
            "plugins": [
                self._plugin(mounted, is_active)
                for mounted, is_active in zip(self._mounted, active, strict=True)
            ],
        }

    def _plugin(self, mounted: MountedPlugin, is_active: bool) -> dict[str, Any]:
        plugin = mounted.plugin
        distribution, version = plugin.source_label(whole_path=plugin.dev)
        state, reason = self._state(mounted, is_active)
        return {
            "name": plugin.name,
            "title": plugin.title,
            "description": plugin.info.description if plugin.info else "",
            "distribution": distribution,
            "version": version,
            "api": plugin.info.api if plugin.info else None,
            "state": state,
            "reason": None if reason is None else plugin.redact_paths(reason),
            "options": listed_options(mounted),
            **plugin.stats.as_json(),
        }

    def _state(self, mounted: MountedPlugin, is_active: bool) -> tuple[str, str | None]:
        """The state of a plugin and its reason, which may be None for an active plugin."""
        plugin = mounted.plugin
        if plugin.disabled_by:
            return "off", plugin.disabled_by
        if mounted.error:
            return "failed", mounted.error
        activity = self._activities[plugin.name]
        if activity.is_timed_out:
            return "active" if is_active else "inactive", "is_active has not returned in time"
        if is_active:
            return "active", None
        if activity.error:
            return "inactive", f"is_active failed: {activity.error}"
        if plugin.implements("is_active"):
            return "inactive", "its is_active returned False: there is nothing to show"
        return "inactive", "no logged data matches its claims"
