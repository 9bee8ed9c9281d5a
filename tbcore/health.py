"""Health: what one plugin has done so far: how long it took, what went wrong, what it was told.

While code of a plugin runs, `CURRENT` is the health of that plugin. It goes along to the threads of
the plugin's pool and to its tasks, so that whatever is logged there is known to be the plugin's.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)

MAX_REMEMBERED = 100
"""Durations of one kind that the median is taken of, the newest; and faults that are told apart."""
MAX_LINES = 20
LINES_SECONDS = 10.0
"""A plugin may log so many lines in so many seconds; a line more tells how many were left out."""


@dataclass
class Timing:
    """How long one kind of call took."""

    count: int = 0
    slowest: float = 0.0
    """Seconds."""
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_REMEMBERED))


@dataclass
class Fault:
    """One thing that went wrong, however often."""

    what: str
    """Where, such as `route /tags`."""
    message: str
    count: int
    last: float
    """Wall time, in seconds since the epoch."""
    traceback: str = ""


@dataclass
class Call:
    """Code of a plugin that runs, or has run."""

    what: str
    started: float
    """In seconds of the monotonic clock."""
    seconds: float = 0.0
    """How long it took, once it is over."""


@dataclass
class Deprecation:
    """A name of the core that the plugin uses, and should not for much longer."""

    name: str
    instead: str
    count: int = 0


class Health:
    """The record of one plugin. Any thread may write to it."""

    def __init__(
        self,
        name: str,
        *,
        dev: bool = False,
        traceback_of: Callable[[BaseException], str] | None = None,
    ) -> None:
        self.name = name
        self.dev = dev
        """Whether log lines are all let through, and paths and tracebacks told."""
        self._traceback_of = traceback_of if dev else None
        self.since = time.time_ns()
        """When this code of the plugin came; other code may have answered otherwise."""
        self.num_lines_left_out = 0
        self._lock = threading.Lock()
        self._timings: dict[str, Timing] = {}
        self._faults: dict[tuple[str, str], Fault] = {}
        self._deprecations: dict[str, Deprecation] = {}
        self._running: dict[int, Call] = {}
        self._lines_since = -LINES_SECONDS
        self._num_lines = 0
        self._untold_lines = 0

    @contextmanager
    def at(self, what: str) -> Iterator[Call]:
        """Code of the plugin runs inside; how long it takes is remembered."""
        before = CURRENT.set(self)
        call = Call(what, time.monotonic())
        with self._lock:
            self._running[id(call)] = call
        try:
            yield call
        finally:
            CURRENT.reset(before)
            call.seconds = time.monotonic() - call.started
            with self._lock:
                del self._running[id(call)]
                self._note(what, call.seconds)

    def took(self, what: str, seconds: float) -> None:
        """Remembers how long something took that is over."""
        with self._lock:
            self._note(what, seconds)

    def failed(self, what: str, message: str, error: BaseException | None = None) -> None:
        """Remembers that something went wrong. `message` is one line."""
        key = (what, type(error).__name__ if error else message)
        told = self._traceback_of(error) if error and self._traceback_of else ""
        with self._lock:
            fault = self._faults.pop(key, None) or Fault(what, message, 0, 0.0)
            fault.message, fault.traceback = message, told
            fault.count += 1
            fault.last = time.time()
            if len(self._faults) >= MAX_REMEMBERED:
                del self._faults[next(iter(self._faults))]
            self._faults[key] = fault

    def uses_deprecated(self, name: str, instead: str) -> bool:
        """Remembers that the plugin uses an old name; whether that is the first time."""
        with self._lock:
            deprecation = self._deprecations.setdefault(name, Deprecation(name, instead))
            deprecation.count += 1
            return deprecation.count == 1

    def may_log(self) -> bool:
        """Whether one more line of the plugin may go into the log; counts it if not."""
        if self.dev:
            return True
        with self._lock:
            now = time.monotonic()
            if now - self._lines_since >= LINES_SECONDS:
                self._lines_since, self._num_lines = now, 0
            self._num_lines += 1
            if self._num_lines <= MAX_LINES:
                return True
            self.num_lines_left_out += 1
            self._untold_lines += 1
            is_first = self._untold_lines == 1
            rest = self._lines_since + LINES_SECONDS - now
        if is_first:
            timer = threading.Timer(rest, self._tell_of_lines)
            timer.daemon = True
            timer.start()
        return False

    def as_json(self) -> dict[str, Any]:
        """What there is to tell. Durations are in seconds, times in seconds since the epoch."""
        with self._lock:
            now = time.monotonic()
            return {
                "timings": [
                    {
                        "what": what,
                        "count": timing.count,
                        "median": round(float(np.median(timing.recent)), 6),
                        "slowest": round(timing.slowest, 6),
                    }
                    for what, timing in self._timings.items()
                ],
                "running": [
                    {"what": call.what, "seconds": round(now - call.started, 3)}
                    for call in self._running.values()
                ],
                "faults": [self._fault_as_json(fault) for fault in reversed(self._faults.values())],
                "deprecated": [
                    {"name": used.name, "instead": used.instead, "count": used.count}
                    for used in self._deprecations.values()
                ],
                "log_lines_left_out": self.num_lines_left_out,
            }

    def _fault_as_json(self, fault: Fault) -> dict[str, Any]:
        told = {
            "what": fault.what,
            "message": fault.message if self.dev else without_paths(fault.message),
            "count": fault.count,
            "last": round(fault.last, 3),
        }
        if fault.traceback:
            told["traceback"] = fault.traceback
        return told

    def _note(self, what: str, seconds: float) -> None:
        timing = self._timings.setdefault(what, Timing())
        timing.count += 1
        timing.slowest = max(timing.slowest, seconds)
        timing.recent.append(seconds)

    def _tell_of_lines(self) -> None:
        with self._lock:
            count, self._untold_lines = self._untold_lines, 0
        logger.warning(
            "plugin %r: %d more of its log lines within %g s were left out",
            self.name, count, LINES_SECONDS,
        )  # fmt: skip


CURRENT: ContextVar[Health | None] = ContextVar("tbcore_plugin", default=None)
"""The health of the plugin whose code runs here; None in the core."""


def warn_deprecated(name: str, instead: str) -> None:
    """Tells a plugin's author once that a name of the core will go.

    The core calls this where the old name is still served: `warn_deprecated("Item.old", "use
    Item.new")`. The line names the plugin, or the module that is not the core's where no plugin is
    known to run.
    """
    health = CURRENT.get()
    if health is None:
        logger.warning("module %s uses %s, which will go: %s", _caller(), name, instead)
    elif health.uses_deprecated(name, instead):
        logger.warning("plugin %r uses %s, which will go: %s", health.name, name, instead)


def _caller() -> str:
    frame = sys._getframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != "tbcore" or frame.f_back is None:
            return module
        frame = frame.f_back
    raise AssertionError


_QUOTED_PATH = re.compile(r"""(['"])(?:[A-Za-z]:)?[/\\][^'"\n]*[/\\]([^'"\n]*)\1""")
_PATH = re.compile(
    r"""(?<![\w/\\:.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'"():;,]+[/\\])+([^\s/\\'"():;,]*)"""
)


def without_paths(text: str) -> str:
    """The text with every absolute path in it cut down to its last part."""
    return _PATH.sub(r"\1", _QUOTED_PATH.sub(r"\1\2\1", text))
