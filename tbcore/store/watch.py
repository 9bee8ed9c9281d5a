"""Pauses: when the loader makes its next pass. Watching ends a pause when a file changes.

A reported change only makes the next scan start earlier. The loader also scans after each pause,
since some file systems report no changes, and watching does not follow links.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbcore.eventfiles.addresses import storage_of
from tbcore.text import one_line

if TYPE_CHECKING:
    from tbcore.eventfiles.logdir import Logdir
    from tbcore.store.board import Board
    from tbcore.store.stored_runs import RunIndex
    from tbcore.tuning import Tuning

_MOUNTS = "/proc/mounts"
_LOCAL_TYPES = frozenset(
    ("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs",
     "tmpfs", "vfat", "xfs", "zfs")
)  # fmt: skip
"""Types of file systems that only this machine writes to, so that it reports all changes."""

logger = logging.getLogger(__name__)

_QUIET_MS = 75
"""Time without a further change after which changes are reported."""
_MAX_DELAY_MS = 100
"""Maximum time until changes are reported, even if more changes follow."""
_PAUSE_FACTOR = 4
"""The pause after a pass is at least this many times as long as the pass. Otherwise frequent
changes in a large logdir would keep a processor busy."""
_MAX_WAIT_SECONDS = 0.3
"""Maximum pause while the files of a run cannot be read only because they are being written."""


class Pauses:
    """The pauses between the passes of a loader: how long they are, and what ends one early.

    They double while nothing is new and no data has been requested for a while: see `Tuning`. All
    methods but `watch_soon` are for the loader's thread.
    """

    def __init__(
        self,
        board: Board,
        logdir: Logdir,
        index: RunIndex | None,
        wake: threading.Event,
        interval: float,
        tuning: Tuning,
    ) -> None:
        self.interval = interval
        """The usual pause in seconds; 0 if there is only one pass."""
        self.stopping = threading.Event()
        """Set when there are to be no more passes; ends the watching, too."""
        self.watcher: threading.Thread | None = None
        """The thread that waits for changes of files; None before there is one."""
        self._board, self._logdir, self._index = board, logdir, index
        self._tuning = tuning
        self.wake = wake
        """Ends the pause when it is set; during a pass, the one after the pass."""
        self._last = interval
        """The pause after the last pass, in seconds."""
        self._seen: object = None
        """The generation and the size of the data after the last pass."""
        self._is_to_watch = False
        """Whether `watch_soon` was called, but the directories are not watched yet."""
        self._reports_all = False
        """Whether the system reports all changes to `watcher`."""

    def wait(self, pass_seconds: float, *, is_being_written: bool) -> None:
        """Waits until the next pass is due. `pass_seconds` is the duration of the last one.

        With `is_being_written`, files could not be read only because they are being written.
        """
        found = (self._board.state.generation, self._board.status.bytes_total)
        is_quiet, self._seen = self._seen == found, found
        shortest = max(self._tuning.min_pause_seconds, pass_seconds * _PAUSE_FACTOR)
        shortest = min(shortest, self.interval)
        if not self.stopping.wait(shortest):
            pause = self.next(is_quiet=is_quiet) - shortest
            self.wake.wait(min(pause, _MAX_WAIT_SECONDS) if is_being_written else pause)
        # Cleared before the next scan, which may miss a change made during the scan. Such a change
        # sets the event again, so that the next pause ends early.
        self.wake.clear()

    def next(self, *, is_quiet: bool) -> float:
        """Seconds until the next pass; `is_quiet` if the last one found nothing new."""
        # Set before checking for requests, so that any request from now on wakes this thread.
        self._board.is_idle = True
        if not is_quiet or self._board.idle_seconds < self._tuning.idle_seconds:
            self._board.is_idle = False
            self._last = self.interval
            return self.interval
        self._last = max(self.interval, min(2 * self._last, self.longest()))
        return max(self.interval, min([self._last, *(r.seconds_left for r in self._logdir.paced)]))

    def longest(self) -> float:
        """Seconds to which the pauses may grow."""
        has_free = len(self._logdir.paced) < len(self._logdir.specs)
        is_watched = self._reports_all and self.watcher is not None and self.watcher.is_alive()
        is_watched = is_watched and not self._logdir.has_links
        # Nothing reports changes of an index.
        is_index_free = self._index is not None and not storage_of(self._index.path).requests_cost
        is_short = (has_free and not is_watched) or is_index_free
        tuning = self._tuning
        return tuning.max_pause_seconds if is_short else tuning.max_watched_pause_seconds

    def watch_soon(self) -> None:
        """Makes `start_watching` start, at the end of the pause, which ends at once."""
        self._is_to_watch = True
        self.wake.set()

    def start_watching(self) -> None:
        """Starts to watch the directories for changes, if it is to and any of them exists.

        Not called before the first pass is complete, since starting takes as long as a scan, and
        requests are waiting for data. Called after each pass until there is a directory to watch.
        """
        paths = [spec.path for spec in self._logdir.specs]
        watcher = watch(paths, self.wake, self.stopping) if self._is_to_watch else None
        if watcher is not None:
            self._reports_all = all(
                storage_of(path).requests_cost or reports_all_changes(path) for path in paths
            )
            self.watcher = watcher
            self._is_to_watch = False
            # Changes made before the watcher is ready are not reported: scan once more for them.
            self.wake.set()


def watch(
    directories: Sequence[str], wake: threading.Event, stopping: threading.Event
) -> threading.Thread | None:
    """Sets `wake` whenever a file below the directories changes, until `stopping` is set.

    Returns the daemon thread that watches; None if none of the directories exists. If the system
    refuses to watch, the thread logs the reason and ends.
    """
    existing = [path for path in directories if os.path.isdir(path)]
    if not existing:
        return None

    def run() -> None:
        while not stopping.is_set():
            try:
                # Not imported at the top: this would delay the start of the server.
                import watchfiles

                for _ in watchfiles.watch(
                    *existing, watch_filter=None, stop_event=stopping, step=_QUIET_MS,
                    debounce=_MAX_DELAY_MS, raise_interrupt=False, ignore_permission_denied=True,
                ):  # fmt: skip
                    wake.set()
            except Exception as error:
                if "decode path" not in str(error):
                    # The most frequent cause is the system's limit on the number of directories
                    # that all programs together can watch.
                    logger.info("%s", one_line(f"files are not watched for changes: {error}"))
                    return
                # A name that is not UTF-8 has changed, which ends the generator. Until the
                # directories are watched again, changes are not reported.
                stopping.wait(1)
                wake.set()

    thread = threading.Thread(target=run, name="tbcore-watch", daemon=True)
    thread.start()
    return thread


def reports_all_changes(directory: str) -> bool:
    """Whether a directory exists, and everything below it is on file systems of this machine.

    Read from `/proc/mounts`; False on systems without it.
    """
    path = os.path.join(os.path.realpath(directory), "")
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.split(" ")[1:3] for line in file]
    except OSError:
        return False
    # Blanks are escaped. If there are several mounts at one place, the last one counts.
    unescaped = ((re.sub(r"\\(\d{3})", _character, place), kind) for place, kind in mounts)
    types = {os.path.join(place, ""): kind for place, kind in unescaped}
    above = max((place for place in types if path.startswith(place)), key=len, default=None)
    below = [kind for place, kind in types.items() if place.startswith(path)]
    return os.path.isdir(path) and {types.get(above or "", ""), *below} <= _LOCAL_TYPES


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 8))
