"""PluginLoop: the event loop of one plugin's async code, in a thread of its own.

Code that blocks it keeps only its own plugin waiting. A coroutine has the loop from one of its
pauses to the next: it is driven from pause to pause here, so that it is known whose turn it is, and
who kept the others waiting.
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

from tbcore.health import Health
from tbcore.plugins import Outcome, attempt, describe
from tbcore.server.pool import NoThreadError

logger = logging.getLogger(__name__)

BLOCKED_SECONDS = 0.5
"""No coroutine needs the loop so long between two pauses."""


class Run(Future[Outcome]):
    """What a coroutine of a plugin will have come to. It can be cancelled until it runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.task: asyncio.Task[Outcome] | None = None
        self._loop = loop

    def stop(self) -> None:
        """Cancels it also while it runs. May be called in any thread."""
        if not self.cancel():
            self._loop.call_soon_threadsafe(lambda: self.task and self.task.cancel())


class _Turn(NamedTuple):
    """A coroutine has the loop."""

    what: str
    since: float


class PluginLoop:
    """Its thread is there from the first coroutine on, and is never waited for."""

    def __init__(self, health: Health) -> None:
        self._health = health
        self._turn: _Turn | None = None
        self._told: set[str] = set()
        """What is known to block: each is logged once."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, awaitable: Awaitable[Any], what: str) -> Run:
        """Starts code of the plugin. `what` says which; what it logs is known to be the plugin's.

        Raises NoThreadError when the system has no thread for the loop.
        """
        loop = self._started()
        run = Run(loop)

        def start() -> None:
            if not run.set_running_or_notify_cancel():
                if isinstance(awaitable, Coroutine):
                    awaitable.close()
                return
            run.task = loop.create_task(_outcome(self._drive(_coroutine(awaitable), what)))
            run.task.add_done_callback(end)

        def end(task: asyncio.Task[Outcome]) -> None:
            cancelled = Outcome(error=asyncio.CancelledError())
            run.set_result(cancelled if task.cancelled() else task.result())

        loop.call_soon_threadsafe(start)
        return run

    def look(self) -> None:
        """Tells of code that blocks the loop just now, if there is any."""
        turn = self._turn
        if turn is None or time.monotonic() - turn.since < BLOCKED_SECONDS:
            return
        stack = ""
        if self._health.dev and self._thread and self._thread.ident:
            frames = traceback.extract_stack(sys._current_frames().get(self._thread.ident))
            # What led here is the same for all plugins.
            ours = [at for at, frame in enumerate(frames) if frame.filename == __file__]
            own = frames[ours[-1] + 1 if ours else 0 :]
            stack = "\n" + "".join(traceback.format_list(own)).rstrip()
        self._tell(turn, time.monotonic() - turn.since, stack)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_exception_handler(self._tell_stray)
                name = f"plugin-{self._health.name}-async"
                thread = threading.Thread(target=self._work, args=[loop], name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    loop.close()
                    raise NoThreadError(f"no thread for {name}: {error}") from error
                self._loop, self._thread = loop, thread
            return self._loop

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Runs the loop for ever: what tasks raise, such as SystemExit, does not end it."""
        asyncio.set_event_loop(loop)
        while True:
            error = attempt(loop.run_forever).error
            if error is not None:
                self._tell_stray(loop, {"message": "a task has failed", "exception": error})

    def _tell_stray(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tells of what nobody waits for, such as a task of the plugin's that has failed."""
        message, error = context["message"], context.get("exception")
        self._health.failed("task", f"{message}: {describe(error)}" if error else message, error)
        logger.error("plugin %r: %s", self._health.name, message, exc_info=error)

    @types.coroutine
    def _drive(self, coroutine: Coroutine[Any, Any, Any], what: str) -> Generator[Any, Any, Any]:
        resume: Any = coroutine.send
        argument: Any = None
        while True:
            self._turn = turn = _Turn(what, time.monotonic())
            try:
                pause = resume(argument)
            except StopIteration as end:
                return end.value
            finally:
                self._turn = None
                self._settle(turn)
            try:
                resume, argument = coroutine.send, (yield pause)
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as error:
                resume, argument = coroutine.throw, error

    def _settle(self, turn: _Turn) -> None:
        """Remembers a turn that was too long."""
        seconds = time.monotonic() - turn.since
        if seconds >= BLOCKED_SECONDS:
            self._health.failed(turn.what, "it is async, and blocked the plugin's event loop")
            self._health.took(f"{turn.what}, blocking the plugin's event loop", seconds)
            self._tell(turn, seconds, "")

    def _tell(self, turn: _Turn, seconds: float, stack: str) -> None:
        with self._lock:
            if turn.what in self._told:
                return
            self._told.add(turn.what)
        logger.warning(
            "plugin %r: %s is async, and has blocked the plugin's event loop for %.1f s; "
            "a plain def function runs on a thread of its own%s",
            self._health.name, turn.what, seconds, stack,
        )  # fmt: skip


def from_server(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A function of the server's event loop, which is the running one, for use on another."""
    server = asyncio.get_running_loop()

    async def call(*arguments: Any) -> Any:
        if asyncio.get_running_loop() is server:
            return await function(*arguments)
        called = asyncio.run_coroutine_threadsafe(_coroutine(function(*arguments)), server)
        return await asyncio.wrap_future(called)

    return call


async def _outcome(awaitable: Awaitable[Any]) -> Outcome:
    """`attempt` for what runs on an event loop, where being cancelled is not a fault."""
    try:
        return Outcome(value=await awaitable)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        # SystemExit, too: it must not end the loop.
        return Outcome(error=error)


async def _coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
