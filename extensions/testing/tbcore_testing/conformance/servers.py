"""Servers: HTTP servers with the plugins under test, one for each log directory."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from tbcore.engine import LoadedPlugin, replace_query
from tbcore_testing.conformance.logs import SampleLogs
from tbcore_testing.in_thread import Server

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


class RunningServer:
    """A server in a thread of this process, which records the query parameters that routes read."""

    def __init__(
        self, logs: SampleLogs, plugins: Sequence[LoadedPlugin], *, prefix: str = PREFIX
    ) -> None:
        self.logs = logs
        self.required_by_name: dict[str, bool] = {}
        """Maps the name of each parameter that was read to whether it is required. The caller
        clears the dict before a request."""
        self._server = Server(
            logs.logdir,
            plugins=plugins,
            board=logs.board,
            path_prefix=prefix,
            wrap=self._recording,
        )
        self._server.start()
        if logs.name != "gone":  # Its files must not be missed before a route is asked.
            logs.reload()  # Finds the files that the plugins claim.
        self.mounted = {one.plugin.name: one for one in self._server.app.mounted}
        self.url = self._server.url.removesuffix("/")
        """The address of the server, with its prefix and no slash at the end."""

    def _recording(self, app: ASGIApp) -> ASGIApp:
        async def record(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                replace_query(scope, lambda query: RecordingQuery(query, self.required_by_name))
            await app(scope, receive, send)

        return record

    def stop(self) -> None:
        """Stops the server."""
        self._server.stop()


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
        logging.getLogger("tbcore").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("tbcore").removeHandler(self)
