"""Config: how one server was started; PluginOptions: what of it a plugin gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tbcore.options import OptionValue

DEFAULT_PORT = 6006
"""TensorBoard's port: people have it in their bookmarks and their tunnels."""


@dataclass(frozen=True)
class PluginOptions:
    """What the user set for one plugin."""

    samples: int = 0
    """Most items of one (run, tag) in an answer; 0 for all."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Every option that the plugin declares, by name: what the user set, or its default. Each has
    the type of its default."""


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
    plugin_values: Mapping[str, Mapping[str, str | OptionValue]] = field(default_factory=dict)
    """Plugin name to its own options, as texts or as values of their types."""
    without_plugins: tuple[str, ...] = ()
    """Names of installed plugins that are not even imported."""
    plugins_dirs: tuple[str, ...] = ()
    """Folders with plugins that are loaded from where they lie, before those that are installed."""
    dev: bool = False
    """For authors of plugins: nothing is cached, and the page is told the tracebacks of faults."""
