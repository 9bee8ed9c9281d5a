"""Updates: how far loading is, and the stream of server-sent events that tells pages of changes."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tbcore.http import optional, to_json
from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Between two messages of one stream."""
HEARTBEAT_SECONDS = 15.0
"""A stream with nothing to say sends a comment this often, so that nothing on the way closes it."""
RETRY_MILLISECONDS = 2000
"""After which a browser connects again."""


class Updates:
    """Tells any number of pages, on any number of event loops, what the loader has done."""

    def __init__(self, multiplexer: Multiplexer) -> None:
        self._multiplexer = multiplexer
        self._instance = secrets.token_hex(8)
        self._streams: set[_Stream] = set()
        self._closed = False
        self._num_reloads = 0
        multiplexer.subscribe(self._wake)

    def status(self) -> dict[str, Any]:
        """How far loading is, as data about to be written as JSON."""
        # The generations first: whoever asks for the data of them gets that or newer data.
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

    async def answer(self, request: Request) -> dict[str, Any]:
        """The status; with `runs=true` also the generation in which each run last changed."""
        status = self.status()
        if optional(request, "runs") == "true":
            status["runs"] = self._multiplexer.run_generations()
        return status

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application: the status at once, and again whenever it changed."""
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-type", b"text/event-stream; charset=utf-8"),
                    (b"cache-control", b"no-store"),
                    # Proxies in front must not wait for more.
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
                    await _within(PAUSE_SECONDS, stream.ended)
                if not await _within(HEARTBEAT_SECONDS, stream.woken):
                    await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._streams.discard(stream)
            watcher.cancel()

    def plugins_changed(self) -> None:
        """Tells pages to ask for the plugins again. May be called in any thread."""
        self._num_reloads += 1
        self._wake()

    def close(self) -> None:
        """Ends all streams, also those that begin later. May be called in a signal handler."""
        # No lock: a handler runs in the middle of whatever its thread was doing.
        self._closed = True
        for stream in list(self._streams):
            stream.call(stream.end)

    def _wake(self) -> None:
        """Called in the loader's thread, and in that of whoever replaces plugins."""
        for stream in list(self._streams):
            stream.call(stream.woken.set)


class _Stream:
    """The events that one stream waits for, on its loop."""

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
            # The loop has been closed, and the stream with it.
            logger.debug("a stream of updates is gone with its event loop")

    async def wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Waits for an event, and returns whether it came in time."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
