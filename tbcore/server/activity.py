"""Activity: whether a plugin has anything to show, asked at most once in each generation."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tbcore.plugins import LoadedPlugin, Outcome, attempt, describe, traceback_of
from tbcore.server.pool import NoThreadError, ThreadPool, wait_for
from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

SLOW_SECONDS = 0.1
"""A plugin that thinks longer about whether it is active is named in the log."""
PATIENCE_SECONDS = 1.0
"""The listing is not held up any longer than this, and only once by one call."""
TEST_PATIENCE_SECONDS = 60.0
"""In a test of the plugin, which is about its answer and not about how busy the machine is."""


class Activity:
    """Remembers the answer of one plugin's `is_active` hook."""

    def __init__(
        self,
        plugin: LoadedPlugin,
        multiplexer: Multiplexer,
        pool: ThreadPool,
        on_change: Callable[[], None],
    ) -> None:
        """`on_change` is called in a thread of the pool when an answer comes late, and is another
        than the one that stood in for it."""
        self._plugin = plugin
        self._multiplexer = multiplexer
        self._pool = pool
        self._on_change = on_change
        self._lock = threading.Lock()
        self._generation = -1
        """The generation that the answer is about."""
        self._active = False
        self.error: str | None = None
        """What the hook raised when it was asked last, in one line."""
        self.traceback = ""
        """Where."""
        self._running: Future[Outcome] | None = None
        self._running_generation = -1
        self._running_since = 0.0
        self._longest = SLOW_SECONDS
        """Seconds; a call is logged when it takes longer than all before."""
        self._told_blocked = False
        self._told_errors: set[type[BaseException]] = set()

    @property
    def is_late(self) -> bool:
        """Whether the hook has not answered in time, and the answer is the one from before."""
        return self._told_blocked

    @property
    def _patience(self) -> float:
        return TEST_PATIENCE_SECONDS if self._plugin.strict else PATIENCE_SECONDS

    async def ask(self) -> bool:
        """The answer for the generation of now; the last known one if that takes too long."""
        generation = self._multiplexer.generation
        while True:
            with self._lock:
                if self._generation >= generation:
                    return self._active
                if self._running is None:
                    self._running_generation = self._multiplexer.generation
                    self._running_since = time.monotonic()
                    try:
                        self._running = self._pool.submit(self._call)
                    except NoThreadError:
                        return self._active
                running, about = self._running, self._running_generation
                patience = self._running_since + self._patience - time.monotonic()
            # Waiting must not cancel the call: others may wait for it, and its answer still counts.
            if not await wait_for(running, max(patience, 0)):
                self._tell_blocked(running)
                return self._active
            with self._lock:
                if self._running is running:
                    self._running = None
                    self._settle(running.result(), about)

    def _call(self) -> Outcome:
        """Asks the plugin; runs in one of its threads."""
        started = time.monotonic()
        outcome = attempt(self._ask_plugin)
        seconds = time.monotonic() - started
        if seconds > self._longest:
            self._longest = seconds
            logger.warning("plugin %r: is_active took %.2f s", self._plugin.name, seconds)
        return outcome

    def _ask_plugin(self) -> bool:
        plugin, multiplexer = self._plugin, self._multiplexer
        if plugin.implements("is_active"):
            answer: Any = plugin.call("is_active", multiplexer=multiplexer)
            return bool(answer)
        claims = plugin.info.claims if plugin.info else ()
        return multiplexer.has(claims) if claims else True

    def _settle(self, outcome: Outcome, generation: int) -> None:
        """Takes over an answer. The caller holds the lock."""
        self._generation = generation
        self._active = _is_active(outcome)
        self._told_blocked = False
        error = outcome.error
        self.error = describe(error) if error else None
        self.traceback = traceback_of(error) if error else ""
        if error is None:
            return
        self._plugin.health.failed("is_active", describe(error), error)
        if self._plugin.strict:
            raise error
        if type(error) not in self._told_errors:
            self._told_errors.add(type(error))
            logger.error(
                "plugin %r: is_active failed, so the plugin counts as inactive: %s",
                self._plugin.name, describe(error), exc_info=error,
            )  # fmt: skip

    def _tell_blocked(self, running: Future[Outcome]) -> None:
        if not self._told_blocked:
            self._told_blocked = True
            told = self._active

            def tell_change(answered: Future[Outcome]) -> None:
                if _is_active(answered.result()) != told:
                    self._on_change()

            running.add_done_callback(tell_change)
            self._plugin.health.failed(
                "is_active", f"no answer within {self._patience:.1f} s; it may still come"
            )
            logger.warning(
                "plugin %r: is_active has not answered for %.1f s; the plugin counts as %s for now",
                self._plugin.name, self._patience, "active" if self._active else "inactive",
            )  # fmt: skip


def _is_active(outcome: Outcome) -> bool:
    return outcome.error is None and bool(outcome.value)
