"""Config: the settings of one server. PluginOptions: the part of them that is for one plugin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tbcore.options import OptionValue
from tbcore.tuning import Tuning, default_tuning

DEFAULT_PORT = 6006
"""TensorBoard's port, which people have in their bookmarks and tunnels."""


@dataclass(frozen=True)
class PluginOptions:
    """The user's settings for one plugin."""

    samples: int = 0
    """At most this many items of one (run, tag) in a response; 0 for all."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The value of every option that the plugin declares, by name: as the user set it, or the
    default. Each value has the type of its default."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one server. The defaults are those of the command line."""

    logdir: str
    """The argument as the user typed it, with a leading `~` expanded; `--logdir_spec` unchanged."""
    host: str = "localhost"
    port: int = DEFAULT_PORT
    """The port that the server listens on. It is part of the cookie's name."""
    path_prefix: str = ""
    """Empty, or `/some/path` without a trailing slash."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that requests may use besides those of this machine; `name:port` allows that port
    only."""
    token: str | None = None
    """The secret that every request must contain; None if the Host header is checked instead."""
    api: Literal["plugin", "legacy"] = "plugin"
    """Whether `data/runs` is the list of runs, or the index of the API before plugins."""
    window_title: str = ""
    samples_per_plugin: Mapping[str, int] = field(default_factory=dict)
    """Plugin name to `PluginOptions.samples`, where the user set it."""
    plugin_values: Mapping[str, Mapping[str, str | OptionValue]] = field(default_factory=dict)
    """Plugin name to the options that the user set, as texts or as values of the options' types."""
    without_plugins: tuple[str, ...] = ()
    """Names of installed plugins that are not imported."""
    plugins_dirs: tuple[str, ...] = ()
    """Folders of plugins that are not installed. They come before installed plugins of the same
    name."""
    dev: bool = False
    """For authors of plugins: nothing is cached, and the page shows the tracebacks of faults."""
    tuning: Tuning = field(default_factory=default_tuning)
