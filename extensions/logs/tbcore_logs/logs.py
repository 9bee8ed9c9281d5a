"""Logs: the runs below some paths, for programs."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tbcore.engine import RunColumns, close_matches, parse, quoted, storage_of, watch
from tbcore_logs.drawings import MAX_SHOWN, table_html
from tbcore_logs.errors import UnknownNameError
from tbcore_logs.reading import Paths, multiplexer_of, reader_of
from tbcore_logs.run import Run, load
from tbcore_logs.series import Point, ScalarSeries
from tbcore_logs.tables import Categories, LogTable, ScalarTable, free_name

Names = str | Iterable[str] | None
"""A name, or a pattern in which `*` is any text and `?` any character; several of these; or None
for all."""
At = Literal["first", "last", "min", "max"] | int
"""Which point of a series: one of these, or the last one at or before a step."""

_PAUSE_FACTOR = 4
"""`follow` waits at least this many times as long as a scan takes, before the next one."""


class Logs:
    """The runs below some paths. May be used from several threads.

    A run is read when it is first asked for. Runs, series and tables never change: what was logged
    later is in those that are asked for after `refresh`.
    """

    def __init__(self, paths: Paths, *, purge_orphaned_data: bool = True) -> None:
        """See `open`."""
        self._reader = reader_of(paths, purge_orphaned_data=purge_orphaned_data)
        self._runs: dict[str, Run] = {}
        """Runs that were asked for, without those that have changed since."""

    # -- runs ----------------------------------------------------------------------------------

    @property
    def runs(self) -> Mapping[str, Run]:
        """All runs by name, in the order of the page: by their first events, new ones last."""
        return MappingProxyType({name: self._run(name) for name in self._reader.names()})

    def __getitem__(self, name: str) -> Run:
        """A run. Raises KeyError, which names similar runs."""
        if name not in self._reader:
            close = close_matches(name, self._reader.names())
            raise UnknownNameError(f"no run {quoted(name)}{close}")
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
        """What a notebook shows: the runs, with more of those that have been read."""
        sizes, rows = self._reader.sizes, []
        for run in list(self.runs.values())[:MAX_SHOWN]:
            is_read = run.is_read
            known = (len(run.tags), run.last_event, run.state) if is_read else ("", "", "")
            rows.append((run.name, sizes.get(run.name, 0), *known))
        caption = f"{len(sizes):,} runs, {sum(sizes.values()):,} bytes"
        return table_html(("run", "bytes", "tags", "last event", "state"), rows, caption)

    def find(self, query: str) -> list[Run]:
        """The runs that a query finds, which is written as in the page: `lr>1e-4 loss:last<0.5`.

        Reads all runs. Raises BadRequestError for what is no query, and warns of hyperparameters
        and tags that no run has.
        """
        return self._selected(None, query)

    def read(self, runs: Names = None, where: str | None = None) -> list[Run]:
        """The runs with these names that a query finds, read together.

        This is faster than one after the other. Raises KeyError for an unknown name.
        """
        return self._selected(runs, where)

    def forget(self, runs: Iterable[str]) -> None:
        """Frees the memory for what was read of these runs, which are read again if asked for.

        Runs and series that the caller has stay as they are.
        """
        for name in runs:
            self._runs.pop(name, None)
            self._reader.forget(name)

    def attributes(self) -> RunColumns:
        """Hyperparameters and values of all runs as columns. Reads all runs."""
        everything = load(map(self._run, self._reader.names()), self._reader)
        return RunColumns.of(multiplexer_of(everything))

    @property
    def sizes(self) -> Mapping[str, int]:
        """Maps the names of all runs to the size of their files in bytes."""
        return self._reader.sizes

    @property
    def modified(self) -> Mapping[str, float]:
        """Maps the names of all runs to when a file was written last, in seconds since the epoch.

        Nothing is read.
        """
        return self._reader.modified

    @property
    def problems(self) -> list[str]:
        """What is wrong with the files that have been read, the directories and the index; a line
        each. A command that opened logs with problems ends with status 3.

        What was found first is logged as a warning, too.
        """
        return self._reader.problems

    # -- tables --------------------------------------------------------------------------------

    def scalars(
        self, tags: Names = None, runs: Names = None, where: str | None = None
    ) -> ScalarTable:
        """All points of these tags, in these runs, if a query finds them: see `find`.

        Raises KeyError for a name that no run has, unless it is a pattern. If the query finds no
        run, the table is empty, and a warning says so.
        """
        found = self._scalar_tags(tags, self._selected(runs, where), where)
        series = [(run.name, tag, run[tag]) for run, own in found for tag in own]
        return _table_of(series)

    def summary(
        self,
        tags: Names = None,
        at: At = "last",
        *,
        steps: bool = False,
        runs: Names = None,
        where: str | None = None,
    ) -> LogTable:
        """One value of each tag, with a row for each run that has any of the tags.

        The columns are `run` and the tags, as float64, with NaN for what a run lacks. With `steps`
        each tag is followed by a column `TAG:step` with the step of the value. A tag with the name
        of another column gets a `_` at its end. Tags, runs and `where` are those of `scalars`.
        """
        with_tags = self._scalar_tags(tags, self._selected(runs, where), where)
        found = [(run, own) for run, own in with_tags if own]
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

    def hparams(self, runs: Names = None, where: str | None = None) -> LogTable:
        """The hyperparameters, with a row for each run that has some; see `Run.hparams`.

        The columns are `run` and the names. Numbers are float64, with NaN for what a run lacks. All
        other columns have objects, with None for what a run lacks.
        """
        selected = self._selected(runs, where)
        by_run = self.attributes().index.hparams.by_run
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

    # -- what is logged later ------------------------------------------------------------------

    def refresh(self) -> set[str]:
        """Looks for what was logged since, and reads it for all runs that have been read.

        Returns the names of the runs that are new, have changed, or are gone.
        """
        changed = self._reader.refresh()
        for name in changed:
            self._runs.pop(name, None)
        return changed

    def follow(self, *, interval: float | None = None) -> Iterator[set[str]]:
        """Waits for changes, and yields what `refresh` returns, unless that is empty. Never ends.

        The system reports changes at once on most file systems. On all others, they are found after
        at most `interval` seconds, or four times as long as a scan takes. The interval is one
        second, and 30 seconds if a directory is remote, where a scan costs requests.
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

    def _run(self, name: str) -> Run:
        return self._runs.setdefault(name, Run(name, self._reader))

    def _selected(self, names: Names, where: str | None) -> list[Run]:
        """The runs with these names that a query finds, all of them read."""
        query = None if where is None else parse(where)
        known = self._reader.names()
        runs = [self._run(name) for name in matching(names, known, "run")]
        if query is not None:
            # Hyperparameters of a run may be those of any other.
            columns = self.attributes()
            found = set(columns.runs_found(query))
            runs = [run for run in runs if run.name in found]
            if unknown := list(dict.fromkeys(columns.unknown_names(query))):
                warnings.warn("\n".join(unknown), stacklevel=3)
        load(runs, self._reader)
        return runs

    def _scalar_tags(
        self, tags: Names, runs: Sequence[Run], where: str | None
    ) -> list[tuple[Run, list[str]]]:
        """Each run with those of the tags that it has; a warning if a query has left no run."""
        if where is not None and tags is not None and not runs:
            warnings.warn(f"no run is found by {quoted(where)}", stacklevel=3)
            return []
        by_run = [(run, run.scalar_tags) for run in runs]
        wanted = set(matching(tags, dict.fromkeys(t for _, own in by_run for t in own), "tag"))
        return [(run, [tag for tag in own if tag in wanted]) for run, own in by_run]


