"""Servers: HTTP servers with the plugins under test, one for each log directory."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tbcore.config import Config
from tbcore.http.parameters import QUERY_KEY, query_of
from tbcore.plugin_types import LoadedPlugin, MountedPlugin
from tbcore.plugins import mount
from tbcore.server.app import App
from tbcore.server.http_server import HttpServer
from tbcore.server.listen import listen
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing.conformance.logs import SampleLogs

PREFIX = "/below/a prefix"
"""Path prefix of the servers, as behind a proxy. The space must be encoded in addresses."""


class RecordingQuery(dict[str, str]):
    """Query parameters that record which of them were read, and whether they are required.

    `tbcore.http.optional` calls `get`, while `tbcore.http.required` tests with `in` first.
    """

    def __init__(self, query: Mapping[str, str], required_by_name: dict[str, bool]) -> None:
        """Records in `required_by_name`, which maps each name to whether it is required."""
        super().__init__(query)
        self._required_by_name = required_by_name

    def get(self, name: str, default: Any = None) -> Any:
        self._required_by_name.setdefault(name, False)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self._required_by_name[str(name)] = True
        return super().__contains__(name)


class RecordingApp(App):
    """The usual application, which also records the query parameters that routes read."""

    def __init__(
        self, config: Config, multiplexer: Multiplexer, mounted: Sequence[MountedPlugin]
    ) -> None:
        super().__init__(config, multiplexer, mounted)
        self.required_by_name: dict[str, bool] = {}
        """Maps the name of each parameter that was read to whether it is required. The caller
        clears the dict before a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[QUERY_KEY] = RecordingQuery(query_of(Request(scope)), self.required_by_name)
        await super().__call__(scope, receive, send)


class RunningServer:
    """A server in a thread of this process, on a free port."""

    def __init__(
        self, logs: SampleLogs, plugins: Sequence[LoadedPlugin], *, prefix: str = PREFIX
    ) -> None:
        self.logs = logs
        self.prefix = prefix
        listening = listen("127.0.0.1", 0, bind_all=False)
        config = Config(logdir=str(logs.logdir), port=listening.port, path_prefix=prefix)
        mounted = [mount(plugin, logs.multiplexer, config) for plugin in plugins]
        self.app = RecordingApp(config, logs.multiplexer, mounted)
        self.mounted = {one.plugin.name: one for one in mounted}
        self.origin = f"http://127.0.0.1:{listening.port}"
        started = threading.Event()
        self._server = HttpServer(self.app, started.set)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": listening.sockets}, daemon=True
        )
        self._thread.start()
        started.wait(10)

    def end(self) -> None:
        """Stops the server, without waiting for it."""
        self._server.end()

    def join(self) -> None:
        """Waits until the stopped server has ended."""
        self._thread.join(10)


class RaisedErrors(logging.Handler):
    """The exceptions that routes of plugins raised, taken from the server's log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return
        # The innermost frame is the most helpful one.
        frames = traceback.extract_tb(error.__traceback__)
        where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        self._errors.append(f"{type(error).__name__}: {str(error)[:200]}{where}")

    def pop(self) -> str:
        """The last exception since the previous call, as one line; "" if there was none."""
        error = self._errors[-1] if self._errors else ""
        self._errors.clear()
        return error

    def __enter__(self) -> RaisedErrors:
        logger = logging.getLogger("tbcore.server.guard")
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("tbcore.server.guard").removeHandler(self)


def mounted_routes(mounted: MountedPlugin) -> Iterator[tuple[str, Any]]:
    """Yields all routes of a plugin, each with its path after the server's prefix."""
    for route in mounted.routes:
        yield f"/data/plugin/{mounted.plugin.name}{route.path}", route
    for route in mounted.legacy.routes:
        yield f"/data{route.path}", route
    for route in mounted.legacy.bare_routes:
        yield route.path, route
