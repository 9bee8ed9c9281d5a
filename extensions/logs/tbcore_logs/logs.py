"""Logs: the runs below some paths, for Python programs."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tbcore.engine import (
    Notes,
    RunAttributes,
    RunColumns,
    one_line,
    parse,
    quoted,
    storage_of,
    watch,
)
from tbcore_logs.drawings import MAX_SHOWN, table_html
from tbcore_logs.errors import UnknownNameError, instead, lines_about
from tbcore_logs.groups import Grid, group_runs, mean_table, missing_in, statistics_of
from tbcore_logs.noted import RunNotes, notes_of
from tbcore_logs.paths import Paths
from tbcore_logs.readers import reader_of
from tbcore_logs.reading import RunSnapshot, multiplexer_of
from tbcore_logs.run import Run, load
from tbcore_logs.selection import Names, matching
from tbcore_logs.series import Point, ScalarSeries, table_of
from tbcore_logs.tables import Categories, LogTable, ScalarTable, free_name

At = Literal["first", "last", "min", "max", "nan"] | int
"""Selects a value of a series: that of one of these points, or with a step, of the last point at or
before it. `nan` is the step of the first value that is NaN or infinite."""

_PAUSE_FACTOR = 4
"""The pause between two scans of `follow` is at least this many times as long as the first one."""


class Logs(Mapping[str, Run]):
    """The runs below some paths, by name, in the order of the page. May be used from several
    threads.

    A run is read when it is first used. Runs, series and tables never change: to get the data that
    was logged since, call `refresh`, and look them up again. A copy in another process is opened
    there again.
    """

    __hash__ = object.__hash__

    def __init__(self, paths: Paths, *, purge_orphaned_data: bool = True) -> None:
        """See `open`."""
        self._reader = reader_of(paths, purge_orphaned_data=purge_orphaned_data)
        self._runs: dict[str, Run] = {}
        """The runs that were looked up, without those that have changed since."""
        self._all: tuple[list[RunSnapshot], RunAttributes] | None = None
        """The data of all runs, and its attributes, once these were used."""

    # -- runs ----------------------------------------------------------------------------------

    @property
    def runs(self) -> Mapping[str, Run]:
        """All runs by name, as they are now: by their first events, new ones last."""
        return MappingProxyType(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, self._reader.opened

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getitem__(self, name: str) -> Run:
        """A run. For an unknown name, raises KeyError with similar names."""
        if name not in self._reader:
            others = instead(name, self._reader.names())
            raise UnknownNameError(f"no run {quoted(name)}{others}")
        return self._run(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._reader.names())

    def __contains__(self, name: object) -> bool:
        return name in self._reader

    def __len__(self) -> int:
        return len(self._reader.sizes)

    def __repr__(self) -> str:
        sizes = self._reader.sizes
        return f"Logs(num_runs={len(sizes)}, num_bytes={sum(sizes.values())})"

    def _repr_html_(self) -> str:
        """For notebooks: a table of the runs, with details of those that have been read."""
        sizes, rows = self._reader.sizes, []
        shown = list(self.runs.values())[:MAX_SHOWN]
        noted = RunNotes(lambda: self.notes)
        display_names = [noted.of(run.name).get("display_name", "") for run in shown]
        for run, display_name in zip(shown, display_names, strict=True):
            is_read = run.is_read
            known = (
                (len(run.tags), run.last_event or "", run.state or "") if is_read else ("", "", "")
            )
            named = [display_name] if any(display_names) else []
            rows.append((run.name, *named, sizes.get(run.name, 0), *known))
        caption = f"{len(sizes):,} runs, {sum(sizes.values()):,} bytes"
        header = ["run", "bytes", "tags", "last event", "state"]
        header[1:1] = ["display name"] if any(display_names) else []
        return table_html(header, rows, caption)

    def find(self, query: str) -> list[Run]:
        """The runs that match a query such as `lr>1e-4 loss:last<0.5`, as in the page.

        Reads all runs. Raises BadRequestError for a text that is not a valid query, and warns about
        hyperparameters and tags that no run has.
        """
        return self._selected(None, query)

    def read(self, *, runs: Names = None, where: str | None = None) -> list[Run]:
        """Reads the runs with these names that match a query, and returns them.

        Faster than reading them one by one. Raises KeyError for an unknown name.
        """
        return self._selected(runs, where)

    def newest(self, *, runs: Names = None) -> Run:
        """The run with the latest event, which is the last of these if several have it.

        Reads only the ends of files. Raises KeyError for an unknown name, ValueError without runs.
        """
        names = matching(runs, self._reader.names(), "run")
        times = [-math.inf if t is None else t for t in self._reader.last_event_times(names)]
        return self._run(max(zip(times, range(len(names)), names, strict=True))[-1])

    def forget(self, runs: Iterable[str]) -> None:
        """Frees the memory for the data of these runs. If they are used again, they are read again.

        Runs and series that the caller still has do not change.
        """
        self._all = None
        for name in runs:
            self._runs.pop(name, None)
            self._reader.forget(name)

    def attributes(self, *, none_archived: bool = False) -> RunColumns:
        """Hyperparameters and values of all runs as columns. Reads all runs.

        With `none_archived`, queries find what they would find if no run were archived.
        """
        columns = self._everything().columns()
        columns.notes, columns.report = notes_of(self._reader, none_archived), self._reader.report
        return columns

    @property
    def sizes(self) -> Mapping[str, int]:
        """Maps the names of all runs to the size of their files in bytes."""
        return self._reader.sizes

    @property
    def notes(self) -> Notes:
        """What users have noted about the runs, for several at once; see `Run.note` and others.

        `logs.notes.change(["a", "b"], {"starred": True})`, `logs.notes.values("a")`. Raises
        OptionError without tbcore-notes, or if runs of several directories may have one name.
        """
        return self._reader.notes

    @property
    def problems(self) -> list[str]:
        """Problems of the files that have been read, of the directories, of the index, and of the
        notes that a query was about, one line each. A command that opened logs with problems ends
        with status 3.

        The first problem of each file is also logged as a warning.
        """
        return [*self._reader.problems, *self._reader.notes_problems]

    # -- tables --------------------------------------------------------------------------------

    def scalars(
        self, tags: Names = None, *, runs: Names = None, where: str | None = None
    ) -> ScalarTable:
        """All points of these tags in these runs. With `where`, only in runs that match a query.

        See `find` for queries. Raises KeyError for a name that no run has, unless it is a pattern.
        If no run matches the query, warns, and returns an empty table.
        """
        found = self._scalar_tags(tags, self._selected(runs, where))
        series = [(run.name, tag, run[tag]) for run, own in found for tag in own]
        return table_of(series)

    def summary(
        self,
        tags: Names = None,
        at: At = "last",
        *,
        steps: bool = False,
        by: str | None = None,
        runs: Names = None,
        where: str | None = None,
    ) -> LogTable:
        """One value of each tag, in a row for each run that has any of the tags.

        The columns are `run` and the tags, as float64, with NaN where a run has no value. With
        `steps`, each tag is followed by a column `TAG:step` with the step of the value. A tag with
        the name of another column gets a `_` at its end. See `scalars` for the other arguments.

        With `by`, such as `"lr,model"` or `"seeds"`, there is a row for each group of these runs.
        The columns are `group`, the number of its `runs`, and for each tag the `TAG mean` of the
        finite values, their `TAG deviation` over n - 1, and numbers of values: `TAG n` finite ones,
        `TAG nonfinite`, `TAG missing`, and with `at="min"` or `"max"` `TAG diverged`, those of runs
        that end with NaN or infinity. With a step, `TAG ended` are the runs that ended before:
        they are in no other number. A mean or deviation of too few values is NaN. Raises
        BadRequestError for a text that is not a rule, KeyError for an attribute that no run has.
        """
        if steps and by is not None:
            raise ValueError("steps=True is for rows of runs: a group has no step of its value")
        with_tags = self._scalar_tags(tags, self._selected(runs, where))
        found = [(run, own) for run, own in with_tags if own]
        if by is not None:
            return self._group_summary(found, at, by)
        columns: dict[str, Categories | NDArray[Any]] = {"run": _categories([r for r, _ in found])}
        for tag in dict.fromkeys(tag for _, own in found for tag in own):
            points = [_point(run[tag], at) if tag in own else None for run, own in found]
            columns[free_name(tag, columns)] = np.array(
                [np.nan if p is None else p.value for p in points], float
            )
            if steps:
                known = [np.nan if p is None else p.step for p in points]
                columns[free_name(f"{tag}:step", columns)] = np.array(
                    known, float if None in points else np.int64
                )
        return LogTable(columns)

    def mean(
        self,
        tag: str,
        *,
        by: str | None = None,
        grid: Grid = None,
        runs: Names = None,
        where: str | None = None,
    ) -> LogTable:
        """The mean of a tag over several runs, in a row for each step; with `by`, of each group.

        The columns are `group`, if there is `by`, the `step`, the `mean` of the finite values,
        their `deviation` over n - 1, the number `n` of them, that of `nonfinite` ones, and that of
        the `runs` that have the tag: the others have not begun, or have ended. A mean or deviation
        of too few values is NaN.

        Steps are all those of the runs; with a number as `grid`, at most so many of them, evenly
        among all; or `grid` are the steps. Between two points, the value of a run is interpolated.
        Points that a restart replaced do not count. See `summary` for `by`, and `scalars` for the
        other arguments. Raises ValueError for a pattern of several tags.
        """
        with_tags = self._scalar_tags(tag, self._selected(runs, where))
        if len(tags := {tag for _, own in with_tags for tag in own}) > 1:
            raise ValueError(f"a mean is of one tag, got {', '.join(map(quoted, sorted(tags)))}")
        found = {run.name: run[own] for run, tags in with_tags for own in tags if len(run[own])}
        return mean_table(found, by, grid, self.attributes)

    def hparams(self, *, runs: Names = None, where: str | None = None) -> LogTable:
        """The hyperparameters, in a row for each run that has any; see `Run.hparams`.

        The columns are `run` and the hyperparameters. Columns of numbers are float64, with NaN
        where a run has no value. All other columns are objects, with None for a missing value.
        """
        selected = self._selected(runs, where)
        all_found = self._everything().multiplexer.hyperparameters(run.name for run in selected)
        self._reader.report(*filter(None, (own.problem for own in all_found.values())))
        by_run = {name: own.values for name, own in all_found.items() if own.values}
        found = [run for run in selected if run.name in by_run]
        columns: dict[str, Categories | NDArray[Any]] = {"run": _categories(found)}
        for name in dict.fromkeys(name for run in found for name in by_run[run.name]):
            values = [by_run[run.name].get(name) for run in found]
            column = free_name(name, columns)
            types = {type(value) for value in values}
            if types <= {float, type(None)}:  # None becomes NaN.
                columns[column] = np.array(values, float)
            else:
                columns[column] = np.array(values, bool if types == {bool} else object)
        return LogTable(columns)

    # -- changes -------------------------------------------------------------------------------

    def refresh(self) -> set[str]:
        """Scans the directories, and reads the new data of all runs that have been read.

        Returns the names of the runs that are new, have changed, or are gone.
        """
        changed = self._reader.refresh()
        for name in changed:
            self._runs.pop(name, None)
            self._all = None
        return changed

    def follow(self, *, interval: float | None = None) -> Iterator[set[str]]:
        """Waits for changes, and yields the names of the runs that are new, changed or gone.

        Never ends. Most file systems report changes at once. On others, changes are found by a scan
        every `interval` seconds, by default 1, or 30 if a directory costs requests to list.
        """
        if interval is None:
            interval = 1.0
            if any(storage_of(path).requests_cost for path in self._reader.directories):
                interval = 30.0
        wake, stopping = threading.Event(), threading.Event()
        watch(self._reader.directories, wake, stopping)
        try:
            while True:
                wake.clear()
                began_at = time.monotonic()
                if changed := self.refresh():
                    yield changed
                    continue
                # Frequent changes in a large directory must not keep a processor busy.
                min_pause = min(_PAUSE_FACTOR * (time.monotonic() - began_at), interval)
                time.sleep(min_pause)
                wake.wait(interval - min_pause)
        finally:
            stopping.set()

    # -- private -------------------------------------------------------------------------------

    def _everything(self) -> RunAttributes:
        """The attributes of all runs, which are read."""
        snapshots = load(map(self._run, self._reader.names()), self._reader)
        found, known = list(snapshots.values()), self._all
        if known is None or list(map(id, known[0])) != list(map(id, found)):
            self._all = known = found, RunAttributes(multiplexer_of(snapshots))
        return known[1]

    def _run(self, name: str) -> Run:
        return self._runs.setdefault(name, Run(name, self._reader))

    def _selected(self, names: Names, where: str | None) -> list[Run]:
        """Reads the runs with these names that match a query, and returns them."""
        query = None if where is None else parse(where)
        known = self._reader.names()
        runs = [self._run(name) for name in matching(names, known, "run")]
        if not runs:
            none = f"no run matches {names!r}" if known else "there are no event files"
            warnings.warn(one_line(none), stacklevel=3)
        elif query is not None:
            # A run may have the hyperparameters of any other run.
            columns = self.attributes()
            found = set(columns.runs_found(query))
            runs = [run for run in runs if run.name in found]
            unknown = list(dict.fromkeys(lines_about(columns.unknown(query))))
            if not runs and not unknown:
                unknown = [f"no run is found by {quoted(where or '')}"]
            if unknown:
                warnings.warn("\n".join(unknown), stacklevel=3)
        load(runs, self._reader)
        return runs

    def _group_summary(
        self, found: Sequence[tuple[Run, Sequence[str]]], at: At, by: str
    ) -> LogTable:
        """See `summary`."""
        groups = group_runs(by, [run.name for run, _ in found], self.attributes)
        codes = np.arange(len(groups.names), dtype=np.int32)
        columns: dict[str, Categories | NDArray[Any]] = {
            "group": Categories(codes, groups.names),
            "runs": groups.sizes,
        }

        def values(tag: str, at: At) -> list[float | None]:
            points = [_point(run[tag], at) if tag in own else None for run, own in found]
            return [None if point is None else point.value for point in points]

        for tag in dict.fromkeys(tag for _, own in found for tag in own):
            last = values(tag, "last") if at in ("min", "max") else None
            ended = None
            if not isinstance(at, str):
                ends = [run[tag].last if tag in own else None for run, own in found]
                ended = [end is not None and end.step < at for end in ends]
            statistics = statistics_of(groups, values(tag, at), last, ended)
            for name, column in statistics.columns().items():
                columns[free_name(f"{tag} {name}", columns)] = column
        return LogTable(columns, missing_in(columns))

    def _scalar_tags(self, tags: Names, runs: Sequence[Run]) -> list[tuple[Run, list[str]]]:
        """Each run with the tags of these that it has."""
        if not runs:
            return []
        by_run = [(run, run.scalar_tags) for run in runs]
        wanted = set(matching(tags, dict.fromkeys(t for _, own in by_run for t in own), "tag"))
        return [(run, [tag for tag in own if tag in wanted]) for run, own in by_run]


def open(paths: Paths, *, purge_orphaned_data: bool = True) -> Logs:
    """The logs below a directory. Scans the directory, but reads no files yet.

    `paths` is a directory or an event file, a sequence of these, or a mapping from names to these.
    Runs have the same names as in `tbcore serve`, after the name in the mapping, if any. Rows that
    a restart of the training orphaned are left out, as in the server, unless `purge_orphaned_data`
    is false.

    Raises FileNotFoundError for a path that does not exist, and ValueError for a file that is not
    an event file, or an address that is not valid.
    """
    return Logs(paths, purge_orphaned_data=purge_orphaned_data)


def _opened(paths: Paths, purge_orphaned_data: bool) -> Logs:
    """Logs that were in another process."""
    return Logs(paths, purge_orphaned_data=purge_orphaned_data)


def _point(series: ScalarSeries, at: At) -> Point | None:
    if not isinstance(at, str):
        return series.at(at)
    if at not in get_args(get_args(At)[0]):
        raise ValueError(f"at must be first, last, min, max, nan or a step, got {at!r}")
    point: Point | None = getattr(series, at)
    return point._replace(value=float(point.step)) if point and at == "nan" else point


def _categories(runs: Sequence[Run]) -> Categories:
    """A column with a different run in each row."""
    return Categories(np.arange(len(runs), dtype=np.int32), [run.name for run in runs])