def open(paths: Paths, *, purge_orphaned_data: bool = True) -> Logs:
    """The logs below a directory; nothing is read but the directory.

    `paths` is a directory or an event file, a sequence of these, or a mapping of names to these, in
    which the names are put before those of the runs. Runs are named as `tbcore serve` names them.
    Unless `purge_orphaned_data` is false, rows that a restart of the training orphaned are left
    out, as the server leaves them out.

    Raises FileNotFoundError for a path that does not exist, and ValueError for a file that is no
    event file, or an address that cannot be read.
    """
    return Logs(paths, purge_orphaned_data=purge_orphaned_data)


def matching(names: Names, known: Iterable[str], what: str | None) -> list[str]:
    """The known names that are wanted. Raises UnknownNameError for names that are not known.

    `what` says in the message what the names are names of. With None, unknown names are ignored.
    """
    known = dict.fromkeys(known)
    if names is None:
        return list(known)
    found: set[str] = set()
    for name in [names] if isinstance(names, str) else names:
        if name in known:
            found.add(name)
        elif "*" in name or "?" in name:
            pattern = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".")
            matches = re.compile(pattern, re.DOTALL).fullmatch
            found.update(filter(matches, known))
        elif what is not None:
            raise UnknownNameError(f"no {what} {quoted(name)}{close_matches(name, known)}")
    return [name for name in known if name in found]


def _point(series: ScalarSeries, at: At) -> Point | None:
    if not isinstance(at, str):
        return series.at(at)
    if at not in get_args(get_args(At)[0]):
        raise ValueError(f"at must be first, last, min, max or a step, got {at!r}")
    point: Point | None = getattr(series, at)
    return point


def _categories(runs: Sequence[Run]) -> Categories:
    """A column with a different run in each row."""
    return Categories(np.arange(len(runs), dtype=np.int32), [run.name for run in runs])


def _table_of(points: Sequence[tuple[str, str, ScalarSeries]]) -> ScalarTable:
    """The points of several series, each with its run and tag."""
    lengths = [len(series) for *_, series in points]

    def categories(names: Sequence[str]) -> Categories:
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        each = np.array([codes[name] for name in names], np.int32)
        return Categories(np.repeat(each, lengths), list(codes))

    def column(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(s, name) for *_, s in points)])

    return ScalarTable(
        categories([run for run, *_ in points]),
        categories([tag for _, tag, _ in points]),
        column("step", np.int64),
        column("wall_time", np.float64),
        column("value", np.float32),
    )
