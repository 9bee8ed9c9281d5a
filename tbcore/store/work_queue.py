"""WorkQueue: the runs with unread data, which the loader and the helper process share.

    loader  <---  first run, second run, ..., last run  --->  helper process
            time slices                           batches of whole runs

Each run is a `TrackedRun`.
"""

from __future__ import annotations

import logging
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from tbcore.eventfiles.addresses import fetch_ahead, storage_of
from tbcore.eventfiles.formats import SourceFiles
from tbcore.eventfiles.tail import read_first_event_time
from tbcore.store.helper_process import HelperError, HelperProcess, RunFiles
from tbcore.store.run_reader import RunReader
from tbcore.store.view import RunView, StoredRun

logger = logging.getLogger(__name__)

_MAX_BATCH_BYTES = 1 << 24
"""Maximum size of a batch of several runs for the helper. The runs of a batch are published when
the helper has returned the batch."""
_MAX_ASSIGNED_RUN_BYTES = 1 << 26
"""Maximum size of a run that is assigned to the helper. The loader reads larger runs itself, so
that it can publish their data while it reads."""
_MAX_RUNS_IN_ORDER = 50_000
"""Maximum number of new remote runs whose first events are fetched, to sort the runs."""
_MAX_HEADS = 1000
"""Maximum number of files whose first bytes are fetched at once."""
_HEAD_BYTES = 1 << 16
"""Number of bytes that are fetched to find the first event of a file."""
_MAX_ASSIGNED_BATCHES = 2
"""Maximum number of batches assigned to the helper: the batch that it reads, and the next batch."""


def find_remote_event_times(runs: Iterable[TrackedRun]) -> None:
    """Fetches the times of the first events of new runs whose files cost requests.

    New runs are sorted by these times. If there are more than 50,000 runs, the times stay unknown,
    and the runs are sorted by name.
    """
    new = []
    for run in runs:
        if run.view is None and run.requests_cost and run.reader.data.first_event_time is None:
            run.reader.data.first_event_time = run.reader.preloaded_event_time
            if run.reader.data.first_event_time is None:
                new.append(run)
    if not new or len(new) > _MAX_RUNS_IN_ORDER:
        return
    for begin in range(0, len(new), _MAX_HEADS):
        batch = new[begin : begin + _MAX_HEADS]
        fetch_ahead([(run.files[0], 0) for run in batch], _HEAD_BYTES)
        for run in batch:
            # An error is logged when a time slice of the run reaches the file.
            if storage_of(run.files[0].path).has_fetched(run.files[0]):
                run.find_first_event_time()


def sort_key(first_event_time: float | None, name: str) -> tuple[float, str]:
    """Sorts by first event, then by name. Runs without a first event, or with NaN, are last."""
    if first_event_time is None or math.isnan(first_event_time):
        first_event_time = math.inf
    return first_event_time, name


