"""Config: how one server was started; PluginOptions: what of it a plugin gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DEFAULT_PORT = 6006
"""TensorBoard's port: people have it in their bookmarks and their tunnels."""


@dataclass(frozen=True)
class PluginOptions:
    """What the user set for one plugin."""

    samples: int = 0
    """Most items of one (run, tag) in an answer; 0 for all."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Other settings of this plugin, name to text."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one server. The defaults are those of the command line."""

    logdir: str
    """The argument as the user gave it, a leading `~` expanded; `--logdir_spec` as it stands."""
    host: str = "localhost"
    port: int = DEFAULT_PORT
    """The port that is listened on: it names the cookie."""
    path_prefix: str = ""
    """Empty, or `/some/path` without a slash at its end."""
    allowed_hosts: tuple[str, ...] = ()
    """Names the server answers to besides those of this machine; with a port, to that port only."""
    token: str | None = None
    """The secret that every request needs; None where the Host header is checked instead."""
    api: Literal["plugin", "legacy"] = "plugin"
    """Whether `data/runs` is the list of names, or the index of the API before plugins."""
    window_title: str = ""
    samples_per_plugin: Mapping[str, int] = field(default_factory=dict)
    """Plugin name to the most items of one (run, tag) in an answer; 0 for all."""
    plugin_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Plugin name to its other settings."""
    dev: bool = False
    """Faults of plugins are raised where they happen instead of being recorded."""

    def plugin_options(self, name: str, default_samples: int) -> PluginOptions:
        """What the plugin of this name is told; `default_samples` is its own bound."""
        return PluginOptions(
            samples=self.samples_per_plugin.get(name, default_samples),
            values=self.plugin_values.get(name, {}),
        )
