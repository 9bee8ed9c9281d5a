"""Restart: starts the server anew when the code of a plugin changed, for those who write one."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.5
SKIPPED_FOLDERS = {"__pycache__", "node_modules"}
"""Large, and not the code of a plugin."""


class SourceWatcher:
    """Waits for a change of Python files in some places, counted from when it is made.

    A place is a folder or a file. Files need not have been imported: the one that is written next
    may be what an import that failed has been missing.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places
        self._times = self._modification_times()
        self.saw_change = False

    def start(self, changed: Callable[[], None]) -> None:
        """Calls back after the first change, from a thread."""

        def run() -> None:
            self.wait()
            changed()

        threading.Thread(target=run, name="tbcore-watch-code", daemon=True).start()

    def wait(self) -> None:
        """Returns after the first change to files that can be compiled."""
        pause = threading.Event()
        while not self.saw_change:
            pause.wait(INTERVAL_SECONDS)
            times = self._modification_times()
            edited = [p for p, mtime in times.items() if self._times.get(p) != mtime]
            self._times = times
            self.saw_change = bool(edited) and all(_compiles(path) for path in edited)

    def _modification_times(self) -> dict[str, int]:
        times = {}
        for path in self._files():
            try:
                times[path] = os.stat(path).st_mtime_ns
            except OSError:
                # Between two steps of an editor that writes a new file.
                continue
        return times

    def _files(self) -> Iterator[str]:
        for place in self._places:
            if not place.is_dir():
                yield str(place)
            for folder, folders, names in os.walk(place):
                folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and f[0] != "."]
                yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def _compiles(path: str) -> bool:
    """Whether a file is worth a restart; half of one is not."""
    try:
        compile(Path(path).read_bytes(), path, "exec")
    except (OSError, SyntaxError, ValueError) as error:
        logger.warning("not restarted: %s", error)
        return False
    return True


def restart() -> NoReturn:
    """Replaces this process by a new one with the same command line; does not return."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