class WorkQueue:
    """The runs with unread data. A run waits for a time slice, or is assigned to the helper."""

    def __init__(self) -> None:
        self.waiting: deque[TrackedRun] = deque()
        """The waiting runs, in the order of their time slices."""
        self.helper: HelperProcess | None = None
        self._assigned: deque[list[_Assignment]] = deque()
        """The batches of runs that are assigned to the helper, in the order of assignment."""

    @property
    def has_work(self) -> bool:
        """Whether a run waits or is assigned."""
        return bool(self.waiting or self._assigned)

    @property
    def bytes_left(self) -> int:
        """Approximate number of unread bytes of the waiting runs."""
        return sum(run.reader.bytes_left for run in self.waiting)

    def refill(self, runs: Iterable[TrackedRun]) -> None:
        """Replaces the waiting runs by those of `runs` that have unread data and are not assigned.

        The most recently written runs come first.
        """
        assigned = set(self._assigned_runs())
        waiting = [run for run in runs if run.reader.has_work and run not in assigned]
        self.waiting = deque(sorted(waiting, key=lambda run: run.modified, reverse=True))

    def exchange_with_helper(self, timeout: float) -> None:
        """Collects what the helper has read, and assigns more runs to it.

        If no run waits, waits at most `timeout` seconds for each batch. The helper is stopped when
        it has no batch, and no waiting run can be assigned. After an error it is stopped, too, and
        the loader reads all remaining runs.
        """
        if self.helper is None:
            return
        try:
            self._collect_results(self.helper, timeout)
            self._assign_work(self.helper)
            if not self._assigned:
                self.stop_helper()
        except HelperError as error:
            logger.debug("the helper failed; the loader reads the remaining runs: %s", error)
            self.stop_helper()

    def stop_helper(self) -> None:
        """Ends the helper, if there is one. Runs that it has not returned wait again."""
        if self.helper is not None:
            self.helper.close()
            self.helper = None
        self.waiting.extend(self._assigned_runs())
        self._assigned.clear()

    def _assigned_runs(self) -> list[TrackedRun]:
        """The runs that are assigned to the helper, without those whose result cannot be used."""
        return [each.run for each in chain.from_iterable(self._assigned) if each.is_current]

    def _collect_results(self, helper: HelperProcess, timeout: float) -> None:
        """Receives the batches that the helper has read, and uses their readers."""
        while self._assigned and helper.has_result(0 if self.waiting else timeout):
            readers = helper.receive_result()
            for assignment, reader in zip(self._assigned.popleft(), readers, strict=True):
                run = assignment.run
                if not assignment.is_current:
                    continue
                if reader is not None:
                    run.continue_with(reader, assignment.files)
                if run.reader.has_work:
                    self.waiting.append(run)

    def _assign_work(self, helper: HelperProcess) -> None:
        """Sends runs from the end of the queue to the helper, until the helper has enough batches.

        A batch has at most a quarter of the bytes in the queue, or a single run. So batches become
        smaller towards the end, and loader and helper finish at about the same time.
        """
        while len(self._assigned) < _MAX_ASSIGNED_BATCHES and len(self.waiting) > 1:
            batch_budget = min(self.bytes_left // 4, _MAX_BATCH_BYTES)
            batch: list[_Assignment] = []
            for run in reversed(self.waiting):
                size = run.reader.bytes_left
                if not run.reader.is_unread or size > _MAX_ASSIGNED_RUN_BYTES:
                    continue
                batch_budget -= size
                if batch_budget < 0 and batch:
                    break
                batch.append(_Assignment(run, run.reader, run.files))
            if not batch:
                return
            assigned = {assignment.run for assignment in batch}
            self.waiting = deque(run for run in self.waiting if run not in assigned)
            self._assigned.append(batch)
            helper.assign([assignment.files for assignment in batch])


class _Assignment(NamedTuple):
    """A run that is assigned to the helper process."""

    run: TrackedRun
    reader: RunReader
    """The run's reader in this process, which reads the run if the helper fails to."""
    files: RunFiles
    """The files of the run at the time of the assignment."""

    @property
    def is_current(self) -> bool:
        """Whether the run still exists with the assigned reader, so that a result can be used."""
        return self.run.reader is self.reader and not self.run.is_removed


class TrackedRun:
    """A run that the loader keeps up to date."""

    def __init__(
        self, name: str, files: RunFiles, new_reader: Callable[[RunFiles], RunReader]
    ) -> None:
        """`new_reader` returns a reader of some files that has read nothing yet."""
        self.name = name
        self.files = files
        """The files as of the last scan."""
        self.reader = new_reader(files)
        self.is_read_again = False
        """Whether `reader` replaces one whose data is published. That data stays published until
        `reader` has caught up."""
        self.view: RunView | None = None
        """The view that was published last."""
        self.has_changed = True
        """Whether there may be something to publish."""
        self.is_removed = False
        """Whether a scan found that the run's files are gone."""
        self._new_reader = new_reader

    @property
    def modified(self) -> float:
        """When the newest file was written to, in seconds since the epoch."""
        return max(file.mtime_ns for file in self.files) / 1e9

    def update(self, files: RunFiles) -> None:
        """Passes the files that a scan found to the run's reader, or to a new reader if needed."""
        if self.reader.is_up_to_date and files == self.files:
            return
        before, modified, self.files = self.files, self.modified, files
        self.has_changed |= self.modified != modified
        # Event files may take the place of a run of another format, and the reverse.
        is_same_kind = isinstance(files, SourceFiles) == isinstance(before, SourceFiles)
        if not is_same_kind or not self.reader.update(files):
            self.read_from_start()

    def resume_at(self, bookmark: Sequence[Any], view: StoredRun) -> None:
        """Continues where another reader stopped with this bookmark and view.

        If files were replaced since, reads the run from its start. Raises TbcoreError or OSError if
        the rows of the view cannot be read.
        """
        if not {file.path for file in view.known_files} <= {file.path for file in self.files}:
            # Whatever the index names, only files that a scan found are opened.
            self.view = view
            return self.read_from_start()
        reader = self._new_reader(())
        reader.resume_at(bookmark, view)
        self.reader, self.view = reader, view
        if not self.reader.update(self.files):
            self.read_from_start()

    def read_from_start(self) -> None:
        """Gives the run a new reader, which reads all its files."""
        self.reader = self._new_reader(self.files)
        self.is_read_again = self.view is not None

    def continue_with(self, reader: RunReader, files: RunFiles) -> None:
        """Replaces `reader` by one that has read more: these files to their ends."""
        if reader.data.first_event_time is None:
            reader.data.first_event_time = self.reader.data.first_event_time
        self.reader = reader
        if self.files is not files:
            # A later scan found different ones.
            self.update(self.files)
        self.has_changed = True

    def commit(self) -> RunView:
        """Returns a view of the run as it is now.

        If nothing was read yet, first reads the time of the first event, by which new runs are
        sorted. `find_remote_event_times` does so for files that cost requests.
        """
        if self.view is None and not self.requests_cost:
            self.find_first_event_time()
        return self.reader.data.commit()

    @property
    def keeps_view(self) -> bool:
        """Whether the published view stays: files were replaced, and not yet read to their ends."""
        return self.is_read_again and self.reader.is_incomplete

    def new_view(self) -> RunView | None:
        """The view to publish; None if the published one is still valid."""
        if self.keeps_view:
            return None
        self.is_read_again = False
        view = self.commit()
        self.has_changed = False
        if view is self.view:
            return None
        self.view = view
        return view

    def sort_key(self) -> tuple[float, str]:
        """The key by which new runs are sorted; see the function `sort_key`."""
        return sort_key(self.reader.data.first_event_time, self.name)

    def is_below(self, directories: Iterable[str]) -> bool:
        """Whether the run is in one of these directories, or below one."""
        path = os.path.dirname(self.files[0].path)
        return any(path == d or path.startswith(f"{d}/") for d in directories)

    @property
    def requests_cost(self) -> bool:
        """See `Storage`."""
        return storage_of(self.files[0].path).requests_cost

    def find_first_event_time(self) -> None:
        """Reads the time of the first event, if it is not known yet."""
        data = self.reader.data
        for file in () if isinstance(self.files, SourceFiles) else self.files:
            if data.first_event_time is not None:
                return
            # An error is logged when a time slice of the run reaches the file.
            with suppress(OSError):
                data.first_event_time = read_first_event_time(file, tuning=self.reader.tuning)
