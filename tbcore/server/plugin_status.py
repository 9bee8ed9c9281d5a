"""Plugin status: whether a plugin has data to show, and its entry in `data/plugins`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from tbcore.plugins.settings import plugin_json
from tbcore.plugins.types import LoadedPlugin, MountedPlugin, attempt, traceback_of
from tbcore.server.guard import Guard
from tbcore.server.pool import ThreadPool, wait_for
from tbcore.store.multiplexer import Multiplexer
from tbcore.text import describe
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

STRICT_TIMEOUT_SECONDS = 60.0
"""Replaces `Tuning.plugin_timeout_seconds` for plugins that are loaded with `strict`: tests of
plugins must not depend on how busy the machine is."""


class Activity:
    """Calls the `is_active` hook of one plugin and caches its result, one call at a time.

    The result is computed at most once per generation.
    """

    def __init__(
        self,
        plugin: LoadedPlugin,
        multiplexer: Multiplexer,
        pool: ThreadPool,
        tuning: Tuning,
        on_change: Callable[[], None],
    ) -> None:
        """If a call of the hook times out, the previous result is used. If the call then returns a
        different result, `on_change` is called, in a thread of the pool."""
        self._plugin = plugin
        self._multiplexer = multiplexer
        self._pool = pool
        self._tuning = tuning
        self._on_change = on_change
        self._lock = threading.Lock()
        self._result = False
        """Whether the plugin is active, by the last call that returned."""
        self._result_generation = -1
        """The generation for which `_result` was computed; -1 before the first result."""
        self.error: str | None = None
        """The exception of the last call of the hook, in one line; None if it raised none."""
        self.traceback = ""
        """The traceback of `error`; empty without one."""
        self.is_timed_out = False
        """Whether the running call has exceeded its timeout, so that the last result is used."""
        self._running: Future[None] | None = None
        """The call whose result is not stored yet."""
        self._deadline = 0.0
        """When the running call times out, in seconds of the monotonic clock."""
        self._logged: set[str | type[BaseException]] = set()
        """The arguments of all calls of `_is_first`."""

    @property
    def _timeout_seconds(self) -> float:
        """How long requests wait for a call, counted from when the call was submitted."""
        if self._plugin.strict:
            return STRICT_TIMEOUT_SECONDS
        return self._tuning.plugin_timeout_seconds

    def _is_first(self, what: str | type[BaseException]) -> bool:
        """Whether this is the first call for `what`, which is logged once."""
        num_before = len(self._logged)
        self._logged.add(what)
        return len(self._logged) > num_before

    async def is_active(self) -> bool:
        """The hook's result for the current generation; the previous one if it takes too long."""
        generation = self._multiplexer.generation
        while True:
            with self._lock:
                if self._result_generation >= generation:
                    return self._result
                if self._running is None:
                    self._running = self._pool.submit(self._run, self._multiplexer.generation)
                    self._deadline = time.monotonic() + self._timeout_seconds
                running, seconds_left = self._running, self._deadline - time.monotonic()
            # A timeout does not cancel the call: other requests may be waiting for it, and its
            # result will be used when it returns.
            if not await wait_for(running, max(seconds_left, 0)):
                self._handle_timeout(running)
                return self._result
            running.result()

    def _run(self, generation: int) -> None:
        """Calls the hook and stores its result for a generation. Runs in a thread of the pool.

        Logs the first slow call, and the first exception of each type. Raises the exception if the
        plugin was loaded with `strict`.
        """
        started = time.monotonic()
        outcome = attempt(self._call)
        seconds, error = time.monotonic() - started, outcome.error
        reason = describe(error) if error else None
        with self._lock:
            previous_result, self._result = self._result, bool(outcome.value)
            was_timed_out, self.is_timed_out = self.is_timed_out, False
            self._result_generation = generation
            self._running = None
            self.error, self.traceback = reason, traceback_of(error) if error else ""
        if was_timed_out and self._result != previous_result:
            self._on_change()
        if seconds > self._tuning.slow_is_active_seconds and self._is_first("slow"):
            logger.warning(
                "plugin %r: is_active took %.2f s; further slow calls are not logged",
                self._plugin.name, seconds,
            )  # fmt: skip
        if error is None:
            return
        self._plugin.stats.record_failure("is_active", describe(error), error)
        if self._plugin.strict:
            raise error
        if self._is_first(type(error)):
            logger.error(
                "plugin %r: is_active failed, so the plugin counts as inactive: %s",
                self._plugin.name, reason, exc_info=error,
            )  # fmt: skip

    def _call(self) -> bool:
        """The hook's result. Without it: True if data matches a claim, or without claims."""
        plugin, multiplexer = self._plugin, self._multiplexer
        if plugin.implements("is_active"):
            result: Any = plugin.call("is_active", multiplexer=multiplexer)
            return bool(result)
        claims = plugin.info.claims if plugin.info else ()
        return multiplexer.has(claims) if claims else True

    def _handle_timeout(self, call: Future[None]) -> None:
        """Records that a call has timed out, and logs the first such call."""
        with self._lock:
            if self._running is not call or self.is_timed_out:
                return
            self.is_timed_out = True
        self._plugin.stats.record_failure(
            "is_active",
            f"no result within {self._timeout_seconds:.1f} s; the call is still running",
        )
        if self._is_first("timeout"):
            logger.warning(
                "plugin %r: is_active has not returned within %.1f s, so the plugin counts as %s "
                "until it does; further timeouts are not logged",
                self._plugin.name, self._timeout_seconds, "active" if self._result else "inactive",
            )  # fmt: skip


class ServedPlugin(NamedTuple):
    """A plugin and the objects that serve it."""

    mounted: MountedPlugin
    pool: ThreadPool
    guard: Guard
    activity: Activity

    async def is_active(self) -> bool:
        """Whether the plugin is active; False if it has failed."""
        return self.mounted.error is None and await self.activity.is_active()


def status_json(
    mounted: MountedPlugin, activity: Activity | None, is_active: bool
) -> dict[str, Any]:
    """A plugin's entry in `data/plugins`; `activity` is None for a disabled plugin.

    Whole paths and tracebacks are included only with `--dev`.
    """
    plugin = mounted.plugin
    state, reason = _state(mounted, activity, is_active)
    return {
        **plugin_json(mounted, whole_path=plugin.dev),
        "api": plugin.info.api if plugin.info else None,
        "state": state,
        "reason": plugin.redact_paths(reason),
        **plugin.stats.as_json(),
    }


def _state(
    mounted: MountedPlugin, activity: Activity | None, is_active: bool
) -> tuple[str, str | None]:
    """The state of a plugin and its reason, which may be None for an active plugin."""
    plugin = mounted.plugin
    if plugin.disabled_by or activity is None:
        return "off", plugin.disabled_by
    if mounted.error:
        return "starting" if mounted.is_starting else "failed", mounted.error
    if activity.is_timed_out:
        return "active" if is_active else "inactive", "is_active has not returned in time"
    if is_active:
        return "active", None
    if activity.error:
        return "inactive", f"is_active failed: {activity.error}"
    if plugin.implements("is_active"):
        return "inactive", "its is_active returned False: there is nothing to show"
    return "inactive", "no logged data matches its claims"
