"""PluginStats: one plugin's durations and faults, and the limit on its log lines.

While code of a plugin runs, the context variable `CURRENT_PLUGIN` holds the plugin's stats. The
context is copied to the threads of the plugin's pool and to its asyncio tasks, so that log lines
written there can be attributed to the plugin.
"""

from __future__ import annotations

import logging
import re
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

MAX_RECENT_DURATIONS = 100
"""Maximum number of durations that are kept for calls of the same code: the newest ones, from which
the median is computed."""
MAX_FAULTS = 100
"""Maximum number of different faults that are kept for one plugin. If there are more, the fault
that occurred longest ago is dropped."""
MAX_LINES_PER_WINDOW = 20
"""Maximum number of a plugin's log lines that are written within one time window. If there are
more, one line at the end of the window says how many were left out."""


@dataclass
class Timing:
    """Durations of all calls of the same code."""

    count: int = 0
    slowest: float = 0.0
    """Seconds of the slowest call."""
    total: float = 0.0
    """Seconds of all calls."""
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_RECENT_DURATIONS))
    """Seconds of the newest calls, oldest first."""


@dataclass
class Fault:
    """A failure of a plugin that occurred once or several times."""

    what: str
    """The code that failed, such as `route /tags`."""
    message: str
    """The message of the last occurrence, in one line; without `dev`, without whole paths."""
    count: int
    last: float
    """Wall time of the last occurrence, in seconds since the epoch."""
    traceback: str = ""


@dataclass
class Call:
    """One call of a plugin's code, running or finished."""

    what: str
    """The code that was called, such as `route /tags`."""
    started: float
    """Start of the call, in seconds of the monotonic clock."""
    seconds: float = 0.0
    """Duration of the call; 0 while it runs."""


class PluginStats:
    """Statistics of one plugin. All methods may be called in any thread."""

    def __init__(
        self,
        name: str,
        *,
        dev: bool = False,
        log_window_seconds: float = 10.0,
        traceback_of: Callable[[BaseException], str] | None = None,
    ) -> None:
        """With `dev`, log lines are not limited, and `as_json` includes whole paths, and tracebacks
        as formatted by `traceback_of`."""
        self.name = name
        self.dev = dev
        self._traceback_of = traceback_of if dev else None
        self.since = time.time_ns()
        """When this version of the plugin's code was loaded, in ns since the epoch. Another version
        may send other responses for the same data."""
        self.num_faults = 0
        """Number of failures since the plugin was loaded, also of faults that were dropped."""
        self.num_lines_left_out = 0
        """Number of log lines that were left out since the plugin was loaded."""
        self._lock = threading.Lock()
        self._timings: dict[str, Timing] = {}
        self._faults: dict[tuple[str, str], Fault] = {}
        self._running: dict[int, Call] = {}
        self._log_window_seconds = log_window_seconds
        self._num_lines = 0
        """Number of log lines in the current time window, including those left out."""

    @contextmanager
    def measure(self, what: str) -> Iterator[Call]:
        """Attributes the `with` block to the plugin, and records it as one call of `what`."""
        reset_token = CURRENT_PLUGIN.set(self)
        call = Call(what, time.monotonic())
        with self._lock:
            self._running[id(call)] = call
        try:
            yield call
        finally:
            CURRENT_PLUGIN.reset(reset_token)
            call.seconds = time.monotonic() - call.started
            with self._lock:
                del self._running[id(call)]
                timing = self._timings.setdefault(what, Timing())
                timing.count += 1
                timing.total += call.seconds
                timing.slowest = max(timing.slowest, call.seconds)
                timing.recent.append(call.seconds)

    def record_failure(self, what: str, message: str, error: BaseException | None = None) -> None:
        """Records a fault of the code `what`. `message` is one line.

        Two faults of the same code count as one if their exceptions have the same type, or, without
        exceptions, if their messages are equal. The latest message is kept.
        """
        key = (what, type(error).__name__ if error else message)
        text = self._traceback_of(error) if error and self._traceback_of else ""
        with self._lock:
            self.num_faults += 1
            fault = self._faults.pop(key, None) or Fault(what, message, 0, 0.0)
            fault.message = message if self.dev else without_paths(message)
            fault.traceback = text
            fault.count += 1
            fault.last = round(time.time(), 3)
            if len(self._faults) >= MAX_FAULTS:
                del self._faults[next(iter(self._faults))]
            self._faults[key] = fault

    def may_log(self) -> bool:
        """Counts one log line of the plugin; returns whether it may be written."""
        if self.dev:
            return True
        with self._lock:
            if not self._num_lines:
                timer = threading.Timer(self._log_window_seconds, self._end_log_window)
                timer.daemon = True
                timer.start()
            self._num_lines += 1
            is_left_out = self._num_lines > MAX_LINES_PER_WINDOW
            self.num_lines_left_out += is_left_out
            return not is_left_out

    def as_json(self) -> dict[str, Any]:
        """All statistics, for `data/plugins`.

        Durations are in seconds, and times in seconds since the epoch.
        """
        with self._lock:
            now = time.monotonic()
            return {
                "timings": [
                    {
                        "what": what,
                        "count": timing.count,
                        "median": round(float(np.median(timing.recent)), 6),
                        "slowest": round(timing.slowest, 6),
                        "total": round(timing.total, 6),
                    }
                    for what, timing in self._timings.items()
                ],
                "running": [
                    {"what": call.what, "seconds": round(now - call.started, 3)}
                    for call in self._running.values()
                ],
                "faults": [
                    # Only authors get tracebacks.
                    {key: value for key, value in vars(fault).items() if value != ""}
                    for fault in reversed(self._faults.values())
                ],
                "log_lines_left_out": self.num_lines_left_out,
            }

    def _end_log_window(self) -> None:
        """Ends the time window, and logs how many lines were left out in it, if any."""
        with self._lock:
            num_left_out, self._num_lines = self._num_lines - MAX_LINES_PER_WINDOW, 0
        if num_left_out > 0:
            logger.warning(
                "plugin %r: %d more of its log lines within %g s were left out",
                self.name, num_left_out, self._log_window_seconds,
            )  # fmt: skip


CURRENT_PLUGIN: ContextVar[PluginStats | None] = ContextVar("tbcore_plugin", default=None)
"""The stats of the plugin whose code is running in this context; None in the core's own code."""


# Absolute paths, on POSIX systems and Windows. The last group of each pattern is the last part of
# the path. Only a quoted path may contain spaces.
_QUOTED_PATH = re.compile(r"""(['"])(?:[A-Za-z]:)?[/\\][^'"\n]*[/\\]([^'"\n]*)\1""")
_PATH = re.compile(
    r"""(?<![\w/\\:.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'"():;,]+[/\\])+([^\s/\\'"():;,]*)"""
)


def without_paths(text: str) -> str:
    """The text with every absolute path in it shortened to its last part."""
    return _PATH.sub(r"\1", _QUOTED_PATH.sub(r"\1\2\1", text))
