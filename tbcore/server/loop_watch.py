"""LoopWatch: names the plugin whose async code holds up the event loop, and with it everybody.

A coroutine has the event loop from one of its pauses to the next. Plugins' coroutines are driven
from pause to pause here, so that it is known whose turn it is; a thread looks at how long it takes.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
import types
import weakref
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator
from typing import Any, NamedTuple

from tbcore.health import Health

logger = logging.getLogger(__name__)

BLOCKED_SECONDS = 0.5
"""So long nobody else is answered; no coroutine needs it between two pauses."""
TICK_SECONDS = 0.1


class _Turn(NamedTuple):
    """Somebody has the event loop."""

    health: Health
    what: str
    since: float
    thread: int


class LoopWatch:
    """One for each server; its thread is there from the first coroutine of a plugin on."""

    def __init__(self) -> None:
        self._turn: _Turn | None = None
        self._told: set[tuple[str, str]] = set()
        """Plugins, and what of theirs is known to block: each is logged once."""
        self._lock = threading.Lock()
        self._has_thread = False

    async def run(self, awaitable: Awaitable[Any], health: Health, what: str) -> Any:
        """What the awaitable of a plugin comes to. `what` says which of its code that is."""
        self._start()
        return await self._drive(_coroutine(awaitable), health, what)

    async def parts(
        self, iterator: AsyncIterator[Any], health: Health, what: str
    ) -> AsyncIterator[Any]:
        """What an asynchronous iterator of a plugin yields."""
        while True:
            try:
                part = await self.run(anext(iterator), health, what)
            except StopAsyncIteration:
                return
            yield part

    @types.coroutine
    def _drive(
        self, coroutine: Coroutine[Any, Any, Any], health: Health, what: str
    ) -> Generator[Any, Any, Any]:
        resume: Any = coroutine.send
        argument: Any = None
        while True:
            turn = _Turn(health, what, time.monotonic(), threading.get_ident())
            self._turn = turn
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
            turn.health.failed(turn.what, "its async code blocked the whole server")
            turn.health.took(f"{turn.what}, blocking the server", seconds)
            self._tell(turn, seconds, "")

    def _start(self) -> None:
        with self._lock:
            if self._has_thread:
                return
            self._has_thread = True
        watch = threading.Thread(
            target=_watch, args=[weakref.ref(self)], name="tbcore-watch-loop", daemon=True
        )
        try:
            watch.start()
        except RuntimeError:
            # The system has no thread; what blocks is told of when it is over.
            self._has_thread = False

    def _look(self) -> None:
        turn = self._turn
        if turn is None or time.monotonic() - turn.since < BLOCKED_SECONDS:
            return
        stack = ""
        if turn.health.dev:
            frames = traceback.extract_stack(sys._current_frames().get(turn.thread))
            # What led here is the same for all plugins.
            ours = [at for at, frame in enumerate(frames) if frame.filename == __file__]
            own = frames[ours[-1] + 1 if ours else 0 :]
            stack = "\n" + "".join(traceback.format_list(own)).rstrip()
        self._tell(turn, time.monotonic() - turn.since, stack)

    def _tell(self, turn: _Turn, seconds: float, stack: str) -> None:
        key = (turn.health.name, turn.what)
        with self._lock:
            if key in self._told:
                return
            self._told.add(key)
        logger.warning(
            "plugin %r: %s is async, and has blocked the whole server for %.1f s; a plain def "
            "function runs on a thread of its own%s",
            turn.health.name, turn.what, seconds, stack,
        )  # fmt: skip


def _watch(reference: weakref.ReferenceType[LoopWatch]) -> None:
    pause = threading.Event()
    while True:
        pause.wait(TICK_SECONDS)
        watch = reference()
        if watch is None:
            return
        watch._look()
        del watch


async def _coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
