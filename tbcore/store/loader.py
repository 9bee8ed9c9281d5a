"""Loader: finds runs, reads what is new in their files, and publishes it.

    a pass:  scan -> time slices -> publish      then a pause, and the next pass
                       ^   |
                       +---+  publishes on the way, so that data is served while it is loaded

A time slice reads about 16 MB of one run. Runs with unread data take turns in a `WorkQueue`, the
most recently written ones first. When there is much to read, a helper process reads runs from the
end of the queue at the same time. A `Publisher` publishes what was read.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from functools import partial

from tbcore.errors import TbcoreError
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.formats import Formats
from tbcore.eventfiles.logdir import Logdir, LogdirSpec, Scan
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.storage import Pacing
from tbcore.eventfiles.tail import FileReplacedError
from tbcore.store.board import Board
from tbcore.store.helper_process import HelperProcess
from tbcore.store.publisher import Publisher
from tbcore.store.run_reader import new_reader, preload_small_files
from tbcore.store.stored_runs import RunIndex, StoredRuns
from tbcore.store.watch import Pauses
from tbcore.store.work_queue import TrackedRun, WorkQueue
from tbcore.text import one_line
from tbcore.tuning import Tuning, default_tuning

logger = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 0.5
"""How long `stop` waits for the threads, which are daemons and may be left running."""

_WORK_FACTOR = 10
"""Within a pass, the time from one scan to the next is at least this many times as long as the scan
took. The same holds for publications, but these are at most this many intervals apart. With many
runs, a scan or a publication may take a second."""


class Loader:
    """Keeps a board up to date with the event files below some directories.

    Call either `load_once` or `start`, never both at the same time.
    """

    def __init__(
        self,
        board: Board,
        specs: Sequence[LogdirSpec],
        *,
        reload_interval: float | None = None,
        purge_orphaned_data: bool = True,
        max_points: int = 0,
        tuning: Tuning | None = None,
        index: RunIndex | None = None,
        formats: str = "",
    ) -> None:
        """`reload_interval` is the pause between passes in seconds; with 0 there is one pass only.

        By default it is 5 s, and remote directories are listed every 30 s to 10 min: less often
        while nothing changes there and no page is visible. The pauses between passes double while
        nothing is new and no data has been requested for 10 minutes; see `Pauses`.
        `max_points` limits the rows of each scalar series in memory; 0 keeps all rows. `tuning`
        applies to decoding, too. The runs of `index` are shown as the index has them. If their
        files have changed since, only the new data is read. Without `specs`, such changes are found
        only in runs whose data a page has requested in the last minute. `formats` are the names for
        `Formats`.
        """
        wake = threading.Event()
        # A listing of the only directory delays nothing else.
        on_listed = wake.set if reload_interval != 0 and len(specs) > 1 else None
        pacing = Pacing(
            reload_interval,
            is_viewed=lambda: board.num_viewers > 0,
            is_idle=lambda: board.is_idle,
            on_listed=on_listed,
            patterns=lambda: board.file_patterns,
        )
        self._logdir = Logdir(specs, pacing)
        self._formats = formats
        self._board = board
        board.scan_soon = self.scan_soon
        self._tuning = tuning or default_tuning()
        interval = 5.0 if reload_interval is None else reload_interval
        self.pauses = Pauses(board, self._logdir, index, wake, interval, self._tuning)
        self._decoder = Decoder(tuning=self._tuning)
        self._small_files = SmallFileReader(tuning=self._tuning)
        self._new_reader = partial(
            new_reader,
            self._decoder,
            purge_orphaned_data=purge_orphaned_data,
            max_points=max_points,
        )
        """Returns a reader of some files that has read nothing yet."""
        self.runs: dict[str, TrackedRun] = {}
        """The runs whose files are read, by name."""
        is_paced = reload_interval is None
        self._stored = index.stored_runs(board, is_paced=is_paced) if index is not None else None
        self.queue = WorkQueue()
        """Those of them that have unread data."""
        self._publisher = Publisher(board, self._logdir)
        self._patterns = board.file_patterns
        """The patterns of the files that the last listing looked for."""
        self._started = threading.Event()
        """Set after the first scan, when the helper has its first batches."""
        self._thread: threading.Thread | None = None

    @property
    def threads(self) -> list[threading.Thread]:
        """The thread that loads, and the one that waits for changes of files, once they exist."""
        return [thread for thread in (self._thread, self.pauses.watcher) if thread is not None]

    def start_helper(self) -> None:
        """Starts a helper process for the first pass. If there is little to read, the pass ends it.

        Must be called before any other thread is started: see `HelperProcess.__init__`. Starts none
        if a directory costs requests, since remote storages have threads of their own.
        """
        if self._stored is None and not self._logdir.paced and HelperProcess.is_supported():
            try:
                self.queue.helper = HelperProcess(self._decoder, self._new_reader)
            except OSError as error:
                logger.debug("no helper process, reading without one: %s", error)

    def load_once(self) -> None:
        """Makes one pass in the calling thread: scans, reads all new data, and publishes it."""
        publish_interval = self._tuning.publish_interval_seconds
        self._publisher.begin_pass()
        try:
            if self._logdir.formats is None:
                self._logdir.formats = Formats(self._formats)
            if self._stored is not None:
                self._show_stored(self._stored)
            scan_at = self._scan_logdir()
            if self.queue.bytes_left < self._tuning.min_bytes_for_helper:
                self.queue.stop_helper()
            self.queue.exchange_with_helper(publish_interval)
            self._started.set()
            publish_at = time.monotonic() + publish_interval
            while self.queue.has_work and not self.pauses.stopping.is_set():
                if self.queue.waiting:
                    self._preload_small_files()
                    self._read_slice(self.queue.waiting.popleft())
                now = time.monotonic()
                if self._publisher.publish_early and now >= publish_at:
                    # Reading may take minutes, and new runs may be created during that time.
                    if self.pauses.interval > 0 and now >= scan_at:
                        scan_at = self._scan_logdir(is_within_pass=True)
                    began_at = time.monotonic()
                    self._publisher.publish(self.runs.values(), loading=self.queue.has_work)
                    publish_at = time.monotonic()
                    pause = (publish_at - began_at) * _WORK_FACTOR
                    publish_at += max(publish_interval, min(pause, publish_interval * _WORK_FACTOR))
                self.queue.exchange_with_helper(publish_interval)
        finally:
            self.queue.stop_helper()
            self._decoder.release_buffers()
            self._small_files.release_buffers()
        if self.pauses.interval <= 0:
            # Plugins are imported at the same time.
            while not (self._publisher.publish_early or self.pauses.stopping.wait(0.01)):
                pass
            if self._patterns != self._board.file_patterns:
                self._list()
        if self._publisher.publish_early and not self._board.awaits_plugins:
            if self._patterns == self._board.file_patterns:
                self._publisher.report_other_files()
        loading, ends_pass = self.queue.has_work, not self.pauses.stopping.is_set()
        self._publisher.publish(self.runs.values(), loading=loading, ends_pass=ends_pass)

    def start(self, *, publish_early: bool = True) -> None:
        """Starts a daemon thread that makes one pass after another.

        With `publish_early` false, the thread publishes only at the end of a pass, until `publish`
        is called: publishing takes time, and is of no use before there is a server.
        """
        self._publisher.publish_early = publish_early
        self._publisher.publish_status((), loading=True)
        self._thread = threading.Thread(target=self._load, name="tbcore-loader", daemon=True)
        self._thread.start()

    def publish(self, timeout: float = 0.0) -> None:
        """Makes the thread publish during its passes, too, from now on: see `start`.

        Waits at most `timeout` seconds for the first publication.
        """
        self._publisher.publish_early = True
        self._publisher.has_published.wait(timeout)

    def watch(self) -> None:
        """Makes the thread scan as soon as the system reports a change, after its first pass.

        Watching imports a package in another thread. So call this only when no thread imports
        modules any more: two threads that import the same modules can block each other.
        """
        self.pauses.watch_soon()

    def scan_soon(self) -> None:
        """Ends a pause of the thread, and makes it list all directories."""
        for root in self._logdir.paced:
            root.list_soon()
        self.pauses.wake.set()

    def wait_until_started(self, timeout: float) -> None:
        """Waits until the thread has scanned and begins to read, at most `timeout` seconds.

        A busy calling thread would delay the scan, which makes many short system calls and needs
        the interpreter lock after each of them.
        """
        self._started.wait(timeout)

    def stop(self) -> None:
        """Ends the thread after its current time slice; waits for it at most half a second."""
        self.pauses.stopping.set()
        self.pauses.wake.set()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for thread in self.threads:
            thread.join(max(deadline - time.monotonic(), 0))

    def _load(self) -> None:
        """Runs in the loader's thread: makes passes, with pauses between them, until `stop`."""
        while not self.pauses.stopping.is_set():
            pass_began_at = time.monotonic()
            if self._publisher.passes:
                self.pauses.start_watching()
            try:
                self.load_once()
            except Exception as error:
                # The thread must not end: the server would silently stop loading.
                self._publisher.report_bug("loading failed and will be retried", error)
                self._publisher.publish_status(self.runs.values(), loading=self.queue.has_work)
            if self.pauses.interval > 0:
                pass_seconds = time.monotonic() - pass_began_at
                self.pauses.wait(pass_seconds, is_being_written=self._is_being_written())
            else:
                return self._find_late_files()

    def _find_late_files(self) -> None:
        """After the only pass: finds what plugins claim that take long to start. No run is read."""
        while self._board.awaits_plugins:
            if self.pauses.stopping.wait(0.5):
                return
        if self._patterns != self._board.file_patterns:
            self._list()
            self._publisher.publish(self.runs.values(), loading=False)
        self._publisher.report_other_files()

    def _list(self) -> Scan:
        """Lists the directories, also for the files that plugins claim by now."""
        self._patterns = self._board.file_patterns
        stored = self._stored
        scan = stored.scan(self.runs) if stored and not self._logdir.specs else self._logdir.scan()
        self._publisher.report_scan(scan)
        return scan

    def _is_being_written(self) -> bool:
        """Whether files could not be read only because they are being written."""
        formats = self._logdir.formats
        is_unfinished = formats is not None and bool(formats.unfinished)
        return is_unfinished or any(run.reader.is_to_read_soon for run in self.runs.values())

    def _scan_logdir(self, *, is_within_pass: bool = False) -> float:
        """Scans the directories, and puts the runs with unread data into the queue.

        Within a pass, files that could not be read are not tried again, unless they have changed.
        Returns the time of the next scan, if the pass takes as long.
        """
        began_at = time.monotonic()
        stored = self._stored
        is_partial = stored is not None and not self._logdir.specs
        scan = self._list()
        if stored and not is_partial:
            stored.index.found = scan.runs
        age = time.monotonic() - min([began_at, *(root.listed_at for root in self._logdir.paced)])
        self._board.scanned_at = time.time() - age if age < math.inf else None
        for name in self.runs.keys() - scan.runs.keys():
            # Runs in a directory that could not be listed may still exist, so they are kept.
            if not self.runs[name].is_below(scan.unlisted):
                self.runs.pop(name).is_removed = True
                self._publisher.removed.append(name)
        for name, files in scan.runs.items():
            try:
                if run := self.runs.get(name):
                    if not (is_within_pass and files == run.files):
                        run.update(files)
                elif not (stored and stored.is_up_to_date(name, files)):
                    self.runs[name] = run = TrackedRun(name, files, self._new_reader)
                    if stored:
                        stored.resume_from_index(run)
            except Exception as error:
                self._publisher.report_bug(f"run {name}", error)
        if stored:
            is_whole = not is_partial and not scan.unlisted
            stored.restrict(scan.runs if is_whole else None, self.runs)
            self._publisher.stored = stored.shown
        self.queue.refill(self.runs.values())
        now = time.monotonic()
        return now + max(self.pauses.interval, (now - began_at) * _WORK_FACTOR)

    def _show_stored(self, stored: StoredRuns) -> None:
        """Shows the runs as the index has them now."""
        try:
            if stored.refresh(self.runs):
                self._publisher.stored = stored.shown
                self._publisher.publish(self.runs.values(), loading=True)
            problems = [*stored.index.warnings, *stored.index.problems]
        except (TbcoreError, OSError) as error:
            # The runs of the last refresh stay.
            problems = [one_line(f"the index cannot be read: {error}")]
        self._publisher.report_index(problems)

    def _preload_small_files(self) -> None:
        """Reads small files of the next runs in the queue together."""
        try:
            preload_small_files(self._small_files, (run.reader for run in self.queue.waiting))
        except Exception as error:
            # No data is lost: a file that was not preloaded is read in a time slice of its run.
            self._publisher.report_bug("preloading small files", error)

    def _read_slice(self, run: TrackedRun) -> None:
        """Reads one time slice of a run, and puts the run back into the queue if there is more."""
        try:
            run.reader.read_slice(self._tuning.time_slice_bytes)
        except FileReplacedError:
            run.read_from_start()
        except Exception as error:
            # The published data of the run stays; the next pass tries again.
            self._publisher.report_bug(f"run {run.name}", error)
            return
        self._publisher.report_problems(run)
        run.has_changed = True
        if run.reader.has_work:
            self.queue.waiting.append(run)
