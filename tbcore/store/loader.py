"""Loader: finds runs, reads what is new in their files, and publishes it.

    a pass:  scan -> time slices -> publish      then a pause, and the next pass
                       ^   |
                       +---+  publishes on the way, so that data is served while it is loaded

A time slice reads about 16 MB of one run. Runs with unread data take turns in a queue, the most
recently written ones first. When there is much to read, a helper process reads runs from the end
of the queue at the same time.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import EventFile, Logdir, LogdirSpec, Scan, one_line
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.tail import FileReplacedError, read_first_event_time
from tbcore.store.helper_process import HelperError, HelperProcess
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run_reader import MAX_PROBLEMS, RunReader, preload_small_files
from tbcore.store.status import LoadStatus
from tbcore.store.view import RunView
from tbcore.store.watch import watch
from tbcore.tuning import Tuning, default_tuning

__all__ = ["LoadStatus", "Loader"]

logger = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 0.5
"""How long `stop` waits for the threads, which are daemons and may be left running."""

_PAUSE_FACTOR = 4
"""The pause after a pass is at least this many times as long as the pass. Otherwise frequent
changes in a large logdir would keep a processor busy."""
_MAX_LINES_PER_REPORT = 20
"""Number of lines logged at once: there may be a thousand unreadable files."""

_SIZE_SCAN_SECONDS = 0.02
"""Time limit for adding up file sizes, before a helper process is started. A logdir that takes
longer counts as large."""
_MAX_BATCH_BYTES = 1 << 24
"""Size of one batch of runs for the helper. Its runs are published when the whole batch is back."""
_MAX_ASSIGNED_RUN_BYTES = 1 << 26
"""Size of the longest run that is assigned to the helper. The loader reads longer ones, and
publishes them while it does."""
_MAX_ASSIGNED_BATCHES = 2
"""Number of batches that the helper has at a time: the one it reads, and the next one."""


class Loader:
    """Keeps a multiplexer up to date with the event files below some directories.

    Call either `load_once` or `start`, never both at the same time.
    """

    def __init__(
        self,
        multiplexer: Multiplexer,
        specs: Sequence[LogdirSpec],
        *,
        reload_interval: float = 5.0,
        purge_orphaned_data: bool = True,
        max_points: int = 0,
        wake: threading.Event | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        """`reload_interval` is the pause between passes in seconds; with 0 there is one pass only.

        `max_points` limits the rows of each scalar series in memory; 0 keeps all rows. Setting
        `wake` ends a pause early. `tuning` is also that of decoding.
        """
        self._multiplexer = multiplexer
        self._specs = list(specs)
        self._logdir = Logdir(specs)
        self._reload_interval = reload_interval
        self._purge_orphaned_data = purge_orphaned_data
        self._max_points = max_points
        self._wake = wake or threading.Event()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._tuning = tuning or default_tuning()
        self._decoder = Decoder(tuning=self._tuning)
        self._small_files = SmallFileReader(tuning=self._tuning)
        self._runs: dict[str, _TrackedRun] = {}
        self._queue: deque[_TrackedRun] = deque()
        """Runs with unread data, in the order of their time slices."""
        self._changed: dict[str, _TrackedRun] = {}
        """Runs to publish, by name."""
        self._removed: list[str] = []
        """Names of the runs that are gone since the last publication."""
        self._last_scan = Scan({}, 0, 0, [], [], [])
        self._scanned_at = -math.inf
        self._helper: HelperProcess | None = None
        self._assigned: deque[list[_Assignment]] = deque()
        """The batches of runs that the helper is reading, in the order in which they were sent."""
        self._problems: deque[str] = deque(maxlen=MAX_PROBLEMS)
        self._logged_scan_lines: set[str] = set()
        """What was wrong in the last scan, so that it is logged once."""
        self._logged_bugs: deque[str] = deque(maxlen=MAX_PROBLEMS)
        self._passes = 0
        """Complete passes."""
        self._watch_requested = False
        """Whether the thread must start to watch the files after its next pass."""
        self._publish_early = True
        """Whether to publish while there is more to read."""
        self._published = threading.Event()
        """Set after the first publication."""
        self._started = threading.Event()
        """Set after the first scan, when the helper has its first batches."""

    def start_helper(self) -> None:
        """Starts a helper process for the first pass, if there is enough to read.

        Must be called before any other thread is started: see HelperProcess.
        """
        if not HelperProcess.is_supported() or not self._has_enough_for_helper():
            return
        try:
            self._helper = HelperProcess(
                self._decoder,
                purge_orphaned_data=self._purge_orphaned_data,
                max_points=self._max_points,
            )
        except OSError as error:
            logger.debug("no helper process, reading without one: %s", error)

    def _has_enough_for_helper(self) -> bool:
        """Whether there is enough to read for a helper; False if the storage does not respond."""
        min_bytes = self._tuning.min_bytes_for_helper
        results: list[bool] = []
        size_scan = threading.Thread(
            target=lambda: results.append(self._logdir.size_exceeds(min_bytes, _SIZE_SCAN_SECONDS)),
            name="tbcore-size-scan",
            daemon=True,
        )
        size_scan.start()
        size_scan.join(self._tuning.scan_timeout_seconds)
        if size_scan.is_alive():
            # A process must not be forked while another thread runs. That thread still uses its
            # Logdir, so the loader takes a new one.
            self._logdir = Logdir(self._specs)
            return False
        return any(results)

    def load_once(self) -> None:
        """Makes one pass in the calling thread: scans, reads all that is new, publishes it."""
        try:
            self._scan_logdir()
            published_at = time.monotonic()
            self._assign_work()
            self._started.set()
            while (self._queue or self._assigned) and not self._stopping.is_set():
                self._collect_results()
                if self._queue:
                    self._preload_small_files()
                    self._read_slice(self._queue.popleft())
                seconds = time.monotonic() - published_at
                if self._publish_early and seconds >= self._tuning.publish_interval_seconds:
                    # Reading may take minutes, during which other runs begin.
                    if 0 < self._reload_interval <= time.monotonic() - self._scanned_at:
                        self._scan_logdir()
                    self._publish_changes()
                    published_at = time.monotonic()
                self._assign_work()
        finally:
            self._stop_helper()
            self._decoder.release_buffers()
            self._small_files.release_buffers()
        if not self._stopping.is_set():
            self._passes += 1
        self._publish_changes()

    def start(self, *, publish_early: bool = True) -> None:
        """Starts a daemon thread that makes one pass after the other.

        With `publish_early` false, nothing of the first pass is published before it is complete or
        `publish` is called: publishing takes time, and before there is a server it is of no use.
        """
        self._publish_early = publish_early
        self._publish_status(loading=True)
        thread = threading.Thread(target=self._load, name="tbcore-loader", daemon=True)
        self._threads.append(thread)
        thread.start()

    def publish(self, timeout: float = 0.0) -> None:
        """Makes the thread publish while it reads from now on: see `start`.

        Waits at most `timeout` seconds until what has been found and read so far is published.
        """
        self._publish_early = True
        self._published.wait(timeout)

    def watch(self) -> None:
        """Makes the thread scan as soon as the system reports a change, after its first pass.

        That imports a package in another thread. So call this when no thread imports modules any
        more: two threads that import the same modules can block each other.
        """
        self._watch_requested = True
        self._wake.set()

    def wait_until_started(self, timeout: float) -> None:
        """Waits until the thread has scanned and begins to read, at most `timeout` seconds.

        A scan is many short system calls, and a busy thread would delay it after each of them.
        """
        self._started.wait(timeout)

    def stop(self) -> None:
        """Ends the thread after its current time slice; waits for it at most half a second."""
        self._stopping.set()
        self._wake.set()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))

    def _load(self) -> None:
        """The thread: passes with pauses between them, until `stop` is called."""
        while not self._stopping.is_set():
            pass_began_at = time.monotonic()
            if self._watch_requested and self._passes:
                self._start_watching()
            try:
                self.load_once()
            except Exception as error:
                # A server that silently stops loading would be worse than any bug.
                self._log_bug("loading failed and will be retried", error)
            if self._reload_interval <= 0:
                return
            pass_seconds = time.monotonic() - pass_began_at
            min_pause = max(self._tuning.min_pause_seconds, pass_seconds * _PAUSE_FACTOR)
            min_pause = min(min_pause, self._reload_interval)
            if not self._stopping.wait(min_pause):
                self._wake.wait(self._reload_interval - min_pause)
            # The next scan may miss a change that is made while it runs. The wake-up for such a
            # change stays set, and ends the next pause.
            self._wake.clear()

    def _start_watching(self) -> None:
        """Starts to watch the directories for changes, if any of them exists.

        Called after the first pass: to start takes as long as a scan, and during the first pass
        requests are waiting for data. Called after each pass until there is a directory to watch.
        """
        watcher = watch([spec.path for spec in self._specs], self._wake, self._stopping)
        if watcher is not None:
            self._watch_requested = False
            self._threads.append(watcher)
            # Changes made before the watcher is ready are not reported: scan once more for them.
            self._wake.set()

    # -- scanning ------------------------------------------------------------------------------

    def _scan_logdir(self) -> None:
        """Scans the directories, and puts the runs with unread data into the queue."""
        scan = self._logdir.scan()
        self._last_scan, self._scanned_at = scan, time.monotonic()
        self._log_scan_problems(scan)
        for name in [name for name in self._runs if name not in scan.runs]:
            if not self._runs[name].is_below(scan.unlisted):
                self._remove(name)
        for name, files in scan.runs.items():
            run = self._runs.get(name)
            try:
                if run is None:
                    run = _TrackedRun(name, files, self._new_reader(files))
                    self._runs[name] = self._changed[name] = run
                else:
                    self._update(run, files)
            except Exception as error:
                self._log_bug(f"run {name}", error)
        assigned = {
            assignment.run
            for batch in self._assigned
            for assignment in batch
            if self._is_current(assignment)
        }
        waiting = [
            run for run in self._runs.values() if run.active_reader.has_work and run not in assigned
        ]
        waiting.sort(key=lambda run: run.active_reader.newest_ns, reverse=True)
        self._queue = deque(waiting)

    def _update(self, run: _TrackedRun, files: Sequence[EventFile]) -> None:
        """Passes the files that a scan found to the run's reader, which may need a successor."""
        if run.active_reader.is_up_to_date and files == run.files:
            return
        if run.set_files(files):
            self._changed[run.name] = run
        if not run.active_reader.update(files):
            self._reread_from_start(run)
        self._promote_successor(run)

    def _reread_from_start(self, run: _TrackedRun) -> None:
        """Gives the run a new reader. Its old data is served until that one has caught up.

        A run that was never published has no old data to serve.
        """
        reader = self._new_reader(run.files)
        if run.view is None:
            run.reader = reader
        else:
            run.successor = reader

    def _new_reader(self, files: Sequence[EventFile]) -> RunReader:
        reader = RunReader(
            self._decoder,
            purge_orphaned_data=self._purge_orphaned_data,
            max_points=self._max_points,
        )
        reader.update(files)
        return reader

    def _remove(self, name: str) -> None:
        del self._runs[name]
        self._changed.pop(name, None)
        self._removed.append(name)

    # -- reading -------------------------------------------------------------------------------

    def _preload_small_files(self) -> None:
        """Reads the small files of the next runs in the queue together, in one batch."""
        try:
            preload_small_files(self._small_files, (run.active_reader for run in self._queue))
        except Exception as error:
            # The bug concerns many runs, but loses none: a file that was not preloaded is read in
            # a time slice of its run.
            self._log_bug("preloading small files", error)

    def _read_slice(self, run: _TrackedRun) -> None:
        """Reads one time slice of a run, and puts the run back into the queue if there is more."""
        try:
            run.active_reader.read_slice(self._tuning.time_slice_bytes)
        except FileReplacedError:
            self._reread_from_start(run)
        except Exception as error:
            # The published data of the run stays; the next pass tries again.
            self._log_bug(f"run {run.name}", error)
            return
        read_errors = run.active_reader.pop_read_errors()
        self._problems.extend([*run.active_reader.pop_problems(), *read_errors])
        self._log_lines(read_errors)
        self._promote_successor(run)
        if run.successor is None:
            self._changed[run.name] = run
        if run.active_reader.has_work:
            self._queue.append(run)

    def _promote_successor(self, run: _TrackedRun) -> None:
        """Replaces the reader of a run by its successor, once that one has read everything."""
        if run.successor is not None and not run.successor.has_work:
            run.reader, run.successor = run.successor, None
            self._changed[run.name] = run

    # -- work for the helper process -----------------------------------------------------------

    def _queued_bytes(self) -> int:
        return sum(run.active_reader.bytes_left for run in self._queue)

    def _stop_helper(self) -> None:
        """Ends the helper. Runs that it has not returned go back into the queue."""
        if self._helper is not None:
            self._helper.close()
            self._helper = None
        for batch in self._assigned:
            self._queue.extend(
                assignment.run for assignment in batch if self._is_current(assignment)
            )
        self._assigned.clear()

    def _is_current(self, assignment: _Assignment) -> bool:
        """Whether the result is still of use: the run may be gone, or have a new reader."""
        run = assignment.run
        return run.active_reader is assignment.reader and self._runs.get(run.name) is run

    def _assign_work(self) -> None:
        """Sends runs from the end of the queue to the helper, until it has enough batches.

        A batch is at most a quarter of the bytes in the queue: batches become smaller towards the
        end, so that loader and helper finish at about the same time. The helper is stopped when no
        run is left that can be assigned.
        """
        if self._helper is None:
            return
        while len(self._assigned) < _MAX_ASSIGNED_BATCHES and len(self._queue) > 1:
            bytes_left = min(self._queued_bytes() // 4, _MAX_BATCH_BYTES)
            batch: list[_Assignment] = []
            for run in reversed(self._queue):
                size = run.active_reader.bytes_left
                if not run.active_reader.not_started or size > _MAX_ASSIGNED_RUN_BYTES:
                    continue
                bytes_left -= size
                if bytes_left < 0 and batch:
                    break
                batch.append(_Assignment(run, run.active_reader, run.files))
            if not batch:
                break
            assigned = {assignment.run for assignment in batch}
            self._queue = deque(run for run in self._queue if run not in assigned)
            self._assigned.append(batch)
            try:
                self._helper.assign([assignment.files for assignment in batch])
            except HelperError as error:
                self._fall_back_to_local(error)
                return
        if not self._assigned:
            self._stop_helper()

    def _collect_results(self) -> None:
        """Takes over the runs that the helper has read.

        If the queue is empty, waits for them up to one publication interval.
        """
        while self._assigned and self._helper is not None:
            timeout = 0 if self._queue else self._tuning.publish_interval_seconds
            if not self._helper.has_result(timeout):
                return
            try:
                readers = self._helper.receive_result()
            except HelperError as error:
                self._fall_back_to_local(error)
                return
            for assignment, reader in zip(self._assigned.popleft(), readers, strict=True):
                run = assignment.run
                if not self._is_current(assignment):
                    continue
                if reader is not None:
                    run.replace_active_reader(reader)
                    run.copy_first_event_time()
                    if run.files is not assignment.files:
                        self._update(run, run.files)
                    self._promote_successor(run)
                    self._changed[run.name] = run
                if run.active_reader.has_work:
                    self._queue.append(run)

    def _fall_back_to_local(self, error: HelperError) -> None:
        """Ends the helper, so that the loader reads all remaining runs."""
        logger.debug("the helper process failed; the loader reads the remaining runs: %s", error)
        self._stop_helper()

    # -- publishing ----------------------------------------------------------------------------

    def _publish_changes(self) -> None:
        """Commits the changed and removed runs, and the status, to the multiplexer.

        New runs are listed in the order of their first events. Runs that no time slice has reached
        yet are listed as well, without data.
        """
        changed: dict[str, RunView] = {}
        modified: dict[str, float] = {}
        new = [run for run in self._changed.values() if run.view is None]
        known = [run for run in self._changed.values() if run.view is not None]
        for run in new:
            try:
                run.find_first_event_time()
            except Exception as error:
                self._log_bug(f"run {run.name}", error)
        # Published runs never change places, so this order is among the runs of one commit only.
        new.sort(key=_TrackedRun.sort_key)
        for run in [*new, *known]:
            modified[run.name] = run.modified
            if run.successor is not None:
                continue  # The last rows of the old reader may already be from the new file.
            try:
                view = run.reader.data.commit()
            except Exception as error:
                self._log_bug(f"run {run.name}", error)
                continue
            if view is not run.view:
                run.view = changed[run.name] = view
        removed, self._removed = self._removed, []
        self._changed = {}
        self._multiplexer.commit(changed, removed, modified)
        self._publish_status(loading=bool(self._queue or self._assigned))
        self._published.set()

    def _publish_status(self, *, loading: bool) -> None:
        readers = [run.active_reader for run in self._runs.values()]
        bytes_read = sum(reader.bytes_read for reader in readers)
        bytes_total = sum(reader.bytes_total for reader in readers)
        self._multiplexer.set_status(
            LoadStatus(
                loading=loading,
                passes=self._passes,
                num_runs=len(self._runs),
                num_files=self._last_scan.num_files,
                num_directories=self._last_scan.num_directories,
                bytes_read=bytes_read,
                # Files may have grown since the scan.
                bytes_total=max(bytes_total, bytes_read),
                logdirs=tuple(os.path.abspath(spec.path) for spec in self._specs),
                missing=tuple(self._last_scan.missing),
                problems=tuple(self._problems),
            )
        )

    # -- logging -------------------------------------------------------------------------------

    def _log_scan_problems(self, scan: Scan) -> None:
        """Logs what a scan found wrong, except for lines that the scan before it had, too."""
        missing = [f"logdir {path} does not exist; waiting for it" for path in scan.missing]
        new = [line for line in scan.problems if line not in self._logged_scan_lines]
        self._problems.extend(new)
        self._log_lines([line for line in missing if line not in self._logged_scan_lines] + new)
        self._logged_scan_lines = {*missing, *scan.problems}

    def _log_bug(self, what: str, error: Exception) -> None:
        """Logs an exception that only a bug of tbcore can cause. Each line is logged once."""
        line = one_line(f"{what}: {type(error).__name__}: {error}")
        logger.debug("%s", line, exc_info=error)
        if line not in self._logged_bugs:
            self._logged_bugs.append(line)
            self._problems.append(line)
            self._log_lines([line])

    def _log_lines(self, lines: Sequence[str]) -> None:
        for line in lines[:_MAX_LINES_PER_REPORT]:
            logger.warning("%s", line)
        if len(lines) > _MAX_LINES_PER_REPORT:
            logger.warning("and %d more like these", len(lines) - _MAX_LINES_PER_REPORT)


class _Assignment(NamedTuple):
    """A run that the helper process reads."""

    run: _TrackedRun
    reader: RunReader
    """The run's reader in this process. It reads the run if the helper does not."""
    files: Sequence[EventFile]
    """The files of the run at the time of the assignment."""


class _TrackedRun:
    """A run that the loader keeps up to date."""

    __slots__ = ("files", "first_event_time", "modified", "name", "reader", "successor", "view")

    def __init__(self, name: str, files: Sequence[EventFile], reader: RunReader) -> None:
        self.name = name
        self.modified = -math.inf
        """When the newest file was written to, in seconds since the epoch."""
        self.set_files(files)
        self.reader = reader
        """Has the data that is published."""
        self.successor: RunReader | None = None
        """Reads the run again from its start, and replaces `reader` once it has caught up."""
        self.view: RunView | None = None
        """The view that was published last."""
        self.first_event_time = math.inf
        """When the run began, as of its first publication, in seconds since the epoch; infinite if
        it had no event then."""

    @property
    def active_reader(self) -> RunReader:
        """The reader that reads in the run's time slices."""
        return self.successor or self.reader

    def replace_active_reader(self, reader: RunReader) -> None:
        """Puts another reader in the place of `active_reader`."""
        if self.successor is None:
            self.reader = reader
        else:
            self.successor = reader

    def set_files(self, files: Sequence[EventFile]) -> bool:
        """Sets the files that the last scan found; returns whether `modified` changed."""
        self.files = files
        """The files as of the last scan."""
        before = self.modified
        self.modified = max(file.mtime_ns for file in files) / 1e9
        return self.modified != before

    def find_first_event_time(self) -> None:
        """Sets `first_event_time`, by which new runs are sorted, even if nothing was read yet."""
        if (known := self.reader.data.first_event_time) is not None:
            self.first_event_time = known
            return
        for file in self.files:
            try:
                wall_time = read_first_event_time(file.path, tuning=self.reader.tuning)
            except OSError:
                continue  # Logged when a time slice of the run reaches the file.
            if wall_time is not None:
                self.first_event_time = wall_time
                self.copy_first_event_time()
                return

    def copy_first_event_time(self) -> None:
        """Sets the known `first_event_time` in `reader`. A successor finds its own."""
        if self.first_event_time != math.inf:
            self.reader.data.set_first_event_time(self.first_event_time)

    def sort_key(self) -> tuple[float, str]:
        """Sorts by first event, then by name. Runs without an event, or with a NaN, come last."""
        is_number = not math.isnan(self.first_event_time)
        return self.first_event_time if is_number else math.inf, self.name

    def is_below(self, directories: Iterable[str]) -> bool:
        """Whether the run is in one of these directories, or below one."""
        path = os.path.dirname(self.files[0].path)
        return any(path == d or path.startswith(f"{d}/") for d in directories)
