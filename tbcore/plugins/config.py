"""Config: the settings of one server. PluginOptions: the settings that one plugin gets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tbcore.plugins.options import OptionValue
from tbcore.tuning import Tuning, default_tuning

DEFAULT_PORT = 6006
"""TensorBoard's default port, which people have in their bookmarks and tunnels."""


def user_directory(variable: str, default: str) -> str:
    """The user's directory for one purpose, as in the XDG base directory specification.

    The value of a variable such as `XDG_STATE_HOME`, if that is an absolute path, or else the
    default, with `~` expanded.
    """
    path = os.environ.get(variable, "")
    return path if os.path.isabs(path) else os.path.expanduser(default)


@dataclass(frozen=True)
class PluginOptions:
    """The user's settings for one plugin."""

    samples: int = 0
    """Maximum number of items of one (run, tag) in a response; 0 for all."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Maps the name of each option that the plugin declares to the user's value, or else to the
    default. Each value has the type of the default."""
    logdir: str | None = None
    """The absolute path of the log directory, which need not exist. None if it is remote, if there
    are several, and for an index without one."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one server. The defaults are those of the command line."""

    logdir: str
    """The argument of `--logdir` or `--logdir_spec` as typed, with a leading `~` expanded."""
    local_logdir: str | None = None
    """See `PluginOptions.logdir`."""
    host: str = "localhost"
    port: int = DEFAULT_PORT
    """The port that the server listens on."""
    path_prefix: str = ""
    """Prefix of the paths of all addresses: empty, or `/some/path` without a trailing slash."""
    allowed_hosts: tuple[str, ...] = ()
    """Valid host names in requests, in addition to those of this machine. `name:port` is valid with
    this port only, and `*` stands for all names."""
    token: str | None = None
    """The secret that every request must contain. If it is None, the Host header is checked
    instead."""
    has_secret_prefix: bool = False
    """Whether `path_prefix` is a secret that only those who may read the logs know."""
    read_token: str | None = None
    """Another such secret, whose requests may read everything and change no notes."""
    reach: Literal["user", "machine", "network"] = "machine"
    """Who can connect: this user alone, by a unix socket, this machine, or others."""
    notes: Literal["off", "read", "write"] = "write"
    """Whether there are notes, and whether they may be changed over HTTP. Who may do so is decided
    by the extension that keeps notes."""
    write_token: str = ""
    """The secret of this start that the printed address gives the page for changing notes; "" for
    none."""
    program: str = "tbcore"
    """The name under which the server was started. Under the name `tensorboard`, lines about the
    start are those that programs expect from TensorBoard, on stderr."""
    embed_in: tuple[str, ...] = ()
    """Origins whose pages may show this server's page in a frame, as in a Content-Security-Policy.
    Those of other sites may do so only with a secret prefix."""
    api: Literal["plugin", "legacy"] = "plugin"
    """Whether `data/runs` responds with the list of runs ("plugin"), or with the index of the older
    API ("legacy"): see `LegacyApi`."""
    window_title: str = ""
    samples_per_plugin: Mapping[str, int] = field(default_factory=dict)
    """Maps a plugin's name to `PluginOptions.samples`, if the user set `samples` for the plugin."""
    plugin_values: Mapping[str, Mapping[str, str | OptionValue]] = field(default_factory=dict)
    """Maps a plugin's name to the options that the user set, by name. A value is a string as typed,
    or has the type of the option."""
    without_plugins: tuple[str, ...] = ()
    """Names of installed plugins that are not imported."""
    plugins_dirs: tuple[str, ...] = ()
    """Folders of plugins that are not installed. These plugins take precedence over installed ones
    of the same name."""
    dev: bool = False
    """For authors of plugins: plugins are reloaded when they are edited, browsers cache no files,
    and the page shows the tracebacks of faults."""
    tuning: Tuning = field(default_factory=default_tuning)
