"""serve: loads a log directory and serves it until a signal ends the process."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal

from tbcore.errors import OptionError, TbcoreError, did_you_mean
from tbcore.eventfiles.addresses import absolute
from tbcore.eventfiles.logdir import LogdirSpec, local_directory
from tbcore.extensions import DEV, INDEX, guarded, loaded
from tbcore.plugins.config import Config
from tbcore.server.banner import (
    is_on_terminal,
    open_page,
    output,
    print_banner,
    write_token_file,
)
from tbcore.server.launchers import call, launches
from tbcore.server.listen import Listening, listen, listen_at
from tbcore.server.login import secret_prefix
from tbcore.server.report import (
    LogHandler,
    Reporter,
    plugins_summary,
    set_up_logging,
)
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.notes import open_notes

if TYPE_CHECKING:
    from tbcore.plugins.types import Plugins
    from tbcore.server.app import DevTools
    from tbcore.server.http_server import HttpServer
    from tbcore.store.stored_runs import IndexExtension

logger = logging.getLogger(__name__)

_LOADER_START_TIMEOUT_SECONDS = 0.2
"""How long `serve` waits for the loader to begin reading before `serve` imports other modules."""
_FIRST_PUBLICATION_TIMEOUT_SECONDS = 0.2
"""How long `serve` waits, before the first request, for the loader to publish what it has read."""
_GC_THRESHOLD_OBJECTS = 20_000
"""Number of new objects after which the garbage collector runs. The server creates few reference
cycles. Python's much lower default would scan the loader's long-lived objects often, in vain."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of `tbcore serve` that are not in the application's `Config`."""

    specs: Sequence[LogdirSpec]
    host: str | None = None
    """The address to listen on; None for loopback."""
    port: int | None = None
    """The port to listen on; None for the first free one of `listen.DEFAULT_PORTS`."""
    bind_all: bool = False
    """Whether to listen on all addresses of the machine, in place of `host`."""
    no_token: bool = False
    """Whether requests need no token, even if other machines can connect."""
    token: str | None = None
    """The token that requests must contain. None: no token on loopback, otherwise a random one."""
    reload_interval: float | None = None
    """Seconds between two scans of the logdir; 0 loads once. For None see `Loader`."""
    purge_orphaned_data: bool = True
    """Whether to drop the orphaned rows of a training job that was restarted."""
    max_points: int = 0
    """Maximum number of points of each scalar series in memory; 0 keeps all."""
    uds: str | None = None
    """The path of a unix socket to listen on, in place of a port."""
    secret_prefix: str | None = None
    """The path of a file with a secret path, which is made if missing; None for no secret path."""
    exit_with_parent: int | None = None
    """The process with whose end the server ends, too, if it is the parent of this one."""
    exit_when_idle: float | None = None
    """Seconds without a request for data after which the server ends; None for never."""
    log_format: Literal["plain", "json"] = "plain"
    open_browser: bool = False
    formats: str = ""
    """Names of formats of other programs: see `tbcore.eventfiles.formats.Formats`."""
    index: str | None = None
    """The path of an index with runs that were read before."""


def serve(config: Config, options: ServeOptions) -> int:
    """Serves until SIGINT, SIGTERM or SIGHUP, and returns the exit status.

    Raises TbcoreError, with a message of one line, if it cannot listen, or has no place for a token
    that it makes.
    """
    log = set_up_logging(dev=config.dev, as_json=options.log_format == "json")
    leftovers: list[Callable[[], object]] = []
    with _ends_cleanly(leftovers, config.program):
        # The sockets are opened first: an error about the port is printed at once, and clients that
        # connect before the server runs wait instead of failing.
        secret = secret_prefix(options.secret_prefix) if options.secret_prefix else ""
        if options.uds is not None:
            listening = listen_at(options.uds)
        else:
            listening = listen(options.host, options.port, bind_all=options.bind_all)
        leftovers.append(listening.close)
        config = replace(
            config,
            host=listening.host,
            port=listening.port,
            path_prefix=config.path_prefix + secret,
            has_secret_prefix=bool(secret),
            token=_token(options, listening),
            reach=listening.reach,
            local_logdir=local_directory(options.specs),
            # Absolute, like the log directories: a plugin may change the working directory.
            plugins_dirs=tuple(os.path.abspath(folder) for folder in config.plugins_dirs),
        )
        if config.read_token and config.token is None:
            raise OptionError("--read_token needs a token beside it; set TBCORE_TOKEN to one")
        if config.read_token and config.read_token == config.token:
            raise OptionError("--read_token is the token itself; set TBCORE_READ_TOKEN to another")
        board = Board()
        loader = _started_loader(config, options, board)
        try:
            return _run_server(config, options, listening, log, board, loader, leftovers)
        finally:
            loader.stop()


