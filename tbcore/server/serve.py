"""serve: loads a log directory and serves it until a signal ends the process."""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from tbcore import __version__
from tbcore.config import DEFAULT_PORT, Config
from tbcore.errors import did_you_mean
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.server.listen import Listening, listen
from tbcore.server.report import LogHandler, Reporter, no_plugins, plugin_names, set_up_logging
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer

if TYPE_CHECKING:
    from tbcore.plugins import Plugins
    from tbcore.server.app import App

logger = logging.getLogger(__name__)

_LOADER_START_SECONDS = 0.2
"""The longest time that importing the rest of the server waits for the loader to start."""
_FIRST_PUBLICATION_SECONDS = 0.2
"""The longest time that the first request waits for the loader's first publication."""
_GC_THRESHOLD_OBJECTS = 20_000
"""New objects between two collections. The server makes few reference cycles, and with Python's
default of 700 the loader's permanent objects would be scanned often, in vain."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of `tbcore serve` that are not part of the application's `Config`."""

    specs: Sequence[LogdirSpec]
    host: str | None = None
    """The address to listen on; None for loopback."""
    port: int | None = None
    """The port to listen on; None for the first free one of `listen.DEFAULT_PORTS`."""
    bind_all: bool = False
    no_token: bool = False
    token: str | None = None
    """The token that requests must contain; None for a random one if a token is required."""
    reload_interval: float = 5.0
    """Seconds between two scans of the logdir; 0 loads once."""
    purge_orphaned_data: bool = True
    max_points: int = 0
    open_browser: bool = False


def serve(config: Config, options: ServeOptions) -> int:
    """Serves until SIGINT or SIGTERM, and returns the exit status.

    Raises TbcoreError with one line if it cannot listen.
    """
    log = set_up_logging(dev=config.dev)
    # Done first, so that an error about the port is printed at once, and early clients wait instead
    # of failing.
    listening = listen(options.host, options.port, bind_all=options.bind_all)
    config = replace(
        config,
        host=listening.host,
        port=listening.port,
        token=_token(options, listening),
        # Absolute, like the log directories: a plugin may change the working directory.
        plugins_dirs=tuple(os.path.abspath(folder) for folder in config.plugins_dirs),
    )
    multiplexer = Multiplexer()
    loader = Loader(
        multiplexer,
        [spec._replace(path=os.path.abspath(spec.path)) for spec in options.specs],
        reload_interval=options.reload_interval,
        purge_orphaned_data=options.purge_orphaned_data,
        max_points=options.max_points,
        tuning=config.tuning,
    )
    loader.start_helper()
    loader.start(publish_early=False)
    loader.wait_until_started(_LOADER_START_SECONDS)
    try:
        return _run_server(config, options, listening, log, multiplexer, loader)
    finally:
        listening.close()
        loader.stop()


def _run_server(
    config: Config,
    options: ServeOptions,
    listening: Listening,
    log: LogHandler,
    multiplexer: Multiplexer,
    loader: Loader,
) -> int:
    """Serves requests until a signal ends the server; returns the exit status."""
    # These imports take as long as reading a small logdir, so the loader reads while they run. What
    # this module and the loader import at their top is only what the loader needs.
    from tbcore.plugins import attempt
    from tbcore.server.http_server import HttpServer
    from tbcore.server.reload import Reloader

    # Before plugins are imported, so that no later change of their files is missed.
    reloader = Reloader(config, multiplexer) if config.dev else None
    built = attempt(_build, config, multiplexer)
    if built.error is not None:
        raise built.error
    plugins, app = built.value
    _warn_of_unknown_names(config, plugins)
    names = plugin_names(app.mounted)
    log.stats_by_package = {m.plugin.package: m.plugin.stats for m in reversed(app.mounted)}
    log.reporter = reporter = Reporter(multiplexer, config.logdir, names)
    print_banner = partial(
        _print_banner, reporter, config, listening, options, has_plugins=bool(app.mounted)
    )
    server = HttpServer(app, print_banner)
    if reloader is not None:
        reloader.start(app, plugins)
    # Excludes modules, plugins and routes from all later collections.
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD_OBJECTS)
    gc.enable()
    loader.publish(_FIRST_PUBLICATION_SECONDS)
    loader.watch()
    server.run(sockets=listening.sockets)
    if reloader is not None:
        reloader.stop()
    reporter.stop()
    return 0 if server.exit_signal is None else 128 + server.exit_signal


def _build(config: Config, multiplexer: Multiplexer) -> tuple[Plugins, App]:
    """The plugins and the application. Runs all code of plugins that runs before any request."""
    from tbcore.plugins import load_plugins
    from tbcore.server.app import create_app

    plugins = load_plugins(
        without=config.without_plugins,
        folders=config.plugins_dirs,
        dev=config.dev,
        tuning=config.tuning,
    )
    return plugins, create_app(config, multiplexer=multiplexer, plugins=plugins)


def _warn_of_unknown_names(config: Config, plugins: Plugins) -> None:
    """Logs folders without plugins, and names of plugins that do not exist."""
    from tbcore.sources import ENTRY_POINT_GROUP, in_folder

    for folder in config.plugins_dirs:
        if not in_folder(Path(folder)):
            logger.warning(
                "--plugins_dir %s: found no plugin; expected a file NAME.py, a package, or a "
                "pyproject.toml with an entry point in the group %r",
                folder, ENTRY_POINT_GROUP,
            )  # fmt: skip
    names = [plugin.name for plugin in plugins]
    in_use = [plugin.name for plugin in plugins if plugin.off is None]
    for option, given in (
        ("--samples_per_plugin", config.samples_per_plugin),
        ("--no_plugin", config.without_plugins),
    ):
        for name in given:
            if name not in names:
                logger.warning(
                    "%s: there is no plugin %r%s; there are: %s",
                    option, name, did_you_mean(name, names), ", ".join(in_use) or "none",
                )  # fmt: skip


def _token(options: ServeOptions, listening: Listening) -> str | None:
    """The token that requests must contain: the given one, or a random one if not on loopback."""
    if options.no_token:
        return None
    if options.token or listening.is_loopback:
        return options.token
    import secrets

    return secrets.token_urlsafe(24)


def _print_banner(
    reporter: Reporter,
    config: Config,
    listening: Listening,
    options: ServeOptions,
    *,
    has_plugins: bool,
) -> None:
    """Prints the server's address, and starts the reporter. Called when the server has started."""
    path = f"{config.path_prefix}/"
    url = listening.url(f"{path}?token={quote_plus(config.token)}" if config.token else path)
    reporter.print_line(f"tbcore {__version__} at {url} (Ctrl-C to quit)")
    if options.port is None and listening.port != DEFAULT_PORT:
        reporter.print_line(f"port {DEFAULT_PORT} is in use; using port {listening.port}")
    if not listening.is_loopback and config.token is None:
        logger.warning("anyone who can reach this machine can read these logs (--no_token)")
    if not has_plugins:
        reporter.print_line(no_plugins())
    reporter.start()
    if options.open_browser:
        threading.Thread(target=_open_browser, args=[url], daemon=True).start()


def _open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
