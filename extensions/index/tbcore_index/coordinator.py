"""Coordinator: finds new data in the logs, has it read in batches, and commits the results.

    scan -> plan -> batches -> executor -> segments -> commit      then a pause, and the next scan

A batch is the unit of work, of failure and of a commit: afterwards, either all of its runs are in
the index or none. A batch may be submitted twice, since each attempt writes files with new names.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from itertools import chain

from tbcore.engine import EventFile, Logdir, LogdirSpec, StoredRun, one_line, plural
from tbcore_index.reader import IndexReader
from tbcore_index.tables import IndexWriteError, Place, Tables
from tbcore_index.work import Batch, Done, work

logger = logging.getLogger("tbcore.index")

_BATCH_BYTES = 1 << 26
_BATCH_FILES = 2000
_MIN_FILE_BYTES = 1 << 14
"""A smaller file counts as this many bytes: opening it takes as long as decoding this many."""
_COMMIT_SECONDS = 60.0
"""Time between two commits, and so the maximum time of work that is lost with a coordinator."""
_MIN_DEADLINE_SECONDS = 60.0
_DEADLINE_FACTOR = 10
"""A batch is submitted again after this many times the median time of a batch."""
_QUIET_SECONDS = 600.0
_GROWTH = 1.25
"""A growing run is written again when it has grown by this factor, or has not grown for
`_QUIET_SECONDS`."""
_SMALL_ROWS = 1 << 18
_MAX_SMALL_SEGMENTS = 16
"""Segments of fewer than `_SMALL_ROWS` rows are merged when there are more of them than this."""
_MAX_ROWS_MERGED = 1 << 21


@dataclass
class _Task:
    """A batch that was submitted, possibly twice. The first result counts."""

    batch: Batch
    began: float = field(default_factory=time.monotonic)
    is_done: bool = False
    is_given_again: bool = False


class Coordinator:
    """Keeps an index up to date with the log directories that it was made from."""

    def __init__(
        self,
        index: str,
        executor: Executor,
        *,
        specs: Sequence[LogdirSpec] | None = None,
        num_workers: Callable[[], int] = lambda: 1,
        on_progress: Callable[[int, int, int, float], None] = lambda *progress: None,
    ) -> None:
        """Takes over the index, which must exist. Raises TbcoreError if it cannot be opened.

        `specs` are the log directories that the user gave, and thereby confirmed; by default, those
        that the index was made from. `num_workers` returns the executor's current number of
        workers. `on_progress` is called with the number of runs in an update, the number of runs
        that are done, the number of bytes read, and the time in seconds.
        """
        self._executor = executor
        self._num_workers = num_workers
        self._on_progress = on_progress
        self._tables = Tables(Place(index))  # Completes a commit that was interrupted.
        self._reader = IndexReader(index)
        specs = self._reader.specs if specs is None else specs
        self._reader.confirmed.add(spec.path for spec in specs)
        self._logdir = Logdir(specs)
        self._left_out: dict[str, tuple[Sequence[EventFile], str]] = {}
        """Maps runs that could not be read to their files at that time, and a line about the error.
        """
        self.problems: list[str] = []
        """One line for each problem in the last update, even if it is an old one. The same line may
        occur twice."""
        self.num_written = 0
        """Number of runs that the last update wrote."""
        self.notes: list[str] = []
        """One line about the logs of other programs, which are in no index, if there are any."""

    def update(self, *, all_changes: bool = True) -> None:
        """Brings the index up to date once.

        Without `all_changes`, a run that is still growing is written again only if `_is_due`.
        Raises IndexConflictError if another process took over the index, and what the executor
        or `num_workers` raises when the cluster is gone; earlier commits stay.
        """
        self._reader.refresh()
        self.problems, self.num_written = [], 0
        batches, runs = self._plan(all_changes)
        if not batches:
            return
        began = time.monotonic()
        results: list[tuple[Batch, Done]] = []
        num_done = num_bytes = 0
        committed_at = began
        try:
            for batch, done in self._results(batches):
                results.append((batch, done))
                num_done += len(batch.runs)
                num_bytes += done.num_bytes
                self.problems += done.problems
                self._on_progress(runs, num_done, num_bytes, time.monotonic() - began)
                if time.monotonic() - committed_at >= _COMMIT_SECONDS:
                    self._commit(results)
                    results, committed_at = [], time.monotonic()
        finally:
            self._commit(results)

    def vacuum(self, keep_days: float) -> int:
        """Deletes the files that were replaced more than `keep_days` ago; returns their number."""
        return self._tables.vacuum(24 * keep_days)

    def _commit(self, results: Sequence[tuple[Batch, Done]]) -> None:
        segments = [each for _, done in results for each in done.segments]
        removed = [name for batch, _ in results for name in batch.replaced]
        if segments or removed:
            self._tables.commit(segments, removed)
            self.num_written += sum(each.num_rows["runs"] for each in segments)

    def _plan(self, all_changes: bool) -> tuple[deque[Batch], int]:
        """The batches of an update, and the number of runs to read."""
        # 1. Find the runs that are new, have changed, or are gone.
        # 2. Make batches of the new runs, in the order of their names.
        # 3. Make batches that replace segments with changed or gone runs, and small segments.
        scan = self._logdir.scan()  # 1
        self.problems += [f"{path} does not exist" for path in scan.missing]
        self.problems += scan.problems
        self.notes = [
            f"not indexed, since they are no event files: {plural(each.num_files, 'log')} of other "
            f"programs, for example {one_line(each.example)}"
            for each in scan.other_files
            if each.are_logs
        ]
        stored = self._reader.runs
        new, changed = [], set()
        for name, files in sorted(scan.runs.items()):
            if name in self._left_out and self._left_out[name][0] == files:
                self.problems.append(self._left_out[name][1])
                continue
            known = stored.get(name)
            if known is None:
                new.append((name, files))
            elif not known.is_as_of(files) and (all_changes or _is_due(known, files)):
                changed.add(name)
        unknown = [*scan.unlisted, *scan.missing]
        gone = {
            name
            for name in stored.keys() - scan.runs.keys()
            if not _is_below(stored[name].known_files, unknown)
        }
        for name in stored.keys() - changed - gone:
            self.problems += stored[name].problems
        of_changed = (scan.runs[name] for name in changed)
        self._reader.confirmed.add_links(chain(*(files for _, files in new), *of_changed))
        batches = deque(map(Batch, _in_batches(new)))  # 2
        incomplete = self._tables.incomplete()
        small: list[str] = []
        num_rows = 0
        for name, runs in sorted(self._reader.segments.items()):  # 3
            names = {run.name for run in runs}
            rows = sum(run.number("num_points") + run.number("num_items") for run in runs)
            of_segment = [(n, scan.runs[n]) for n in sorted(changed & names)]
            if rows < _SMALL_ROWS and name not in incomplete:
                small.append(name)
                num_rows += rows
            elif of_segment or gone & names or name in incomplete:
                batches.append(Batch(of_segment, [name], gone & names))
            if small and num_rows >= _MAX_ROWS_MERGED:
                batches.extend(self._merging(small, changed, gone, scan.runs))
                small, num_rows = [], 0
        batches.extend(self._merging(small, changed, gone, scan.runs))
        if damaged := self._reader.damaged:
            # The runs in them are not known, so they were found as new runs above.
            self.problems += damaged.values()
            batches.append(Batch([], [*damaged]))
        return batches, len(new) + len(changed)

    def _merging(
        self,
        segments: Sequence[str],
        changed: set[str],
        gone: set[str],
        files: Mapping[str, Sequence[EventFile]],
    ) -> Iterator[Batch]:
        """Yields a batch that replaces small segments, if any run changed or there are many."""
        names = {run.name for segment in segments for run in self._reader.segments[segment]}
        if names & changed or names & gone or len(segments) > _MAX_SMALL_SEGMENTS:
            of_segments = [(name, files[name]) for name in sorted(names & changed)]
            yield Batch(of_segments, segments, names & gone)

    def _results(self, batches: deque[Batch]) -> Iterator[tuple[Batch, Done]]:
        """Submits the batches to the executor. Yields each with its result."""
        pending: dict[Future[Done], _Task] = {}
        seconds: list[float] = []
        num_workers, asked_at = self._num_workers(), time.monotonic()
        while batches or not all(task.is_done for task in pending.values()):
            while batches and len(pending) < 2 * max(num_workers, 1):
                batch = batches.popleft()
                pending[self._submit(batch)] = _Task(batch)
            done, _ = wait(pending, timeout=1, return_when=FIRST_COMPLETED)
            for future in done:
                task = pending.pop(future)
                try:
                    result = future.result()
                except (IndexWriteError, CancelledError):
                    raise
                except Exception as error:
                    if not task.is_done:
                        batches.extend(self._halves(task.batch, error))
                        task.is_done = True
                    continue
                seconds.append(time.monotonic() - task.began)
                if not task.is_done:
                    task.is_done = True
                    yield task.batch, result
            if time.monotonic() - asked_at >= 1:
                had, num_workers, asked_at = num_workers, self._num_workers(), time.monotonic()
                if had and not num_workers:
                    logger.warning("no worker is left; waiting for one")
            deadline = _DEADLINE_FACTOR * statistics.median(seconds or [0.0])
            for task in list(pending.values()):
                is_late = time.monotonic() - task.began > max(deadline, _MIN_DEADLINE_SECONDS)
                if is_late and not task.is_done and not task.is_given_again:
                    logger.warning("a batch takes long, and is given out again")
                    task.is_given_again = True
                    pending[self._submit(task.batch)] = task

    def _submit(self, batch: Batch) -> Future[Done]:
        batch = batch._replace(confirmed=self._reader.confirmed.directories)
        return self._executor.submit(work, batch, self._reader.path)

    def _halves(self, batch: Batch, error: Exception) -> list[Batch]:
        """Two batches to replace one that failed. A run that fails alone is left out."""
        why = one_line(f"{type(error).__name__}: {error}")
        if batch.replaced:
            # The segments stay in the index. The next update tries the changed runs again.
            segments = plural(len(batch.replaced), "segment")
            stay = "stays as it is" if len(batch.replaced) == 1 else "stay as they are"
            self.problems.append(f"{segments} {stay}: {why}")
            return []
        if len(batch.runs) == 1:
            name, files = batch.runs[0]
            line = f"run {one_line(name)} is left out: {why}"
            self._left_out[name] = files, line
            self.problems.append(line)
            return []
        middle = len(batch.runs) // 2
        return [Batch(batch.runs[:middle]), Batch(batch.runs[middle:])]


def _is_due(stored: StoredRun, files: Sequence[EventFile]) -> bool:
    """Whether a changed run has grown by _GROWTH, has shrunk, or has been quiet for a while."""
    size, known = sum(file.size for file in files), sum(stored.sizes)
    quiet_since = time.time() - max(file.mtime_ns for file in files) / 1e9
    return size >= _GROWTH * known or size < known or quiet_since >= _QUIET_SECONDS


def _is_below(files: Sequence[EventFile], directories: Sequence[str]) -> bool:
    return any(f.path.startswith(f"{directory}/") for f in files for directory in directories)


def _in_batches(
    runs: Sequence[tuple[str, Sequence[EventFile]]],
) -> Iterator[list[tuple[str, Sequence[EventFile]]]]:
    """Runs in batches of some megabytes or some files."""
    batch: list[tuple[str, Sequence[EventFile]]] = []
    num_files = num_bytes = 0
    for run in runs:
        batch.append(run)
        num_files += len(run[1])
        num_bytes += sum(max(file.size, _MIN_FILE_BYTES) for file in run[1])
        if num_files >= _BATCH_FILES or num_bytes >= _BATCH_BYTES:
            yield batch
            batch, num_files, num_bytes = [], 0, 0
    if batch:
        yield batch