def _started_loader(config: Config, options: ServeOptions, board: Board) -> Loader:
    """The loader, which has begun to read. Raises TbcoreError if the index cannot be opened."""
    specs = [spec._replace(path=absolute(spec.path)) for spec in options.specs]
    index = None
    if options.index is not None:
        logdirs = [spec.path for spec in specs]
        extension: IndexExtension = loaded(INDEX, "index")
        with guarded(INDEX, "index"):
            index = extension.open(options.index, is_server=True, logdirs=logdirs)
    loader = Loader(
        board,
        specs,
        reload_interval=options.reload_interval,
        purge_orphaned_data=options.purge_orphaned_data,
        max_points=options.max_points,
        tuning=config.tuning,
        index=index,
        formats=options.formats,
    )
    loader.start_helper()
    loader.start(publish_early=False)
    loader.wait_until_started(_LOADER_START_TIMEOUT_SECONDS)
    return loader


@contextlib.contextmanager
def _ends_cleanly(leftovers: list[Callable[[], object]], program: str) -> Iterator[None]:
    """Calls `leftovers` at the end of the block, or when a signal ends the process during it.

    `HttpServer` handles signals while it runs. Before and after that, nothing needs to end in
    order, but files with secrets and unix sockets must not stay.
    """

    def end(sig: int, frame: FrameType | None) -> None:
        _remove(leftovers)
        os._exit(0 if program == "tensorboard" else 128 + sig)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            # `nohup` ignores SIGHUP, and shells ignore SIGINT for programs in the background.
            sig = getattr(signal, name, None)
            if sig is not None and signal.getsignal(sig) is not signal.SIG_IGN:
                before[sig] = signal.signal(sig, end)
    try:
        yield
    finally:
        _remove(leftovers)
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _remove(leftovers: list[Callable[[], object]]) -> None:
    while leftovers:
        with contextlib.suppress(OSError):
            leftovers.pop()()


