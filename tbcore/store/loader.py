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
"""Maximum number of lines logged at once: there may be a thousand unreadable files."""

_SIZE_SCAN_SECONDS = 0.02
"""Maximum time for adding up file sizes, to decide whether to start a helper process. A logdir that
takes longer counts as large."""
_MAX_BATCH_BYTES = 1 << 24
"""Maximum size of a batch of several runs for the helper. The runs of a batch are published when
the helper has returned the batch."""
_MAX_ASSIGNED_RUN_BYTES = 1 << 26
"""Maximum size of a run that is assigned to the helper. The loader reads larger runs itself, so
that it can publish their data while it reads."""
_MAX_ASSIGNED_BATCHES = 2
"""Maximum number of batches assigned to the helper: the batch that it reads, and the next batch."""


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
        `wake` ends a pause early. `tuning` applies to decoding, too.
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
        """Maps names to the runs to publish."""
        self._removed: list[str] = []
        """Names of the runs that are gone since the last publication."""
        self._last_scan = Scan({}, 0, 0, [], [], [])
        self._scanned_at = -math.inf
        self._helper: HelperProcess | None = None
        self._assigned: deque[list[_Assignment]] = deque()
        """The batches of runs that are assigned to the helper, in the order of assignment."""
        self._problems: deque[str] = deque(maxlen=MAX_PROBLEMS)
        self._logged_scan_lines: set[str] = set()
        """The lines that describe what was wrong in the last scan, so that each is logged once."""
        self._logged_bugs: deque[str] = deque(maxlen=MAX_PROBLEMS)
        """The last lines that `_log_bug` logged, so that each is logged once."""
        self._passes = 0
        """Number of complete passes."""
        self._watch_requested = False
        """Whether `watch` was called, but the thread does not watch the directories yet."""
        self._publish_early = True
        """Whether to publish while there is more to read."""
        self._published = threading.Event()
        """Set after the first publication."""
        self._started = threading.Event()
        """Set after the first scan, when the helper has its first batches."""

    def start_helper(self) -> None:
        """Starts a helper process for the first pass, if there is enough to read.

        Must be called before any other thread is started: see `HelperProcess.__init__`.
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
            # A process must not be forked while another thread runs, so there is no helper. The
            # thread still uses the Logdir, so the loader needs a new one.
            self._logdir = Logdir(self._specs)
            return False
        return any(results)

    def load_once(self) -> None:
        """Makes one pass in the calling thread: scans, reads all new data, and publishes it."""
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
                    # Reading may take minutes, and new runs may be created during that time.
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
        """Starts a daemon thread that makes one pass after another.

        With `publish_early` false, the thread publishes only at the end of a pass, until `publish`
        is called: publishing takes time, and is of no use before there is a server.
        """
        self._publish_early = publish_early
        self._publish_status(loading=True)
        thread = threading.Thread(target=self._load, name="tbcore-loader", daemon=True)
        self._threads.append(thread)
        thread.start()

    def publish(self, timeout: float = 0.0) -> None:
        """Makes the thread publish during its passes, too, from now on: see `start`.

        Waits at most `timeout` seconds for the first publication.
        """
        self._publish_early = True
        self._published.wait(timeout)

    def watch(self) -> None:
        """Makes the thread scan as soon as the system reports a change, after its first pass.

        Watching imports a package in another thread. So call this only when no thread imports
        modules any more: two threads that import the same modules can block each other.
        """
        self._watch_requested = True
        self._wake.set()

    def wait_until_started(self, timeout: float) -> None:
        """Waits until the thread has scanned and begins to read, at most `timeout` seconds.

        A busy calling thread would delay the scan, which makes many short system calls and needs
        the interpreter lock after each of them.
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
        """Runs in the loader's thread: makes passes, with pauses between them, until `stop`."""
        while not self._stopping.is_set():
            pass_began_at = time.monotonic()
            if self._watch_requested and self._passes:
                self._start_watching()
            try:
                self.load_once()
            except Exception as error:
                # The thread must not end: the server would silently stop loading.
                self._log_bug("loading failed and will be retried", error)
            if self._reload_interval <= 0:
                return
            pass_seconds = time.monotonic() - pass_began_at
            min_pause = max(self._tuning.min_pause_seconds, pass_seconds * _PAUSE_FACTOR)
            min_pause = min(min_pause, self._reload_interval)
            if not self._stopping.wait(min_pause):
                self._wake.wait(self._reload_interval - min_pause)
            # Cleared before the next scan, which may miss a change made during the scan. Such a
            # change sets the event again, so that the next pause ends early.
            self._wake.clear()

    def _start_watching(self) -> None:
        """Starts to watch the directories for changes, if any of them exists.

        Not called before the first pass is complete, since starting takes as long as a scan, and
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
        # Runs in a directory that could not be listed may still exist, so they are kept.
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
        """Passes the files that a scan found to the run's reader, or to a new reader if needed."""
        if run.active_reader.is_up_to_date and files == run.files:
            return
        if run.set_files(files):
            self._changed[run.name] = run
        if not run.active_reader.update(files):
            self._reread_from_start(run)
        self._promote_successor(run)

    def _reread_from_start(self, run: _TrackedRun) -> None:
        """Gives the run a new reader, which reads all its files.

        The data of the old reader is served until the new one has caught up. If the run was never
        published, there is no such data, and the new reader replaces the old one at once.
        """
        reader = self._new_reader(run.files)
        if run.view is None:
            run.reader = reader
        else:
            run.successor = reader

    def _new_reader(self, files: Sequence[EventFile]) -> RunReader:
        """A reader for a run with these files, which has read nothing yet."""
        reader = RunReader(
            self._decoder,
            purge_orphaned_data=self._purge_orphaned_data,
            max_points=self._max_points,
        )
        reader.update(files)
        return reader

    def _remove(self, name: str) -> None:
        """Removes a run whose files are gone; requests see this after the next publication."""
        del self._runs[name]
        self._changed.pop(name, None)
        self._removed.append(name)

    # -- reading -------------------------------------------------------------------------------

    def _preload_small_files(self) -> None:
        """Reads small files of the next runs in the queue together."""
        try:
            preload_small_files(self._small_files, (run.active_reader for run in self._queue))
        except Exception as error:
            # No data is lost: a file that was not preloaded is read in a time slice of its run.
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
        """Replaces the reader of a run by its successor, if the successor has read all data."""
        if run.successor is not None and not run.successor.has_work:
            run.reader, run.successor = run.successor, None
            self._changed[run.name] = run

    # -- work for the helper process -----------------------------------------------------------

    def _queued_bytes(self) -> int:
        """Approximate number of unread bytes in the queue."""
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
        """Whether the run still exists with the assigned reader, so that a result can be used."""
        run = assignment.run
        return run.active_reader is assignment.reader and self._runs.get(run.name) is run

    def _assign_work(self) -> None:
        """Sends runs from the end of the queue to the helper, until the helper has enough batches.

        A batch has at most a quarter of the bytes in the queue, or a single run. So batches become
        smaller towards the end, and loader and helper finish at about the same time. The helper is
        stopped when it has no batch, and no run in the queue can be assigned.
        """
        if self._helper is None:
            return
        while len(self._assigned) < _MAX_ASSIGNED_BATCHES and len(self._queue) > 1:
            batch_budget = min(self._queued_bytes() // 4, _MAX_BATCH_BYTES)
            batch: list[_Assignment] = []
            for run in reversed(self._queue):
                size = run.active_reader.bytes_left
                if not run.active_reader.is_unread or size > _MAX_ASSIGNED_RUN_BYTES:
                    continue
                batch_budget -= size
                if batch_budget < 0 and batch:
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
        """Receives the batches that the helper has read, and uses their readers.

        If the queue is empty, waits up to one publication interval for each batch.
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
                        # The helper has read the files as of the assignment. A later scan found
                        # different ones.
                        self._update(run, run.files)
                    self._promote_successor(run)
                    self._changed[run.name] = run
                if run.active_reader.has_work:
                    self._queue.append(run)

    def _fall_back_to_local(self, error: HelperError) -> None:
        """Stops the helper after an error, so that the loader reads all remaining runs."""
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
        published = [run for run in self._changed.values() if run.view is not None]
        for run in new:
            try:
                run.find_first_event_time()
            except Exception as error:
                self._log_bug(f"run {run.name}", error)
        # Only the runs that are new in this commit are sorted: published runs never change places.
        new.sort(key=_TrackedRun.sort_key)
        for run in [*new, *published]:
            modified[run.name] = run.modified
            if run.successor is not None:
                # The old data stays as it was published: the last rows of the old reader may
                # already be from the new file.
                continue
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
        """Sets the multiplexer's status."""
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
        """Logs what was wrong in a scan, except lines that the previous scan had, too."""
        missing = [f"logdir {path} does not exist; waiting for it" for path in scan.missing]
        new = [line for line in scan.problems if line not in self._logged_scan_lines]
        self._problems.extend(new)
        self._log_lines([line for line in missing if line not in self._logged_scan_lines] + new)
        self._logged_scan_lines = {*missing, *scan.problems}

    def _log_bug(self, what: str, error: Exception) -> None:
        """Logs an exception that only a bug in tbcore can cause. Each line is logged once."""
        line = one_line(f"{what}: {type(error).__name__}: {error}")
        logger.debug("%s", line, exc_info=error)
        if line not in self._logged_bugs:
            self._logged_bugs.append(line)
            self._problems.append(line)
            self._log_lines([line])

    def _log_lines(self, lines: Sequence[str]) -> None:
        """Logs lines as warnings: at most _MAX_LINES_PER_REPORT, and how many more there are."""
        for line in lines[:_MAX_LINES_PER_REPORT]:
            logger.warning("%s", line)
        if len(lines) > _MAX_LINES_PER_REPORT:
            logger.warning("and %d more like these", len(lines) - _MAX_LINES_PER_REPORT)


class _Assignment(NamedTuple):
    """A run that is assigned to the helper process."""

    run: _TrackedRun
    reader: RunReader
    """The run's reader in this process, which reads the run if the helper fails to."""
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
        """The reader whose data is published."""
        self.successor: RunReader | None = None
        """A reader that reads the run again from its start, and replaces `reader` once it has
        caught up."""
        self.view: RunView | None = None
        """The view that was published last."""
        self.first_event_time = math.inf
        """Wall time of the run's first event when the run was first published, in seconds since the
        epoch; infinite if it had no event then."""

    @property
    def active_reader(self) -> RunReader:
        """The reader that reads in the run's time slices."""
        return self.successor or self.reader

    def replace_active_reader(self, reader: RunReader) -> None:
        """Replaces `active_reader` by a reader that has read more of the same files."""
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
        """Sets `first_event_time`, by which new runs are sorted.

        If nothing was read yet, this reads the first event of a file.
        """
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
        """Copies `first_event_time`, if known, to `reader`. A successor finds its own time."""
        if self.first_event_time != math.inf:
            self.reader.data.set_first_event_time(self.first_event_time)

    def sort_key(self) -> tuple[float, str]:
        """Sorts by first event, then by name. Runs without a first event, or with NaN, are last."""
        is_number = not math.isnan(self.first_event_time)
        return self.first_event_time if is_number else math.inf, self.name

    def is_below(self, directories: Iterable[str]) -> bool:
        """Whether the run is in one of these directories, or below one."""
        path = os.path.dirname(self.files[0].path)
        return any(path == d or path.startswith(f"{d}/") for d in directories)
