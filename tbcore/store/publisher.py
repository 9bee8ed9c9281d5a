"""Publisher: publishes the data that the loader has read to the board, and logs problems."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Mapping

from tbcore.eventfiles.addresses import absolute
from tbcore.eventfiles.formats import SourceFiles, unshown_in
from tbcore.eventfiles.logdir import Logdir, Scan
from tbcore.eventfiles.other_files import summed
from tbcore.store.board import Board
from tbcore.store.status import MAX_PROBLEMS, LoadStatus, Problems, log_lines
from tbcore.store.view import RunView, StoredRun
from tbcore.store.work_queue import TrackedRun, find_remote_event_times
from tbcore.text import one_line

logger = logging.getLogger(__name__)


class _Shown:
    """Runs that are shown as an index has them."""

    def __init__(self, runs: Mapping[str, StoredRun]) -> None:
        self.runs = runs
        sizes = [size for run in runs.values() for size in run.sizes]
        self.num_files, self.num_bytes = len(sizes), sum(sizes)
        self.problems = [problem for run in runs.values() for problem in run.problems]
        """What the index has recorded for them, one line each."""


class Publisher:
    """Publishes views of runs and the loader's status, and logs problems."""

    def __init__(self, board: Board, logdir: Logdir) -> None:
        self.publish_early = True
        """Whether to publish while there is more to read."""
        self.has_published = threading.Event()
        """Set after the first publication."""
        self.passes = 0
        """Number of complete passes."""
        self.removed: list[str] = []
        """Names of the runs that have disappeared since the last publication."""
        self.stored: Mapping[str, StoredRun] = {}
        """The runs that are shown as an index has them."""
        self._shown = _Shown({})
        """`stored` as of the last publication."""
        self._board = board
        self._logdir = logdir
        self._scan = Scan()
        """The last scan."""
        self._kinds: set[str] = set()
        """The kinds of files that the log has named as not shown."""
        self._problems = Problems()
        self._index_problems: Collection[str] = ()
        """The problems of the index, one line each."""
        self._bugs: dict[str, str] = {}
        """Maps each operation that failed because of a bug to a line about the exception."""
        self._bugs_of_pass: set[str] = set()
        """The operations that failed in the current pass."""
        self._with_problems: dict[TrackedRun, None] = {}
        """The runs that may have problems in their files, or files that are not event files. A
        dict, to keep their order."""

    def publish(
        self, runs: Collection[TrackedRun], *, loading: bool, ends_pass: bool = False
    ) -> None:
        """Commits the changed and removed runs, and the status, to the board.

        New runs are listed in the order of their first events. Runs that are still waiting for
        their first time slice are listed as well, without data.
        """
        changed = [run for run in runs if run.has_changed]
        find_remote_event_times(changed)
        views: dict[TrackedRun, RunView] = {}
        for run in changed:
            try:
                view = run.new_view()
            except Exception as error:
                self.report_bug(f"run {run.name}", error)
                continue
            if view is not None:
                views[run] = view
        removed, self.removed = self.removed, []
        new: dict[str, StoredRun] = {}
        if self.stored is not self._shown.runs:
            shown, kept = self._shown, {run.name for run in runs}
            self._shown = _Shown(self.stored)
            new = {n: run for n, run in self.stored.items() if shown.runs.get(n) is not run}
            removed += [n for n in shown.runs if n not in self.stored and n not in kept]
            known = set(shown.problems)
            log_lines(logging.WARNING, [p for p in self._shown.problems if p not in known])
        # Only new runs are sorted: published runs never change places.
        in_order = sorted(views, key=TrackedRun.sort_key)
        self._board.commit(
            new | {run.name: views[run] for run in in_order},
            removed,
            {name: run.modified for name, run in new.items()}
            | {run.name: run.modified for run in changed},
            self._scan.side_files,
        )
        if ends_pass:
            self.passes += 1
            # Drop the failures of earlier passes that did not occur again in this one.
            self._bugs = {w: line for w, line in self._bugs.items() if w in self._bugs_of_pass}
        self.publish_status(runs, loading=loading)
        self.has_published.set()

    def publish_status(self, runs: Collection[TrackedRun], *, loading: bool) -> None:
        """Sets the board's status."""
        missing = [f"log directory does not exist: {path}" for path in self._scan.missing]
        self._problems.update([*missing, *self._lines(runs)], is_complete=not loading)
        problems = {p: at for p, at in self._problems.since.items() if p not in missing}
        other_files = [file for run in self._with_problems for file in run.reader.other_files]
        bytes_read = sum(run.reader.bytes_read for run in runs) + self._shown.num_bytes
        bytes_total = sum(run.reader.bytes_total for run in runs) + self._shown.num_bytes
        paced = self._logdir.paced
        num_requests = dict(item for root in paced for item in root.num_requests.items())
        self._board.set_status(
            LoadStatus(
                loading=loading,
                passes=self.passes,
                num_runs=len(runs) + len(self.stored),
                num_files=sum(len(run.files) for run in runs) + self._shown.num_files,
                num_directories=self._scan.num_directories,
                bytes_read=bytes_read,
                # Files may have grown since the scan.
                bytes_total=max(bytes_total, bytes_read),
                logdirs=tuple(absolute(spec.path) for spec in self._logdir.specs),
                looked_for=tuple(self._scan.looked_for),
                missing=tuple(self._scan.missing),
                problems=tuple(problems)[-MAX_PROBLEMS:],
                problems_since=tuple(problems.values())[-MAX_PROBLEMS:],
                past_problems=tuple(self._problems.past),
                other_files=(*self._scan.other_files, *summed(other_files)),
                num_requests=sum(num_requests.values()),
                num_requests_per_scan=sum(root.num_requests_of_listing for root in paced),
            )
        )

    def _lines(self, runs: Collection[TrackedRun]) -> list[str]:
        """All known problems, one line each, except directories that do not exist."""
        if self._with_problems:
            self._with_problems = {run: None for run in runs if run in self._with_problems}
        found = [line for run in self._with_problems for line in run.reader.problems_now]
        views = {
            os.path.dirname(run.files[0].path): None if run.reader.has_work else run.view
            for run in (runs if self._scan.twins else ())
            if not isinstance(run.files, SourceFiles)
        }
        unshown = [one_line(": ".join(each)) for each in unshown_in(self._scan.twins, views)]
        log_lines(logging.WARNING, [p for p in unshown if p not in self._problems.since])
        return [
            *self._scan.problems,
            *self._index_problems,
            *self._shown.problems,
            *self._bugs.values(),
            *unshown,
            *found,
        ]

    def report_scan(self, scan: Scan) -> None:
        """Logs the problems that the previous scan did not have."""
        known = {*self._scan.missing, *self._scan.problems}
        missing = [path for path in scan.missing if path not in known]
        waiting = [f"log directory does not exist: {path}; waiting for it" for path in missing]
        log_lines(logging.WARNING, [*waiting, *(p for p in scan.problems if p not in known)])
        self._scan = scan

    def report_other_files(self) -> None:
        """Logs the kinds of files in the last scan that are not shown, each kind once."""
        new = [files for files in self._scan.other_files if files.kind not in self._kinds]
        self._kinds.update(files.kind for files in new)
        log_lines(logging.INFO, [str(files) for files in new])

    def report_index(self, problems: Collection[str]) -> None:
        """Replaces the problems of the index, and logs the new ones."""
        log_lines(logging.WARNING, [p for p in problems if p not in self._index_problems])
        self._index_problems = tuple(problems)

    def report_problems(self, run: TrackedRun) -> None:
        """Collects the problems of a run, and logs the files that could not be read.

        Damage in files has been logged when it was found.
        """
        reader = run.reader
        if reader.problems or reader.read_errors or reader.other_files:
            self._with_problems[run] = None
        log_lines(logging.WARNING, reader.read_errors)
        reader.read_errors = []

    def report_bug(self, what: str, error: Exception) -> None:
        """Logs an exception caused by a bug in tbcore, if it is new; `what` is what failed."""
        line = one_line(f"{what}: {type(error).__name__}: {error}")
        logger.debug("%s", line, exc_info=error)
        self._bugs_of_pass.add(what)
        if self._bugs.get(what) != line:
            self._bugs[what] = line
            log_lines(logging.WARNING, [line])

    def begin_pass(self) -> None:
        """Clears the failures of the previous pass."""
        self._bugs_of_pass = set()
