"""serve: listens, loads and answers until a signal ends it."""

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

TOKEN_VARIABLE = "TBCORE_TOKEN"

_HEAD_START_SECONDS = 0.2
"""What the loader gets at most before the rest of the server is imported."""
_SHOWN_SECONDS = 0.2
"""What it gets at most until runs are listed, before the first request is answered."""
_COLLECTED_AT = 20_000
"""New objects between two looks for garbage. There is little of it that goes in circles, and what
the loader makes stays, and would be looked at again each 700 objects."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """What `tbcore serve` needs beyond what the application is told."""

    specs: Sequence[LogdirSpec]
    host: str | None = None
    """None for loopback."""
    port: int | None = None
    """None for the first free one from the default on."""
    bind_all: bool = False
    no_token: bool = False
    token: str | None = None
    """None for a random one, where one is needed."""
    reload_interval: float = 5.0
    """Seconds between two looks at the logdir; 0 loads once."""
    purge_orphaned_data: bool = True
    max_points: int = 0
    open_browser: bool = False


def serve(config: Config, options: ServeOptions) -> int:
    """Serves until SIGINT or SIGTERM, and returns the exit status.

    Raises TbcoreError with one line when it cannot listen.
    """
    log = set_up_logging(dev=config.dev)
    # First of all: a port that is taken is told at once, and early clients wait instead of failing.
    listening = listen(options.host, options.port, bind_all=options.bind_all)
    config = replace(
        config,
        host=listening.host,
        port=listening.port,
        token=_token(options, listening),
        # As the log directories: a plugin may change the working directory.
        plugins_dirs=tuple(os.path.abspath(folder) for folder in config.plugins_dirs),
    )
    multiplexer = Multiplexer()
    loader = Loader(
        multiplexer,
        [spec._replace(path=os.path.abspath(spec.path)) for spec in options.specs],
        reload_interval=options.reload_interval,
        purge_orphaned_data=options.purge_orphaned_data,
        max_points=options.max_points,
    )
    loader.start_helper()
    loader.start(publish_early=False)
    loader.wait_until_started(_HEAD_START_SECONDS)
    try:
        return _answer(config, options, listening, log, multiplexer, loader)
    finally:
        listening.close()
        loader.stop()


def _answer(
    config: Config,
    options: ServeOptions,
    listening: Listening,
    log: LogHandler,
    multiplexer: Multiplexer,
    loader: Loader,
) -> int:
    """Answers requests until a signal says to end; returns the exit status."""
    # What answers takes as long to import as many a logdir to read, which goes on meanwhile: above
    # and in the loader is only what is needed before that.
    from tbcore.plugins import attempt
    from tbcore.server.http_server import HttpServer
    from tbcore.server.reload import Reloader

    # Before the code is read: what changes from here on is newer than what runs.
    reloader = Reloader(config, multiplexer) if config.dev else None
    built = attempt(_build, config, multiplexer)
    if built.error is not None:
        raise built.error
    plugins, app = built.value
    _warn_of_unknown_names(config, plugins)
    names = plugin_names(app.mounted)
    log.healths = {m.plugin.package: m.plugin.health for m in reversed(app.mounted)}
    log.reporter = reporter = Reporter(multiplexer, config.logdir, names)
    say_hello = partial(
        _say_hello, reporter, config, listening, options, has_plugins=bool(app.mounted)
    )
    server = HttpServer(app, say_hello)
    if reloader is not None:
        reloader.start(app, plugins)
    # Modules, plugins and routes are not looked at again each time that rows make many objects.
    gc.freeze()
    gc.set_threshold(_COLLECTED_AT)
    gc.enable()
    loader.publish(_SHOWN_SECONDS)
    loader.watch()
    server.run(sockets=listening.sockets)
    if reloader is not None:
        reloader.stop()
    reporter.stop()
    return 0 if server.exit_signal is None else 128 + server.exit_signal


def _build(config: Config, multiplexer: Multiplexer) -> tuple[Plugins, App]:
    """Everything that runs code of plugins before the first request."""
    from tbcore.plugins import load_plugins
    from tbcore.server.app import create_app

    plugins = load_plugins(
        without=config.without_plugins, folders=config.plugins_dirs, dev=config.dev
    )
    return plugins, create_app(config, multiplexer=multiplexer, plugins=plugins)


def _warn_of_unknown_names(config: Config, plugins: Plugins) -> None:
    from tbcore.sources import ENTRY_POINT_GROUP, in_folder

    for folder in config.plugins_dirs:
        if not in_folder(Path(folder)):
            logger.warning(
                "--plugins_dir %s: there is no plugin in it, which is a file NAME.py, a package, "
                "or a pyproject.toml with an entry point of the group %r",
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
    """The token that requests need: a given one always, a random one where others can connect."""
    if options.no_token:
        return None
    if options.token or listening.is_loopback:
        return options.token
    import secrets

    return secrets.token_urlsafe(24)


def _say_hello(
    reporter: Reporter,
    config: Config,
    listening: Listening,
    options: ServeOptions,
    *,
    has_plugins: bool,
) -> None:
    path = f"{config.path_prefix}/"
    url = listening.url(f"{path}?token={quote_plus(config.token)}" if config.token else path)
    reporter.say(f"tbcore {__version__} at {url} (Ctrl-C to quit)")
    if options.port is None and listening.port != DEFAULT_PORT:
        reporter.say(f"port {DEFAULT_PORT} is taken, so this is port {listening.port}")
    if not listening.is_loopback and config.token is None:
        logger.warning("whoever can reach this machine can read these logs (--no_token)")
    if not has_plugins:
        reporter.say(no_plugins())
    reporter.start()
    if options.open_browser:
        threading.Thread(target=_open_browser, args=[url], daemon=True).start()


def _open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
