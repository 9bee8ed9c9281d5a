"""Updates: the status of a server as JSON, and as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tbcore.http import optional
from tbcore.json import to_json
from tbcore.store.board import Board
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

RETRY_MILLISECONDS = 2000
"""How long a browser waits before it connects again, after a stream has ended."""


class Updates:
    """Sends the status of one server to its open streams, which may be on several event loops."""

    def __init__(self, board: Board, tuning: Tuning) -> None:
        self._board = board
        self._tuning = tuning
        self._instance = secrets.token_hex(8)
        """Identifies this server process, so that pages do not compare the generations of different
        servers."""
        self._streams: set[_Stream] = set()
        self._is_closed = False
        self._num_reloads = 0
        """Number of calls of `plugins_changed`. Pages request the plugins again when it changes."""
        board.subscribe(self.wake)

    def status(self) -> dict[str, Any]:
        """The progress of loading, and the generations of the data, as data for JSON."""
        # Read before the rest of the status, which is then at least as new.
        state, notes = self._board.state, self._board.notes
        return {
            "instance": self._instance,
            "generation": state.generation,
            "runs_generation": state.listings.generation,
            "num_reloads": self._num_reloads,
            **({"notes_generation": notes.generation} if notes else {}),
            **{f"{name}.notice": data for name, data in dict(self._board.notices).items()},
            **vars(status := self._board.status),
            "other_files": [files._asdict() for files in status.other_files],
            "past_problems": [problem._asdict() for problem in status.past_problems],
        }

    async def status_for(self, request: Request) -> dict[str, Any]:
        """The status, with the time of the last scan; null before the first.

        With `runs=true`, also the generation in which each run last changed. With `scan=true`, the
        loader looks for new data at once. `visible=true` is for pages that have no stream.
        """
        if optional(request, "scan") == "true":
            self._board.scan_soon()
        if optional(request, "visible") == "true":
            self._board.note_request()
        status = self.status()
        status["scanned_at"] = self._board.scanned_at
        if optional(request, "runs") == "true":
            status["runs"] = dict(self._board.state.run_generations)
        return status

    def stream(self, method: str) -> Response:
        """A response that sends the status at once, and again whenever it changes."""
        # The last header makes proxies pass on each message at once.
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._messages(method), 200, headers, "text/event-stream")

    async def _messages(self, method: str) -> AsyncGenerator[bytes]:
        """Yields server-sent events until the client disconnects or `close` is called."""
        stream = _Stream()
        self._streams.add(stream)
        self._board.num_viewers = len(self._streams)
        self._board.scan_soon()
        try:
            last_sent: dict[str, Any] | None = None
            while not (method == "HEAD" or self._is_closed or stream.ended.is_set()):
                stream.woken.clear()
                status = self.status()
                if status != last_sent:
                    yield b"retry: %d\ndata: %s\n\n" % (RETRY_MILLISECONDS, to_json(status))
                    last_sent = status
                    await _wait(stream.ended, self._tuning.min_update_interval_seconds)
                if not await _wait(stream.woken, self._tuning.heartbeat_seconds):
                    yield b":\n\n"
        finally:
            self._streams.discard(stream)
            self._board.last_request_at = time.monotonic()
            self._board.num_viewers = len(self._streams)

    def plugins_changed(self) -> None:
        """Makes open pages request the list of plugins again. May be called in any thread."""
        self._num_reloads += 1
        self.wake()

    def close(self) -> None:
        """Ends all streams, including those that start later. May be called in a signal handler."""
        # No lock is used here: the thread that the signal has interrupted might hold it.
        self._is_closed = True
        for stream in list(self._streams):
            stream.call(stream.end)

    def wake(self) -> None:
        """Wakes all streams, which send the status if it has changed. Called in any thread."""
        for stream in list(self._streams):
            stream.call(stream.woken.set)


class _Stream:
    """The events of one stream: `woken`, when the status may have changed, and `ended`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.woken = asyncio.Event()
        self.ended = asyncio.Event()

    def end(self) -> None:
        """Ends the stream. Called on its event loop."""
        self.ended.set()
        self.woken.set()

    def call(self, function: Any) -> None:
        """Calls a function on the stream's loop, from any thread."""
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop is closed, so the stream has ended as well.
            logger.debug("a stream of updates ended with its event loop")


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Waits for an event for at most `seconds`; returns whether it was set in time."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
