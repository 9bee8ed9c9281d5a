"""Mirror: the traces below a log directory, in folders where a plugin may write its caches.

Runs in the hosted process, whose limits apply to links in the log directory, too. Folders are real
ones. Traces are links to files that may not be written to; all other files are copies, since a
plugin may replace them.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tbcore_tensorboard.link import Link

logger = logging.getLogger("tbcore.tensorboard")

TRACES = "plugins/profile"
LINKED = (".xplane.pb", ".trace.json.gz", ".trace.json")
NUM_WHOLE_LEVELS = 2
"""The levels below the log directory whose folders are all searched, however many."""
MAX_FOLDERS = 2000
"""Maximum number of folders that are searched, if the first levels do not have more."""
MAX_FILES = 20_000
MAX_COPIED_BYTES = 64 << 20
REFRESH_SECONDS = 10


class Mirror:
    """The folder `folder`, which has the traces of `logdir` after each `refresh`."""

    def __init__(self, logdir: str, folder: str, link: Link) -> None:
        self.folder = folder
        self._logdir = logdir
        self._link = link
        self._lock = threading.Lock()
        self._refreshed_at = -float("inf")
        os.makedirs(folder, exist_ok=True)

    def refreshing(self, app: Callable[..., Any]) -> Callable[..., Any]:
        """The application, which looks for new traces before a request, but not before each one."""

        def refreshed(environ: Any, start_response: Any) -> Any:
            with self._lock:
                if time.monotonic() - self._refreshed_at > REFRESH_SECONDS:
                    if left_out := self.refresh():
                        logger.error("the mirror has not all files: %s", left_out)
                    self._refreshed_at = time.monotonic()
            return app(environ, start_response)

        return refreshed

    def refresh(self) -> str:
        """Adds new files, and removes those that are gone. Returns what is left out, or ""."""
        for path in _files(self.folder):
            if os.path.islink(path) and not os.path.exists(path):
                os.unlink(path)
        num_files = num_bytes = 0
        for source in _files(*self._sources()):
            copy = os.path.join(self.folder, os.path.relpath(source, self._logdir))
            num_files += 1
            if num_files > MAX_FILES:
                return f"more than {MAX_FILES} files"
            if os.path.lexists(copy):
                continue
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            if source.endswith(LINKED):
                os.symlink(source, copy)
                continue
            with contextlib.suppress(OSError):  # It is gone, or a link to what may not be read.
                num_bytes += os.path.getsize(source)
                if num_bytes > MAX_COPIED_BYTES:
                    return f"files of more than {MAX_COPIED_BYTES >> 20} MB"
                shutil.copyfile(source, copy)
        return ""

    def _sources(self) -> Iterable[str]:
        """The folders with traces: those of runs, and those that a search finds."""
        runs = (os.path.join(self._logdir, run) for run, _ in self._link("runs"))
        folders = (os.path.join(folder, TRACES) for folder in (*folders_of(self._logdir), *runs))
        return sorted({os.path.normpath(path) for path in folders if os.path.isdir(path)})


def folders_of(logdir: str) -> Iterator[str]:
    """A log directory and the folders below it, level by level; of deep levels not all.

    Programs that write traces alone make no run, so the server does not know their folders.
    """
    level, num_folders, top = [logdir], 0, os.path.join(os.path.realpath(logdir), "")
    for depth in itertools.count():
        below: list[str] = []
        for folder in level:
            if depth > NUM_WHOLE_LEVELS and num_folders >= MAX_FOLDERS:
                return
            num_folders += 1
            yield folder
            below += _folders_in(folder, top)
        if not below:
            return
        level = sorted(below)


def _folders_in(folder: str, top: str) -> Iterator[str]:
    """The folders in a folder, but for those of plugins beside a run.

    No link is followed that leads to a folder below or above the real path `top`: such links, in
    each of many runs, would multiply the folders.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # A link may lead to itself.
                if entry.is_symlink():
                    target = os.path.join(os.path.realpath(entry.path), "")
                    if target.startswith(top) or top.startswith(target):
                        continue
                is_plugins = entry.name == "plugins" and os.path.isdir(f"{folder}/{TRACES}")
                if entry.is_dir() and not is_plugins:
                    yield entry.path


def _files(*folders: str) -> Iterator[str]:
    for top in folders:
        for folder, _, names in os.walk(top):
            yield from (os.path.join(folder, name) for name in names)
