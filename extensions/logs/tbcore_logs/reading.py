"""LazyReader: finds the runs below some paths, and reads each run when it is first used.

    open        scans the paths             finds files and their sizes; reads none
    snapshots   reads some runs             those that are not read yet, together
    refresh     scans, and reads new data   of the runs that have been read

It runs in the threads that call it, one at a time, and uses the same readers as the server. It
has no helper process: a program may have threads, and then must not be forked.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple

from tbcore import Multiplexer, NotFoundError
from tbcore.engine import (
    EventFile,
    Formats,
    Logdir,
    LogdirSpec,
    Notes,
    RunView,
    Scan,
    SourceFiles,
    TrackedRun,
    one_line,
    open_notes,
    unshown_in,
)
from tbcore_logs.batch_reader import BatchReader
from tbcore_logs.ends import cut_off, read_last_event_times
from tbcore_logs.paths import ROOT, Paths, specs_and_files

logger = logging.getLogger("tbcore.logs")

_MAX_PROBLEMS = 100


class RunSnapshot(NamedTuple):
    """The data of a run at one moment."""

    view: RunView
    modified: float
    """When the newest file was written to, in seconds since the epoch."""


def multiplexer_of(snapshots: Mapping[str, RunSnapshot]) -> Multiplexer:
    """A multiplexer with these runs, in this order."""
    views = {name: snapshot.view for name, snapshot in snapshots.items()}
    times = {name: snapshot.modified for name, snapshot in snapshots.items()}
    return Multiplexer(views, times)


class Problems:
    """The problems that a reader has found, one line each."""

    opened: tuple[Paths, bool]
    """What `reader_of` was called with: the paths, and `purge_orphaned_data`."""

    specs: Sequence[LogdirSpec] = ()
    """The directories that notes are about; none for single files, and for an index."""

    not_shown: Sequence[str] = ()
    """One line about the logs of other programs that no installed package reads, if there are any,
    as of the last scan."""

    looked_for: Sequence[str] = ()
    """Patterns of the names of the files that have runs, of a log directory."""

    needs_notes = False
    """Whether an answer depended on notes, so that what of them could not be read counts."""

    def __init__(self) -> None:
        self._problems: deque[str] = deque(maxlen=_MAX_PROBLEMS)

    @cached_property
    def notes(self) -> Notes:
        """What users have noted about the runs; raises the errors of `open_notes`."""
        notes = open_notes(self.specs)
        notes.has_event_files = self.has_event_files
        return notes

    def has_event_files(self, name: str) -> bool:
        """Whether a run is of event files, as of the last scan. False for an unknown run."""
        return False

    @property
    def notes_problems(self) -> list[str]:
        """Problems of the notes that an answer depended on, one line each."""
        return [*self.notes.problems] if self.needs_notes else []

    def report(self, *lines: str) -> None:
        """Adds lines to the problems, and logs them, except lines that are there already."""
        for line in lines:
            if line not in self._problems:
                self._problems.append(line)
                logger.warning("%s", line)


class LazyReader(Problems):
    """The runs below some paths. Its methods may be called on any thread."""

    def __init__(self, paths: Paths, **options: Any) -> None:
        """Scans the directories. Raises FileNotFoundError or ValueError; see `tbcore.open`.

        The options are those of BatchReader, such as `purge_orphaned_data`.
        """
        super().__init__()
        specs, self._files = specs_and_files(paths)
        self.directories = [spec.path for spec in specs]
        """The directories that contain all files."""
        self.directories += {os.path.dirname(path): "" for p in self._files.values() for path in p}
        if not self._files:
            self.specs = specs
        self._logdir = Logdir(specs, formats=Formats())
        self._reader = BatchReader(**options)
        self._lock = threading.RLock()
        self._runs: dict[str, TrackedRun] = {}
        """Never changed, but replaced by a new dict, since another thread may be iterating. The
        view of a run is None until the run has been read."""
        self._in_order: list[str] = []
        self._not_in_order: list[str] = []
        """Names of the new runs, which `names` has not sorted yet."""
        self._sizes: Mapping[str, int] | None = None
        """The `sizes`, once they were used after the last scan."""
        self._twins: dict[str, list[SourceFiles]] = {}
        """Logs that event files beside them hide, by the directories of these."""
        self._unshown: dict[str, str] = {}
        """Maps each line about what only they have to the path of one of them."""
        self._logged: set[str] = set()
        self._of_runs: dict[str, list[str]] = {}
        """Maps the runs that had problems when they were last read to these, one line each."""
        self._scan = Scan()
        scan = self._scanned()
        if self._logdir.paced and not scan.runs:
            # Whether remote directories can be listed is known only after the first scan.
            if scan.missing:
                raise FileNotFoundError(errno.ENOENT, "no such directory", scan.missing[0])
            if scan.problems:
                raise OSError(scan.problems[0])
        self._show(scan)

    def names(self) -> list[str]:
        """Names of all runs. Those found by the same scan are sorted by their first event.

        Reads the first event of each run that was not read yet.
        """
        with self._lock:
            runs = [self._runs[name] for name in self._not_in_order]
            self._in_order += [run.name for run in self._reader.in_order(runs)]
            self._not_in_order = []
            return list(self._in_order)

    def names_below(self, name: str) -> list[str]:
        """Names of the runs in the directories below a run, in no particular order."""
        with self._lock:
            return [
                n for n in self._runs if n != name and (name == ROOT or n.startswith(f"{name}/"))
            ]

    def __contains__(self, name: object) -> bool:
        return name in self._runs

    def snapshots(self, names: Iterable[str]) -> dict[str, RunSnapshot]:
        """The data of these runs. Those that were not read yet are read together.

        Raises NotFoundError for a run that is gone.
        """
        with self._lock:
            runs = []
            for name in names:
                if name not in self._runs:
                    raise NotFoundError(f"run {name!r} is gone")
                runs.append(self._runs[name])
            self._read(run for run in runs if run.view is None)
            return {run.name: RunSnapshot(run.view or RunView(), run.modified) for run in runs}

    def last_event_times(self, names: Sequence[str]) -> list[float | None]:
        """The time of the last event of each run, in seconds since the epoch; None without events.

        Of a run that was not read yet, reads only the ends of its files.
        """
        with self._lock:
            runs = [self._runs[name] for name in names]
            unread = [each.files for each in runs if each.view is None]
            events = (files for files in unread if not isinstance(files, SourceFiles))
            files = [*chain.from_iterable(events)]
            ends = dict(zip(files, read_last_event_times(files), strict=True))
            # A last record that is large, or cut off, is found by reading its file from the start,
            # and so are those of other formats.
            unclear = {run.name for run in runs if None in map(ends.get, run.files)}
            views = {name: each.view for name, each in self.snapshots(unclear).items()}
        return [
            views[run.name].last_event_time
            if run.name in views
            else max(time for file in run.files if (time := ends[file]) is not None)
            for run in runs
        ]

    def refresh(self) -> set[str]:
        """Scans again, and reads the new data of the runs that have been read.

        Returns the names of the runs that are new, have changed, or are gone.
        """
        with self._lock:
            return self._show(self._scanned())

    def _show(self, scan: Scan) -> set[str]:
        """Updates the runs to the result of a scan; returns the same as `refresh`."""
        with self._lock:
            known, self._scan = self._scan.problems, scan
            logs = (each for each in scan.other_files if each.are_logs)
            self.not_shown, self.looked_for = list(map(str, logs)), scan.looked_for
            self._twins, self._unshown = {}, {}
            for twin in scan.twins:
                for directory in twin.beside:
                    self._twins.setdefault(directory, []).append(twin)
            for line in scan.problems:
                if line not in known:
                    logger.warning("%s", line)
            gone = {
                name
                for name in self._runs.keys() - scan.runs.keys()
                if not self._runs[name].is_below(scan.unlisted)
            }
            changed = set(gone)
            new = [name for name in scan.runs if name not in self._runs]
            if new or gone:
                self._in_order = [name for name in self.names() if name not in gone]
                self._not_in_order = new
            runs = {name: run for name, run in self._runs.items() if name not in gone}
            for name, files in scan.runs.items():
                run = runs.get(name)
                if run is None:
                    runs[name] = self._reader.run(name, files)
                    changed.add(name)
                    continue
                if run.view is None and files != run.files:
                    changed.add(name)
                run.update(files)
            self._runs, self._sizes = runs, None
            for name in gone:
                self._of_runs.pop(name, None)
            return changed | self._read(run for run in runs.values() if run.view is not None)

    def forget(self, name: str) -> None:
        """Drops the data of a run. It is read from the start when it is used again."""
        with self._lock:
            if name in self._runs:
                self._runs[name] = self._reader.run(name, self._runs[name].files)

    @property
    def problems(self) -> list[str]:
        """The problems of the last scan and of the runs that have been read, one line each."""
        with self._lock:
            missing = [one_line(f"{path} does not exist") for path in self._scan.missing]
            of_runs = chain.from_iterable(self._of_runs.values())
            unshown = (one_line(f"{path}: {line}") for line, path in self._unshown.items())
            found = [*self._problems, *unshown, *islice(of_runs, _MAX_PROBLEMS)]
            return [*missing, *self._scan.problems, *dict.fromkeys(found)]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Maps run names to the size of the run's files in bytes, as of the last scan."""
        with self._lock:
            if self._sizes is None:
                found = {n: sum(file.size for file in r.files) for n, r in self._runs.items()}
                self._sizes = MappingProxyType(found)
            return self._sizes

    def has_event_files(self, name: str) -> bool:
        return name in self._runs and bool(self.files(name))

    def files(self, name: str) -> list[str]:
        """The paths of a run's event files, as of the last scan; none for other formats."""
        files = self._runs[name].files
        return [] if isinstance(files, SourceFiles) else [file.path for file in files]

    def _scanned(self) -> Scan:
        scan = self._logdir.scan()
        for name, paths in self._files.items():
            for path in paths:
                try:
                    file = EventFile.of(path, os.stat(path))
                except OSError:
                    scan.missing.append(path)
                else:
                    scan.runs.setdefault(name, []).append(file)
        return scan

    def _read(self, runs: Iterable[TrackedRun]) -> set[str]:
        """Reads runs to their ends; returns the names of those with a new view."""
        runs = list(runs)
        waiting = dict.fromkeys(run for run in runs if run.reader.has_work)
        num_waiting = len(waiting)
        try:
            for run in self._reader.read(tuple(waiting)):
                self._report(run)
                del waiting[run]
        except BaseException:
            # After Ctrl-C in a notebook, for example, a reader may be in the middle of a record.
            for run in waiting:
                run.read_from_start()
            self._reader.release_buffers()
            raise
        if num_waiting > 1 or len(self._runs) == 1:
            # After a single run of many, the buffers are kept: the next run is probably similar.
            self._reader.release_buffers()
        new = {run.name for run in runs if run.new_view() is not None}
        self._report_unshown(runs)
        return new

    def _report_unshown(self, runs: Sequence[TrackedRun]) -> None:
        """Logs what only the logs have that event files of these runs hide, each kind once."""
        events = (run for run in runs if self._twins and not isinstance(run.files, SourceFiles))
        views = {os.path.dirname(run.files[0].path): run.view for run in events}
        twins = {id(twin): twin for path in views for twin in self._twins.get(path, ())}
        for path, line in unshown_in(twins.values(), views):
            self._unshown.setdefault(line, path)
            if line not in self._logged:
                self._logged.add(line)
                logger.warning("%s", one_line(f"{path}: {line}"))

    def _report(self, run: TrackedRun) -> None:
        """Replaces the problems of a run, and logs those that are not logged yet."""
        known = self._of_runs.pop(run.name, [])
        shortened = cut_off(run)
        if found := [*run.reader.problems_now, *shortened]:
            self._of_runs[run.name] = found
        for line in (*run.reader.read_errors, *shortened):
            if line not in known:
                logger.warning("%s", line)
        run.reader.read_errors = []
