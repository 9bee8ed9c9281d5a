"""Restart: starts the server anew when the code of a plugin changed, for those who write one."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.5


class SourceWatcher:
    """Calls back once when a Python file that was imported from one of the folders changed."""

    def __init__(self, folders: Sequence[Path], changed: Callable[[], None]) -> None:
        self._folders = [f"{folder}{os.sep}" for folder in folders]
        self._changed = changed
        self._times: dict[str, int] = {}
        self._times = self._modification_times()
        self.saw_change = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="tbcore-watch-code", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL_SECONDS):
            times = self._modification_times()
            # A module may be imported late, at the first request: that is no change.
            edited = [p for p, mtime in times.items() if self._times.get(p, mtime) != mtime]
            self._times = times
            if edited and all(_compiles(path) for path in edited):
                self.saw_change = True
                self._changed()
                return

    def _modification_times(self) -> dict[str, int]:
        times = {}
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if path and path.startswith(tuple(self._folders)):
                try:
                    times[path] = os.stat(path).st_mtime_ns
                except OSError:
                    # Between two steps of an editor that writes a new file.
                    times[path] = self._times.get(path, 0)
        return times


def _compiles(path: str) -> bool:
    """Whether a file is worth a restart; half of one is not."""
    try:
        compile(Path(path).read_bytes(), path, "exec")
    except (OSError, SyntaxError, ValueError) as error:
        logger.warning("not restarted: %s", error)
        return False
    return True


def restart() -> None:
    """Replaces this process by a new one with the same command line; does not return."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
