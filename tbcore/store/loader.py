"""Loader: looks for runs, reads what is new in them, and publish_early it.

    a pass:  look -> turns -> commit       then a pause, and again
                     ^   |
                     +---+  commits on the way, so that data is served while it is loaded

A turn is about 16 MB of one run. Turns go round among the runs that have something to read, the
most recently written ones first. When there is much to read, an assistant reads runs from the end
of the queue meanwhile.
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
from tbcore.eventfiles.read_ahead import Pile
from tbcore.eventfiles.tail import TURN_BYTES, FileReplacedError, read_first_event_time
from tbcore.store.helper_process import HelperError, HelperProcess
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run_reader import MAX_PROBLEMS, RunReader, preload_small_files
from tbcore.store.status import LoadStatus
from tbcore.store.view import RunView
from tbcore.store.watch import watch

__all__ = ["LoadStatus", "Loader"]

logger = logging.getLogger(__name__)

COMMIT_SECONDS = 0.1
"""Between commits while there is more to read."""
STOP_TIMEOUT_SECONDS = 0.5
"""How long `stop` waits for the thread, which is a daemon and may be left behind."""

_MIN_PAUSE_SECONDS = 0.1
_PAUSE_FACTOR = 4
"""Between passes however often files change: looking at thousands of files takes a while, and the
pause is so many times as long."""
_MAX_LINES_AT_ONCE = 20
"""At once: there may be a thousand files that nobody may read."""

_WORTH_BYTES = 1 << 24
"""Less is read before an assistant could help, counted like turns."""
_SIZE_SCAN_SECONDS = 0.02
"""In which so much is found, or there is more than a glance can tell."""
_PATIENCE_SECONDS = 1.0
"""With storage that does not even answer a glance: the server has an address to tell."""
_MAX_BATCH_BYTES = 1 << 24
"""Lent at once. What is assigned is shown when it comes back."""
_MAX_ASSIGNED_RUN_BYTES = 1 << 26
"""Longer runs are not assigned: they are shown while they are read."""
_MAX_ASSIGNED_BATCHES = 2
"""Lent out: the one that is being read, and the one after it."""


class Loader:
    """Keeps a multiplexer up to date with the event files below some directories.

    Either call `load_once`, or `start`; never both at a time.
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
    ) -> None:
        """`reload_interval` is the pause between passes in seconds; 0 loads once.

        `max_points` bounds each scalar series in memory, 0 keeps all rows. Setting `wake` ends a
        pause early.
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
        self._decoder = Decoder()
        self._pile = Pile()
        self._runs: dict[str, _TrackedRun] = {}
        self._queue: deque[_TrackedRun] = deque()
        """Runs with something to read, in the order of their turns."""
        self._changed: dict[str, _TrackedRun] = {}
        """Runs to commit."""
        self._removed: list[str] = []
        self._last_scan = Scan({}, 0, 0, [], [], [])
        self._scanned_at = -math.inf
        self._helper: HelperProcess | None = None
        self._assigned: deque[list[_Assignment]] = deque()
        """What the assistant has been asked for, in batches."""
        self._problems: deque[str] = deque(maxlen=MAX_PROBLEMS)
        self._logged_scan_lines: set[str] = set()
        """What was wrong at the last look, so that it is reported once."""
        self._logged_faults: deque[str] = deque(maxlen=MAX_PROBLEMS)
        self._passes = 0
        self._watch_requested = False
        """Whether it is to begin to watch."""
        self._publish_early = True
        """Whether to commit while there is more to read."""
        self._published = threading.Event()
        """Set after the first commit."""
        self._started = threading.Event()
        """Set when the first look is over, and the assistant has its first orders."""

    def start_helper(self) -> None:
        """Has an assistant for the first pass, if there is enough to read.

        To be called before there is any other thread: see HelperProcess.
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
            logger.debug("reading without an assistant: %s", error)

    def _has_enough_for_helper(self) -> bool:
        """Whether there is enough to read for an assistant; False where nobody can tell soon."""
        answers: list[bool] = []
        glance = threading.Thread(
            target=lambda: answers.append(self._logdir.glance(_WORTH_BYTES, _SIZE_SCAN_SECONDS)),
            name="tbcore-glance",
            daemon=True,
        )
        glance.start()
        glance.join(_PATIENCE_SECONDS)
        if glance.is_alive():
            # A process with another thread is not to be forked, nor is its look to be gone on with.
            self._logdir = Logdir(self._specs)
            return False
        return any(answers)

    def load_once(self) -> None:
        """One pass in the calling thread: scan, read all that is new, commit."""
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
                if self._publish_early and time.monotonic() - published_at >= COMMIT_SECONDS:
                    # Reading may take minutes, and other runs begin meanwhile.
                    if 0 < self._reload_interval <= time.monotonic() - self._scanned_at:
                        self._scan_logdir()
                    self._publish_changes()
                    published_at = time.monotonic()
                self._assign_work()
        finally:
            self._stop_helper()
            self._decoder.rest()
            self._pile.rest()
        if not self._stopping.is_set():
            self._passes += 1
        self._publish_changes()

    def start(self, *, publish_early: bool = True) -> None:
        """Load in a daemon thread, again and again.

        With `publish_early` false the first pass is shown as a whole, or from the call of `show` on: to
        show data on the way takes time, in which nobody sees it before there is a server.
        """
        self._publish_early = publish_early
        self._publish_status(loading=True)
        thread = threading.Thread(target=self._load, name="tbcore-loader", daemon=True)
        self._threads.append(thread)
        thread.start()

    def publish(self, timeout: float = 0.0) -> None:
        """Shows data on the way from now on: see `start`. Waits so many seconds at most until what
        has been found and read so far is shown."""
        self._publish_early = True
        self._published.wait(timeout)

    def watch(self) -> None:
        """Look as soon as the system tells of a change, from the second pass on.

        What is needed for that is imported by the loader's thread: to be called when no other
        thread imports any more, for two that import the same may get in each other's way.
        """
        self._watch_requested = True
        self._wake.set()

    def wait_until_started(self, seconds: float) -> None:
        """Waits until it reads, so many seconds at most.

        Looking is many short calls of the system, after each of which a busy thread keeps it
        waiting.
        """
        self._started.wait(seconds)

    def stop(self) -> None:
        """End the thread when its turn is over; waits for it for half a second at most."""
        self._stopping.set()
        self._wake.set()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))

    def _load(self) -> None:
        while not self._stopping.is_set():
            begun = time.monotonic()
            if self._watch_requested and self._passes:
                self._start_watching()
            try:
                self.load_once()
            except Exception as error:
                # A server that no longer loads, and does not say so, is worse than any fault.
                self._log_fault("loading failed and is tried again", error)
            if self._reload_interval <= 0:
                return
            took = time.monotonic() - begun
            shortest = min(max(_MIN_PAUSE_SECONDS, took * _PAUSE_FACTOR), self._reload_interval)
            if not self._stopping.wait(shortest):
                self._wake.wait(self._reload_interval - shortest)
            # Whatever wakes from here on may have happened behind the next look's back.
            self._wake.clear()

    def _start_watching(self) -> None:
        """Not with the first pass: it takes as long as looking, and pages are asked for then.

        Tried again with each pass until there is a directory to watch.
        """
        watcher = watch([spec.path for spec in self._specs], self._wake, self._stopping)
        if watcher is not None:
            self._watch_requested = False
            self._threads.append(watcher)
            # What changes before it is under way wakes nobody.
            self._wake.set()

    # -- looking -------------------------------------------------------------------------------

    def _scan_logdir(self) -> None:
        """Scan, and work out what there is to read."""
        found = self._logdir.scan()
        self._last_scan, self._scanned_at = found, time.monotonic()
        self._log_scan_problems(found)
        for name in [name for name in self._runs if name not in found.runs]:
            if not self._runs[name].is_below(found.unlisted):
                self._remove(name)
        for name, files in found.runs.items():
            run = self._runs.get(name)
            try:
                if run is None:
                    run = _TrackedRun(name, files, self._new_reader(files))
                    self._runs[name] = self._changed[name] = run
                else:
                    self._update(run, files)
            except Exception as error:
                self._log_fault(f"run {name}", error)
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
        if run.active_reader.is_up_to_date and files == run.files:
            return
        if run.set_files(files):
            self._changed[run.name] = run
        if not run.active_reader.update(files):
            self._reread_from_start(run)
        self._promote_successor(run)

    def _reread_from_start(self, run: _TrackedRun) -> None:
        """Have the run read from its beginning, while its old data is served.

        A run that nobody has seen yet has none to serve.
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
        try:
            preload_small_files(self._pile, (run.active_reader for run in self._queue))
        except Exception as error:
            # Of many runs, and nothing is lost: what is not held is read when it is its turn.
            self._log_fault("reading ahead", error)

    def _read_slice(self, run: _TrackedRun) -> None:
        try:
            run.active_reader.read_slice(TURN_BYTES)
        except FileReplacedError:
            self._reread_from_start(run)
        except Exception as error:
            # What is shown of the run stays; the next pass tries again.
            self._log_fault(f"run {run.name}", error)
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
        if run.successor is not None and not run.successor.has_work:
            run.reader, run.successor = run.successor, None
            self._changed[run.name] = run

    # -- having others read --------------------------------------------------------------------

    def _bytes_left(self) -> int:
        return sum(run.active_reader.bytes_left for run in self._queue)

    def _stop_helper(self) -> None:
        """Ends it. What it has not given back is still to be read, by the next pass at least."""
        if self._helper is not None:
            self._helper.close()
            self._helper = None
        for batch in self._assigned:
            self._queue.extend(
                assignment.run for assignment in batch if self._is_current(assignment)
            )
        self._assigned.clear()

    def _is_current(self, assignment: _Assignment) -> bool:
        """Whether it is still wanted: its run may be gone, or have to be read anew since."""
        run = assignment.run
        return run.active_reader is assignment.reader and self._runs.get(run.name) is run

    def _assign_work(self) -> None:
        """Orders runs from the end of the queue, fewer as the end of all work comes closer.

        When there is none that can be assigned the assistant is no longer needed.
        """
        if self._helper is None:
            return
        while len(self._assigned) < _MAX_ASSIGNED_BATCHES and len(self._queue) > 1:
            most = min(self._bytes_left() // 4, _MAX_BATCH_BYTES)
            batch: list[_Assignment] = []
            for run in reversed(self._queue):
                size = run.active_reader.bytes_left
                if not run.active_reader.not_started or size > _MAX_ASSIGNED_RUN_BYTES:
                    continue
                most -= size
                if most < 0 and batch:
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
        """Takes what the assistant has read; waits a little for it when there is nothing else to
        do."""
        while self._assigned and self._helper is not None:
            if not self._helper.has_result(0 if self._queue else COMMIT_SECONDS):
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
        logger.debug("the assistant is gone, and the loader reads the rest: %s", error)
        self._stop_helper()

    # -- showing -------------------------------------------------------------------------------

    def _publish_changes(self) -> None:
        """Shows what changed. New runs are shown in the order in which they began, and those that
        nobody has got to yet are, too: empty."""
        changed: dict[str, RunView] = {}
        modified: dict[str, float] = {}
        new = [run for run in self._changed.values() if run.view is None]
        others = [run for run in self._changed.values() if run.view is not None]
        for run in new:
            try:
                run.find_first_event_time()
            except Exception as error:
                self._log_fault(f"run {run.name}", error)
        # A run that was shown never moves; this is the order among those of one commit.
        new.sort(key=_TrackedRun.sort_key)
        for run in [*new, *others]:
            modified[run.name] = run.modified
            if run.successor is not None:
                continue  # What was read last may be of another file.
            try:
                view = run.reader.data.commit()
            except Exception as error:
                self._log_fault(f"run {run.name}", error)
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
                # Files may have extended since they were looked at.
                bytes_total=max(bytes_total, bytes_read),
                logdirs=tuple(os.path.abspath(spec.path) for spec in self._specs),
                missing=tuple(self._last_scan.missing),
                problems=tuple(self._problems),
            )
        )

    # -- telling -------------------------------------------------------------------------------

    def _log_scan_problems(self, found: Scan) -> None:
        missing = [f"logdir {path} does not exist; waiting for it" for path in found.missing]
        new = [line for line in found.problems if line not in self._logged_scan_lines]
        self._problems.extend(new)
        self._log_lines([line for line in missing if line not in self._logged_scan_lines] + new)
        self._logged_scan_lines = {*missing, *found.problems}

    def _log_fault(self, what: str, error: Exception) -> None:
        line = one_line(f"{what}: {type(error).__name__}: {error}")
        logger.debug("%s", line, exc_info=error)
        if line not in self._logged_faults:
            self._logged_faults.append(line)
            self._problems.append(line)
            self._log_lines([line])

    def _log_lines(self, lines: Sequence[str]) -> None:
        for line in lines[:_MAX_LINES_AT_ONCE]:
            logger.warning("%s", line)
        if len(lines) > _MAX_LINES_AT_ONCE:
            logger.warning("and %d more like these", len(lines) - _MAX_LINES_AT_ONCE)


class _Assignment(NamedTuple):
    """A run that the assistant reads."""

    run: _TrackedRun
    reader: RunReader
    """Would have read it, and will if the assistant does not."""
    files: Sequence[EventFile]
    """As they were then."""


class _TrackedRun:
    """A run that is served."""

    __slots__ = ("files", "first_event_time", "modified", "name", "reader", "successor", "view")

    def __init__(self, name: str, files: Sequence[EventFile], reader: RunReader) -> None:
        self.name = name
        self.modified = -math.inf
        """When its newest file was written to, in seconds since the epoch."""
        self.set_files(files)
        self.reader = reader
        self.successor: RunReader | None = None
        """Reads the run anew, and takes over when it has read everything."""
        self.view: RunView | None = None
        """As shown last."""
        self.first_event_time = math.inf
        """Seconds since the epoch, as it was when the run was shown first; infinite without an
        event."""

    @property
    def active_reader(self) -> RunReader:
        """The reader whose turn it is."""
        return self.successor or self.reader

    def replace_active_reader(self, reader: RunReader) -> None:
        """Puts a reader in the place of the one whose turn it is."""
        if self.successor is None:
            self.reader = reader
        else:
            self.successor = reader

    def set_files(self, files: Sequence[EventFile]) -> bool:
        """Takes what the last look found; whether a file was written to since the one before."""
        self.files = files
        """As of the last look."""
        before = self.modified
        self.modified = max(file.mtime_ns for file in files) / 1e9
        return self.modified != before

    def find_first_event_time(self) -> None:
        """Sees when the run began: that is reported, and it is sorted by it, also before it is read."""
        if (known := self.reader.data.first_event_time) is not None:
            self.first_event_time = known
            return
        for file in self.files:
            try:
                wall_time = read_first_event_time(file.path)
            except OSError:
                continue  # Told when it is its turn.
            if wall_time is not None:
                self.first_event_time = wall_time
                self.copy_first_event_time()
                return

    def copy_first_event_time(self) -> None:
        """Tells the reader when the run began; not one that reads it anew."""
        if self.first_event_time != math.inf:
            self.reader.data.set_first_event_time(self.first_event_time)

    def sort_key(self) -> tuple[float, str]:
        """Sorts runs that were found together; no time stands for a time at the end of all."""
        is_number = not math.isnan(self.first_event_time)
        return self.first_event_time if is_number else math.inf, self.name

    def is_below(self, directories: Iterable[str]) -> bool:
        """Whether the run may be hidden in one of these directories."""
        path = os.path.dirname(self.files[0].path)
        return any(path == d or path.startswith(f"{d}/") for d in directories)
