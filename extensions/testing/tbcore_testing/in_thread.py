"""Server: a server in a thread of this process, for notebooks, programs and tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote

from starlette.types import ASGIApp

from tbcore import Multiplexer, TbcoreError
from tbcore.engine import (
    App,
    Board,
    Config,
    HttpServer,
    Listening,
    LoadedPlugin,
    Loader,
    OptionError,
    absolute,
    checked_specs,
    create_app,
    listen,
    local_directory,
    loopback,
    plugins_of,
    without_passwords,
)
from tbcore_testing.page_errors import rows_for

END_TIMEOUT_SECONDS = 10


class Server:
    """The server of one log directory, for this machine only.

        with Server("runs") as server:
            print(server.url)                 # http://127.0.0.1:43219/

    In a `with` statement, the logs have been read when the first line runs, and are read again when
    they change. Without one, `app` can be called without a socket, and `load_once` reads the logs.
    A server starts once; for another start, make another one.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        logdir_spec: str | None = None,
        plugins: Sequence[LoadedPlugin] | None = None,
        board: Board | None = None,
        port: int = 0,
        reload_interval: float | None = None,
        purge_orphaned_data: bool = True,
        max_points: int = 0,
        wrap: Callable[[ASGIApp], ASGIApp] | None = None,
        **config: Any,
    ) -> None:
        """If `logdir_spec` is given, it is read instead of `logdir`.

        `plugins` are the plugins to serve, from `load_plugins`; None for all. If `board` is
        given, its runs are served, and no logs are read. `Loader` describes `reload_interval`,
        `purge_orphaned_data` and `max_points`. `wrap` is called with the application, and returns
        the application that gets the requests. With port 0 the system chooses a port. `config` has
        fields of `Config` except `host`, such as `path_prefix`.

        Raises TypeError for any other option, OptionError for a log directory that is not valid,
        and ExtensionError if the storage for its address cannot be loaded.
        """
        if "host" in config:
            raise TypeError("Server has no option 'host': it serves this machine only")
        text = os.path.expanduser(os.fspath(logdir) if logdir_spec is None else logdir_spec)
        given = Config(logdir=without_passwords(text), host=loopback(), port=port, **config)
        # Absolute, like the log directories: the program may change the working directory.
        folders = tuple(os.path.abspath(folder) for folder in given.plugins_dirs)
        self.config = replace(given, plugins_dirs=folders)
        self.board = board or Board()
        """The runs, and the loader's progress."""
        self.multiplexer = Multiplexer(board=self.board)
        """The runs and tags, as the hooks of plugins get them."""
        self.plugins = plugins
        self._loader = None
        if board is None:
            specs = checked_specs(text, is_spec=logdir_spec is not None)
            if not text or not specs:
                raise OptionError(f"no log directory in {text!r}")
            self.config = replace(self.config, local_logdir=local_directory(specs))
            self._loader = Loader(
                self.board,
                [spec._replace(path=absolute(spec.path)) for spec in specs],
                reload_interval=reload_interval,
                purge_orphaned_data=purge_orphaned_data,
                max_points=max_points,
                tuning=self.config.tuning,
            )
        self._wrap = wrap
        self._listening: Listening | None = None
        self._http_server: HttpServer | None = None
        self._thread: threading.Thread | None = None

    @cached_property
    def app(self) -> App:
        """The application, as ASGI describes it; its plugins are loaded on first use."""
        plugins = plugins_of(self.config) if self.plugins is None else self.plugins
        rows = rows_for(self.config) if self.config.dev else {}
        return create_app(self.config, board=self.board, plugins=[*plugins], rows=rows)

    @property
    def url(self) -> str:
        """The address of the page: with a slash at the end, or with `?token=` if there is a token.

        Raises TbcoreError before the start, when the port is not known.
        """
        if self._listening is None:
            raise TbcoreError("a Server has an address only when it has started")
        return self._listening.url(f"{quote(self.config.path_prefix)}/", self.config.token)

    def load_once(self) -> None:
        """Reads the new data in the logs, in the calling thread. Lists remote directories again."""
        if self._loader is not None:
            self._loader.scan_soon()
            self._loader.load_once()

    def start(self) -> None:
        """Starts listening, and two threads: one serves, the other reads changes in the logs.

        Raises TbcoreError if it cannot listen, or was started before. It also raises any exception
        of `wrap`, after it has stopped.
        """
        if self._listening is not None:
            raise TbcoreError("a Server starts once; make another one")
        self._listening = listen(self.config.host, self.config.port, bind_all=False)
        try:
            self._serve(self._listening)
            if self._loader is not None:
                self._loader.start()
        except BaseException:
            self.stop()
            raise

    def _serve(self, listening: Listening) -> None:
        """Starts the serving thread, and returns when it serves. Raises any error of the start."""
        self.config = replace(self.config, port=listening.port)
        started: Future[None] = Future()
        self._http_server = server = HttpServer(
            self.app, partial(started.set_result, None), self._wrap
        )

        def run() -> None:
            try:
                server.run(sockets=listening.sockets)
            except BaseException as error:
                if started.done():
                    raise
                started.set_exception(error)

        self._thread = threading.Thread(target=run, name="tbcore-server", daemon=True)
        self._thread.start()
        started.result()

    def stop(self) -> None:
        """Ends the threads, and waits at most 10 seconds for them."""
        if self._loader is not None:
            self._loader.stop()
        if self._http_server is not None and self._thread is not None:
            self._http_server.end()
            self._thread.join(END_TIMEOUT_SECONDS)
        if "app" in vars(self):
            self.app.close_plugins()
        if self._listening is not None:
            self._listening.close()

    def __enter__(self) -> Server:
        self.load_once()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
