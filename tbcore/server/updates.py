"""Updates: the progress of loading, and the stream of server-sent events that reports changes."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tbcore.http import optional, to_json
from tbcore.store.multiplexer import Multiplexer
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

RETRY_MILLISECONDS = 2000
"""A browser connects again this long after a stream has ended."""


class Updates:
    """Sends the status of one server to any number of streams, on any number of event loops."""

    def __init__(self, multiplexer: Multiplexer, tuning: Tuning) -> None:
        self._multiplexer = multiplexer
        self._tuning = tuning
        self._instance = secrets.token_hex(8)
        self._streams: set[_Stream] = set()
        self._closed = False
        self._num_reloads = 0
        multiplexer.subscribe(self._wake)

    def status(self) -> dict[str, Any]:
        """The progress of loading, and the generations of the data, as data for JSON."""
        # The generations are read first, so that later requests get data at least as new.
        generation, runs_generation = (
            self._multiplexer.generation,
            self._multiplexer.runs_generation,
        )
        status = self._multiplexer.status
        return {
            "instance": self._instance,
            "generation": generation,
            "runs_generation": runs_generation,
            "num_reloads": self._num_reloads,
            "loading": status.loading,
            "passes": status.passes,
            "num_runs": status.num_runs,
            "num_files": status.num_files,
            "num_directories": status.num_directories,
            "bytes_read": status.bytes_read,
            "bytes_total": status.bytes_total,
            "logdirs": list(status.logdirs),
            "missing": list(status.missing),
            "problems": list(status.problems),
        }

    async def status_for(self, request: Request) -> dict[str, Any]:
        """The status. With `runs=true` also the generation in which each run last changed."""
        status = self.status()
        if optional(request, "runs") == "true":
            status["runs"] = self._multiplexer.run_generations()
        return status

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application that sends the status at once, and again whenever it changes."""
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-type", b"text/event-stream; charset=utf-8"),
                    (b"cache-control", b"no-store"),
                    # Makes proxies pass on each message at once.
                    (b"x-accel-buffering", b"no"),
                ],
            }
        )
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        stream = _Stream()
        self._streams.add(stream)
        watcher = asyncio.ensure_future(stream.wait_for_disconnect(receive))
        try:
            prefix = b"retry: %d\n" % RETRY_MILLISECONDS
            sent: dict[str, Any] | None = None
            while not (self._closed or stream.ended.is_set()):
                stream.woken.clear()
                status = self.status()
                if status != sent:
                    message = prefix + b"data: " + to_json(status) + b"\n\n"
                    await send({"type": "http.response.body", "body": message, "more_body": True})
                    prefix, sent = b"", status
                    await _wait(stream.ended, self._tuning.min_update_interval_seconds)
                if not await _wait(stream.woken, self._tuning.heartbeat_seconds):
                    await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._streams.discard(stream)
            watcher.cancel()

    def plugins_changed(self) -> None:
        """Makes pages request the plugins again. May be called in any thread."""
        self._num_reloads += 1
        self._wake()

    def close(self) -> None:
        """Ends all streams, including those that start later. May be called in a signal handler."""
        # Without a lock, which the interrupted thread might hold.
        self._closed = True
        for stream in list(self._streams):
            stream.call(stream.end)

    def _wake(self) -> None:
        """Wakes all streams. Called in the loader's thread, and in the one that reloads plugins."""
        for stream in list(self._streams):
            stream.call(stream.woken.set)


class _Stream:
    """The events that one stream waits for, on the event loop of its request."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.woken = asyncio.Event()
        self.ended = asyncio.Event()

    def end(self) -> None:
        self.ended.set()
        self.woken.set()

    def call(self, function: Any) -> None:
        """Calls a function on the stream's loop, from any thread."""
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop has been closed, which has ended the stream.
            logger.debug("a stream of updates ended with its event loop")

    async def wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Waits for an event for at most `seconds`; returns whether it was set in time."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
