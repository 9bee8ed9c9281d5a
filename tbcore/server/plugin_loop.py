"""PluginLoop: the asyncio event loop of one plugin, in a thread of its own.

Code that blocks the loop delays only the async code of the same plugin. A wrapper, `_drive`,
resumes each coroutine after each await. It notes which coroutine is running, and since when, so
that a coroutine can be logged if it blocks the others.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, NamedTuple

from tbcore.plugin_stats import PluginStats
from tbcore.plugins import Outcome, attempt, describe
from tbcore.server.pool import NoThreadError
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)


class LoopTask(Future[Outcome]):
    """A future for the outcome of an awaitable on the plugin's loop.

    `cancel` has no effect once the awaitable is started, as for the future of a thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.task: asyncio.Task[Outcome] | None = None
        self._loop = loop

    def stop(self) -> None:
        """Cancels the awaitable even if it has been started. May be called in any thread."""
        if not self.cancel():
            self._loop.call_soon_threadsafe(lambda: self.task and self.task.cancel())


class _Segment(NamedTuple):
    """A coroutine's code from one await to the next. The loop runs nothing else in that time."""

    what: str
    """The code that runs, such as `route /tags`."""
    started: float
    """When the segment was begun, in seconds of the monotonic clock."""


class PluginLoop:
    """An event loop in a daemon thread, which is started for the first awaitable."""

    def __init__(self, stats: PluginStats, tuning: Tuning) -> None:
        self._stats = stats
        self._tuning = tuning
        self._segment: _Segment | None = None
        """The segment that is running; None while the loop waits."""
        self._logged_blocking: set[str] = set()
        """The code that has been logged because it blocked the loop."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, awaitable: Awaitable[Any], what: str) -> LoopTask:
        """Starts an awaitable of the plugin on the loop. `what` names it in log lines and stats.

        Raises NoThreadError if the system has no thread for the loop.
        """
        loop = self._started_loop()
        loop_task = LoopTask(loop)

        def start() -> None:
            if not loop_task.set_running_or_notify_cancel():
                if isinstance(awaitable, Coroutine):
                    awaitable.close()
                return
            coroutine = _outcome(self._drive(_as_coroutine(awaitable), what))
            loop_task.task = loop.create_task(coroutine)
            loop_task.task.add_done_callback(finish)

        def finish(task: asyncio.Task[Outcome]) -> None:
            cancelled = Outcome(error=asyncio.CancelledError())
            loop_task.set_result(cancelled if task.cancelled() else task.result())

        loop.call_soon_threadsafe(start)
        return loop_task

    def check_blocked(self) -> None:
        """Logs the code that has been blocking the loop for too long, if there is any."""
        segment = self._segment
        if segment is None:
            return
        seconds = time.monotonic() - segment.started
        if seconds < self._tuning.blocked_loop_seconds:
            return
        stack = ""
        if self._stats.dev and self._thread and self._thread.ident:
            frames = traceback.extract_stack(sys._current_frames().get(self._thread.ident))
            # The plugin's frames follow the last frame of this module.
            core_indices = [i for i, frame in enumerate(frames) if frame.filename == __file__]
            plugin_frames = frames[core_indices[-1] + 1 if core_indices else 0 :]
            stack = "\n" + "".join(traceback.format_list(plugin_frames)).rstrip()
        self._warn_blocked(segment, seconds, stack)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        """The loop; the first call starts its thread."""
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_exception_handler(self._log_unhandled)
                name = f"plugin-{self._stats.name}-async"
                thread = threading.Thread(target=self._work, args=[loop], name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    loop.close()
                    raise NoThreadError(f"no thread for {name}: {error}") from error
                self._loop, self._thread = loop, thread
            return self._loop

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Runs the loop forever, even if a task raises SystemExit or stops the loop."""
        asyncio.set_event_loop(loop)
        while True:
            error = attempt(loop.run_forever).error
            if error is not None:
                self._log_unhandled(loop, {"message": "a task has failed", "exception": error})

    def _log_unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Logs an error that no caller receives, such as an exception in a task of the plugin."""
        message, error = context["message"], context.get("exception")
        line = f"{message}: {describe(error)}" if error else message
        self._stats.record_failure("task", line, error)
        logger.error("plugin %r: %s", self._stats.name, message, exc_info=error)

    @types.coroutine
    def _drive(self, coroutine: Coroutine[Any, Any, Any], what: str) -> Generator[Any, Any, Any]:
        """Runs a coroutine like `await coroutine`, and measures each segment."""
        resume: Any = coroutine.send
        argument: Any = None
        while True:
            self._segment = segment = _Segment(what, time.monotonic())
            try:
                awaited = resume(argument)
            except StopIteration as end:
                return end.value
            finally:
                self._segment = None
                self._record_blocking(segment)
            try:
                resume, argument = coroutine.send, (yield awaited)
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as error:
                resume, argument = coroutine.throw, error

    def _record_blocking(self, segment: _Segment) -> None:
        """Records and logs a finished segment if it blocked the loop for too long."""
        what = segment.what
        seconds = time.monotonic() - segment.started
        if seconds >= self._tuning.blocked_loop_seconds:
            self._stats.record_failure(what, "it is async, and blocked the plugin's event loop")
            self._stats.record_duration(f"{what}, blocking the plugin's event loop", seconds)
            self._warn_blocked(segment, seconds, "")

    def _warn_blocked(self, segment: _Segment, seconds: float, stack: str) -> None:
        """Logs, once for each `segment.what`, that it blocked the loop. `stack` may be empty."""
        with self._lock:
            if segment.what in self._logged_blocking:
                return
            self._logged_blocking.add(segment.what)
        logger.warning(
            "plugin %r: %s is async, and has blocked the plugin's event loop for %.1f s; "
            "a plain def function runs on a thread of its own%s",
            self._stats.name, segment.what, seconds, stack,
        )  # fmt: skip


def on_server_loop(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wraps an async function so that any loop may call it, but only the server's loop runs it.

    Must be called on the server's loop. For ASGI functions that plugins call on their own loops.
    """
    server_loop = asyncio.get_running_loop()

    async def call(*arguments: Any) -> Any:
        if asyncio.get_running_loop() is server_loop:
            return await function(*arguments)
        coroutine = _as_coroutine(function(*arguments))
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, server_loop))

    return call


async def _outcome(awaitable: Awaitable[Any]) -> Outcome:
    """`attempt` for an awaitable. CancelledError is raised, since cancelling is not a fault."""
    try:
        return Outcome(value=await awaitable)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        # Includes SystemExit, which would end the loop.
        return Outcome(error=error)


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    """Makes a coroutine of any awaitable, for functions that accept only coroutines."""
    return await awaitable