def _run_server(
    config: Config,
    options: ServeOptions,
    listening: Listening,
    log: LogHandler,
    board: Board,
    loader: Loader,
    leftovers: list[Callable[[], object]],
) -> int:
    """Serves requests until a signal ends the server; returns the exit status."""
    # These imports take as long as reading a small logdir, so the loader reads while they run. For
    # the same reason, this module and the loader import at their top only what the loader needs.
    from tbcore.plugins.loading import plugins_of
    from tbcore.server.app import create_app
    from tbcore.server.http_server import HttpServer

    begun, frames = launches()
    is_local = listening.reach == "machine" and not config.has_secret_prefix
    if begun and not is_local:
        if not is_on_terminal(config):
            raise OptionError(
                "the program that starts this server shows only servers of this machine, at a port "
                "and without a secret path; leave out --host, --bind_all, --uds and --secret_prefix"
            )
        begun, frames = [], []
    config = replace(config, embed_in=(*config.embed_in, *frames))
    try:
        if config.notes == "off":
            raise OptionError("notes are off on this server (--notes off)")
        notes = board.notes = open_notes(options.specs)
        config = replace(config, write_token=notes.new_write_token(config))
    except (TbcoreError, OSError) as error:
        board.notes_fault = str(error)
        level = logging.DEBUG if isinstance(error, OptionError) else logging.WARNING
        logger.log(level, "there are no notes: %s", error)
    token_file = write_token_file(config, options, listening)
    if token_file is not None:
        leftovers.append(partial(os.unlink, token_file))
    # Created before plugins are imported, so that it sees every later change of their files.
    tools: DevTools | None = None
    if config.dev:
        with guarded(DEV, "dev"):
            tools = loaded(DEV, "dev")(config)
    # No code of plugins runs before this, and none after it until the first request.
    plugins = plugins_of(config)
    app = create_app(config, board=board, plugins=plugins, rows=tools.rows if tools else None)
    _warn_about_unknown_names(config, plugins)
    summary = plugins_summary(app.mounted)
    log.stats_by_package = {m.plugin.package: m.plugin.stats for m in reversed(app.mounted)}
    log.reporter = reporter = Reporter(board, config.logdir, summary, output(config))

    def has_started() -> None:
        url = print_banner(
            reporter, config, listening, options, token_file, has_plugins=bool(app.mounted)
        )
        if options.open_browser:
            is_secret = config.token or config.has_secret_prefix or config.write_token
            opening = [url, leftovers if is_secret else None]
            threading.Thread(target=open_page, args=opening, daemon=True).start()
        call(begun, "started", config)

    server = HttpServer(app, has_started, parent=options.exit_with_parent)
    server.on_ended = lambda: call(begun, "ended")
    server.on_abort = partial(_remove, leftovers)
    if tools is not None:
        tools.start(app, plugins)
    # The command line has disabled collection for the start. `freeze` excludes all objects that
    # exist now, such as modules, plugins and routes, from later collections.
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD_OBJECTS)
    gc.enable()
    loader.publish(_FIRST_PUBLICATION_TIMEOUT_SECONDS)
    loader.watch()
    if options.exit_when_idle is not None:
        threading.Thread(
            target=_exit_when_idle, args=[server, board, options.exit_when_idle], daemon=True
        ).start()
    server.run(sockets=listening.sockets)
    if tools is not None:
        tools.stop()
    app.close_plugins()
    reporter.stop()
    # TensorBoard ends with status 0, which supervisors and other programs take for success.
    return 128 + server.exit_signal if server.exit_signal and config.program == "tbcore" else 0


def _exit_when_idle(server: HttpServer, board: Board, seconds: float) -> None:
    """Ends the server after so many seconds without a request for data. Runs in its own thread."""
    began_at = time.monotonic()
    while (left := seconds - min(board.idle_seconds, time.monotonic() - began_at)) > 0:
        time.sleep(left)
    logger.info("nobody has asked for data for %g s (--exit_when_idle); the server ends", seconds)
    server.end()


def _warn_about_unknown_names(config: Config, plugins: Plugins) -> None:
    """Logs a warning for each folder without plugins, and for each unknown name of a plugin."""
    from tbcore.extensions import PLUGINS
    from tbcore.plugins.sources import in_folder

    for folder in config.plugins_dirs:
        if not in_folder(Path(folder)):
            logger.warning(
                "--plugins_dir %s: found no plugin; expected a file NAME.py, a package, or a "
                "pyproject.toml with an entry point in the group %r",
                folder, PLUGINS,
            )  # fmt: skip
    known = [plugin.name for plugin in plugins]
    loaded = [plugin.name for plugin in plugins if plugin.disabled_by is None]
    for option, given in (
        ("--samples_per_plugin", config.samples_per_plugin),
        ("--no_plugin", config.without_plugins),
    ):
        for name in given:
            if name not in known:
                logger.warning(
                    "%s: no plugin is named %r%s (loaded: %s)",
                    option, name, did_you_mean(name, known), ", ".join(loaded) or "none",
                )  # fmt: skip


def _token(options: ServeOptions, listening: Listening) -> str | None:
    """The token that requests must contain: the given one, else a random one.

    None with `no_token`, and on loopback if no token is given.
    """
    if options.no_token:
        return None
    if options.token or listening.reach != "network" or options.secret_prefix:
        return options.token
    import secrets

    return secrets.token_urlsafe(24)
