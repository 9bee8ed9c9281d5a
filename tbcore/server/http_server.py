"""HttpServer: uvicorn's server, which ends within a second even if clients are connected."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from tbcore.errors import TbcoreError
from tbcore.server.app import App
from tbcore.server.headers import safety_headers
from tbcore.server.listen import BACKLOG
from tbcore.server.protocol import ACCEPT_BATCH_DIVISOR, Connections, TimeoutProtocol

logger = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 30
"""An idle connection is closed after this long. A page that sends a request every few seconds needs
only one connection."""
TICK_SECONDS = 1.0
"""Time between two updates of the time in responses' headers."""
SHUTDOWN_TIMEOUT_SECONDS = 0.3
"""How long requests may continue to run after the signal that ends the server."""


class HttpServer(uvicorn.Server):
    """uvicorn's server for an `App`; closes the streams of the `App` before it ends."""

    def __init__(
        self,
        app: App,
        on_started: Callable[[], None],
        wrap: Callable[[ASGIApp], ASGIApp] | None = None,
        parent: int | None = None,
    ) -> None:
        """With `wrap`, requests go to the application that it returns for `app`.

        With `parent`, the server ends when the parent of this process is another one. Raises
        TbcoreError if this version of uvicorn would ignore the timeouts.
        """
        connections = Connections(lambda: safety_headers(app.policy), app.tuning)
        super().__init__(
            uvicorn.Config(
                wrap(app) if wrap else app,
                http=partial(TimeoutProtocol, connections),  # type: ignore[arg-type]
                # asyncio accepts at most this many connections in one batch. `startup` sets the
                # length of the system's queue.
                backlog=max(1, connections.max_connections // ACCEPT_BATCH_DIVISOR),
                ws="none",
                lifespan="off",
                loop="asyncio",
                interface="asgi3",
                log_config=None,
                access_log=False,
                # X-Forwarded headers are ignored: any client may send them.
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,  # type: ignore[arg-type]
            )
        )
        _check_uvicorn(self.config)
        self._app = app
        self._on_started = on_started
        self._parent = parent
        self.on_ended: Callable[[], object] = bool
        """Called at the end of a server that has started."""
        self.on_abort: Callable[[], object] = bool
        """Called before the process ends at a second Ctrl-C."""
        self._wake: Callable[[], object] = bool
        """Wakes `main_loop`, from any thread."""
        self.exit_signal: int | None = None
        """The signal that ended the server; None while it runs, and if only `end` was called."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to accept connections; uvicorn calls this on its event loop."""
        await super().startup(sockets)
        # asyncio has called listen() with the small backlog of the configuration.
        for listener in sockets or ():
            listener.listen(BACKLOG)
        self._on_started()

    async def main_loop(self) -> None:
        """Waits for the end of the server; sets the time in responses' headers each second.

        It also ends the server if its parent has ended.

        uvicorn's own method wakes ten times a second, which an idle server should not.
        """
        ended = asyncio.Event()
        self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, ended.set)
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), TICK_SECONDS)
            if self._parent not in (None, os.getppid()):
                logger.info("the program that started the server has ended (--exit_with_parent)")
                self.end()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the connections; uvicorn calls this while signals are still handled."""
        await super().shutdown(sockets)
        self.on_ended()

    def end(self) -> None:
        """Makes the server end within a second. May be called in any thread."""
        self.should_exit = True
        self._app.close_streams()
        with contextlib.suppress(RuntimeError):  # The loop has ended already.
            self._wake()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ends the server. Called in the main thread when a signal arrives."""
        # A second Ctrl-C ends the process at once. Programs repeat SIGTERM within milliseconds.
        if self.exit_signal is not None and sig == signal.SIGINT:
            self.on_abort()
            os._exit(128 + sig)
        self.exit_signal = self.exit_signal or sig
        self.end()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles signals while the server runs.

        uvicorn's own method raises each signal again when the server has ended. This one does not:
        the process ends with the status that `exit_signal` determines.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            # The terminal was closed. `nohup` ignores the signal, so that the server goes on.
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self.handle_exit)
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def _check_uvicorn(config: uvicorn.Config) -> None:
    """Raises TbcoreError if uvicorn would not use `TimeoutProtocol` as that expects.

    That extends a private class of uvicorn. With another method or attribute in that class, most
    requests would work, but without timeouts, or without a check of their headers.
    """
    config.load()
    wrong = {"app", "conn"} - {*H11Protocol.__init__.__code__.co_names}
    for name, ours in ((n, value) for n, value in vars(TimeoutProtocol).items() if n[0] != "_"):
        theirs = signature(getattr(H11Protocol, name, lambda: None))
        wrong |= {name} if [*signature(ours).parameters] != [*theirs.parameters] else set()
    if wrong or getattr(config.http_protocol_class, "func", None) is not TimeoutProtocol:
        raise TbcoreError(
            f"uvicorn {uvicorn.__version__} changed {', '.join(sorted(wrong)) or 'Config.http'}, "
            f"so timeouts would be off; pip install 'uvicorn>=0.30,<{uvicorn.__version__}'"
        )


_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if sys.platform == "win32":
    _SIGNALS.append(signal.SIGBREAK)
