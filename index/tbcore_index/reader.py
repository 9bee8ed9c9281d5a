"""IndexReader: the runs of an index. Reads a series when somebody asks for it."""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tbcore.errors import DataLossError, NotFoundError, OptionError
from tbcore.eventfiles.logdir import EventFile, LogdirSpec, is_remote
from tbcore.eventfiles.table import (
    GRAPH_FIELDS,
    Columns,
    References,
    Table,
    TableColumn,
    bounds_of,
    even_steps,
)
from tbcore.index import StoredRun
from tbcore.kinds import Kind, matches
from tbcore.store.series import LastPoints, Series
from tbcore.store.state import quoted
from tbcore.store.view import FileRef, RunView, Schema, TagInfo
from tbcore_index.tables import COLUMNS, FORMAT, Place, SegmentFile, segments_of

T = TypeVar("T")

DEFAULT_CACHE_BYTES = 1_000_000_000
_MAX_OPEN_FILES = 512
_SERIES_BYTES = 600
"""Approximate memory of a SeriesRow."""

_SHOWN = (
    "run", "segment", "revision", "first_series", "num_series", "shape", "num_points",
    "num_items", "first_event_time", "last_event_time", "nonfinite_tags", "problems",
)  # fmt: skip
"""The columns of `runs` that a list of runs needs; the others are read when a run goes on."""


class SeriesRow(NamedTuple):
    """A row of `series`; the fields are its columns."""

    run: str
    tag: str
    field: str
    plugin: str
    is_scalar: bool
    metadata: bytes | None
    first_row: int
    num_rows: int
    has_ordinals: bool
    last_ordinal: int
    first_step: int
    last_step: int
    highest_step: int
    first_wall_time: float
    last_wall_time: float
    last_value: float
    min: float
    max: float
    num_nonfinite: int


class IndexedRun(NamedTuple):
    """Where a run is in the index, and what a list of runs shows of it."""

    name: str
    segment: str
    revision: str
    first_series: int
    num_series: int
    shape: str
    num_points: int
    num_items: int
    first_event_time: float | None
    last_event_time: float | None
    nonfinite_tags: Sequence[str]
    problems: list[str]
    files: tuple[EventFile, ...]


class IndexReader:
    """The runs of an index, as of the last refresh. May be used from several threads."""

    def __init__(
        self,
        path: str,
        *,
        only: Collection[str] | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        """Opens the index: all of it, or only these segments.

        Raises TbcoreError if there is none, or if it is of another format.
        """
        self.place = Place(path)
        self._table = self.place.delta("runs")
        properties = self._table.metadata().configuration
        if properties.get("tbcore.format") != FORMAT:
            found = properties.get("tbcore.format", "none")
            raise OptionError(
                f"{self.place} has format {found}, expected {FORMAT}; "
                f"make it again with this version of `tbcore index`"
            )
        self.specs: Sequence[LogdirSpec] = [
            LogdirSpec(*spec) for spec in json.loads(properties["tbcore.logdirs"])
        ]
        """The log directories that the index was made from."""
        self.purge_orphaned_data = properties["tbcore.purge_orphaned_data"] == "true"
        self.runs: Mapping[str, StoredRun] = {}
        """By name. A run that has not changed since the last refresh is the same object. Runs are
        in the order of their first events."""
        self.damaged: dict[str, str] = {}
        """Segments of which the runs are not known, since their files are damaged: each with a line
        that says why."""
        self._only = only
        self._by_segment: dict[str, list[IndexedRun]] = {}
        self._places: dict[str, IndexedRun] = {}
        self._schemas: dict[str, Schema] = {}
        self._bookmarks: tuple[str, dict[str, Any]] = "", {}
        """The bookmarks of the segment of which one was asked for last."""
        self._cache = _Cache(self.place, cache_bytes)
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Takes note of what was committed since.

        Raises TbcoreError or OSError if the index cannot be read; then all stays as it was.
        """
        with self._lock:
            if self._by_segment:
                version = self._table.version()
                self._table.update_incremental()
                if self._table.version() == version:
                    return
            segments = segments_of(self._table) if self._only is None else self._only
            by_segment = {n: self._by_segment.get(n) or self._runs_of(n) for n in segments}
            runs = [run for each in by_segment.values() for run in each]
            runs.sort(key=_sort_key)
            known = self.runs
            self._by_segment, self._places = by_segment, {run.name: run for run in runs}
            self.runs = {run.name: self._stored(run, known.get(run.name)) for run in runs}

    def _stored(self, run: IndexedRun, known: StoredRun | None) -> StoredRun:
        if known is not None and known.revision == run.revision:
            return known
        view = StoredView(self, run, self._schemas[run.shape])
        return StoredRun(view, run.files, run.revision, partial(self._bookmark, run), run.problems)

    def _runs_of(self, segment: str) -> list[IndexedRun]:
        """The runs of a segment; none if it is damaged."""
        try:
            runs = self._read_runs(segment)
            self._add_schemas(runs)
        except (DataLossError, NotFoundError, FileNotFoundError) as error:
            self.damaged[segment] = str(error)
            return []
        except (TypeError, ValueError) as error:
            self.damaged[segment] = f"segment {segment} of the index is damaged: {error}"
            return []
        return runs

    def _read_runs(self, segment: str) -> list[IndexedRun]:
        file = self.place.open("runs", segment)
        rows = file.whole([*_SHOWN, "files"])
        columns = [rows.column(name).to_pylist() for name in _SHOWN]
        files = rows.column("files").combine_chunks()
        flat = [files.flatten().field(name).to_pylist() for name in EventFile._fields]
        if any(None in column for column in flat):
            raise ValueError("a file lacks a field")
        each_file = list(map(EventFile._make, zip(*flat, strict=True)))
        ends = files.offsets.to_pylist()
        runs = []
        for index, fields in enumerate(zip(*columns, strict=True)):
            of_run = tuple(each_file[ends[index] : ends[index + 1]])
            runs.append(IndexedRun._make((*fields, of_run)))
        return runs

    def _bookmark(self, run: IndexedRun) -> Any:
        """What a RunReader needs to go on with a run."""
        segment = self.located(run).segment
        if self._bookmarks[0] != segment:
            rows = self.place.open("runs", segment).whole(["run", "bookmark"])
            names = rows.column("run").to_pylist()
            self._bookmarks = segment, dict(zip(names, rows.column("bookmark"), strict=True))
        return json.loads(self._bookmarks[1][run.name].as_py())

    @property
    def problems(self) -> Collection[str]:
        """One line for each damaged segment of which the runs are not known."""
        return self.damaged.values()

    @property
    def segments(self) -> Mapping[str, Sequence[IndexedRun]]:
        """The runs of each segment."""
        return self._by_segment

    def _add_schemas(self, runs: Sequence[IndexedRun]) -> None:
        """Makes the schemas of all shapes, each from the first run of the shape."""
        first_of: dict[str, IndexedRun] = {}
        for run in runs:
            if run.shape not in self._schemas:
                first_of.setdefault(run.shape, run)
        for shape, run in first_of.items():
            tags: dict[str, TagInfo] = {}
            for row in self.series_rows(run):
                kinds = tags[row.tag].kinds if row.tag in tags else ()
                kind = Kind(row.field, row.plugin, row.is_scalar)
                tags[row.tag] = TagInfo((*kinds, kind), row.metadata)
            self._schemas[shape] = Schema(tags)

    def series_rows(self, run: IndexedRun) -> list[SeriesRow]:
        """The rows of a run in `series`."""
        rows: list[SeriesRow] = []
        begin, end = run.first_series, run.first_series + run.num_series
        for group, first, last in self._file("series", run).rows(begin, end):
            found = self._cache.series(run.segment, group)[first:last]
            if any(row.run != run.name for row in found):
                raise _damaged(run, "the series of other runs")
            rows += found
        return rows

    def rows(self, run: IndexedRun, table: str, begin: int, end: int) -> dict[str, NDArray[Any]]:
        """Columns of some rows of a run in `points` or `items`."""
        parts = [
            {name: array[first:last] for name, array in self._cache.rows(table, run.segment, group)}
            for group, first, last in self._file(table, run).rows(begin, end)
        ]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def located(self, run: IndexedRun) -> IndexedRun:
        """Where a run is by now: its segment may have been replaced. Raises NotFoundError."""
        if run.segment in self._by_segment:
            return run
        found = self._places.get(run.name)
        if found is None or found.revision != run.revision:
            raise NotFoundError(f"run {quoted(run.name)} was indexed again; ask again")
        return found

    def _file(self, table: str, run: IndexedRun) -> SegmentFile:
        return self._cache.file(table, run.segment)


class _SegmentGoneError(NotFoundError):
    """A segment was replaced, and its files were deleted."""


class _Cache:
    """Open files and row groups of an index, the most recently used ones."""

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._place = place
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._files: OrderedDict[tuple[str, str], SegmentFile] = OrderedDict()
        self._groups: OrderedDict[tuple[str, str, int], tuple[Any, int]] = OrderedDict()
        self._lock = threading.RLock()

    def file(self, table: str, segment: str) -> SegmentFile:
        with self._lock:
            key = table, segment
            if key not in self._files:
                try:
                    self._files[key] = self._place.open(table, segment)
                except FileNotFoundError:
                    raise _SegmentGoneError(
                        f"segment {segment} of the index {self._place} is gone"
                    ) from None
                if len(self._files) > _MAX_OPEN_FILES:
                    self._files.popitem(last=False)
            self._files.move_to_end(key)
            return self._files[key]

    def series(self, segment: str, group: int) -> list[SeriesRow]:
        """A row group of `series`."""
        return self._get("series", segment, group)  # type: ignore[no-any-return]

    def rows(self, table: str, segment: str, group: int) -> list[tuple[str, NDArray[Any]]]:
        """A row group of `points` or `items`: its columns of numbers."""
        return self._get(table, segment, group)  # type: ignore[no-any-return]

    def _get(self, table: str, segment: str, group: int) -> Any:
        key = table, segment, group
        with self._lock:
            if key not in self._groups:
                value, size = _decoded(table, self.file(table, segment), group)
                self._groups[key] = value, size
                self._num_bytes += size
                while self._num_bytes > self._max_bytes and len(self._groups) > 1:
                    self._num_bytes -= self._groups.popitem(last=False)[1][1]
            self._groups.move_to_end(key)
            return self._groups[key][0]


def _decoded(table: str, file: SegmentFile, group: int) -> tuple[Any, int]:
    """A row group as it is cached, and its size in bytes."""
    if table == "series":
        columns = [column.to_pylist() for column in file.group(group).select(SeriesRow._fields)]
        rows = list(map(SeriesRow._make, zip(*columns, strict=True)))
        return rows, _SERIES_BYTES * len(rows)
    names = [f.name for f in COLUMNS[table] if not pa.types.is_string(f.type)]
    numbers = file.group(group, names)
    arrays = [(name, numbers.column(name).to_numpy()) for name in names]
    return arrays, sum(array.nbytes for _, array in arrays)


class StoredView(RunView):
    """A run of an index. Its rows are read when they are asked for."""

    __slots__ = ("_index", "_run")
    _index: IndexReader
    _run: IndexedRun

    def __init__(self, index: IndexReader, run: IndexedRun, schema: Schema) -> None:
        # The base class is frozen.
        for name, value in (
            ("schema", schema), ("_index", index), ("_run", run),
            ("first_event_time", run.first_event_time), ("last_event_time", run.last_event_time),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def nonfinite_tags(self) -> tuple[str, ...]:
        return tuple(self._run.nonfinite_tags)

    @property
    def files(self) -> tuple[FileRef, ...]:
        return tuple(
            FileRef(file.path, "" if is_remote(file.path) else file.version)
            for file in self._run.files
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """All rows of the run."""

        def read(run: IndexedRun) -> tuple[Table, ...]:
            rows = [row for row in self._index.series_rows(run) if row.num_rows]
            return (self._table(run, rows),) if rows else ()

        return self._read_at(read)

    def series(self, tag: str) -> list[Series]:
        kinds = self.schema.tags[tag].kinds

        def read(run: IndexedRun) -> list[Series]:
            rows = [row for row in self._index.series_rows(run) if row.tag == tag]
            if len(rows) != len(kinds):
                raise _damaged(run, f"{len(rows)} series of {quoted(tag)}")
            return [
                Series(kind, [(self._table(run, [row]), 0)] if row.num_rows else ())
                for kind, row in zip(kinds, rows, strict=True)
            ]

        return self._read_at(read)

    def last_points(self, claims: tuple[Any, ...]) -> LastPoints:
        last: dict[str, SeriesRow] = {}
        for row in self._rows():
            if row.is_scalar and row.num_rows:
                kind = Kind(row.field, row.plugin, row.is_scalar)
                before = last.get(row.tag)
                is_last = before is None or before.last_ordinal < row.last_ordinal
                if is_last and matches(claims, kind):
                    last[row.tag] = row
        return LastPoints(
            list(last),
            np.array([row.last_step for row in last.values()], np.int64),
            np.array([row.last_wall_time for row in last.values()], np.float64),
            np.array([row.last_value for row in last.values()], np.float64),
        )

    def last_point(self, tag: str) -> tuple[int, float] | None:
        rows = [r for r in self._rows() if r.tag == tag and r.is_scalar and r.num_rows]
        if not rows:
            return None
        last = max(rows, key=lambda row: row.last_ordinal)
        return last.last_step, last.last_value

    def highest_step(self) -> int | None:
        rows = [row for row in self._rows() if row.num_rows]
        return max((r.highest_step for r in rows if r.field not in GRAPH_FIELDS), default=None)

    def _rows(self) -> list[SeriesRow]:
        return self._read_at(self._index.series_rows)

    def _read_at(self, read: Callable[[IndexedRun], T]) -> T:
        """Calls a function with where the run is by now: its segment may have been replaced."""
        try:
            return read(self._index.located(self._run))
        except _SegmentGoneError:
            self._index.refresh()
            return read(self._index.located(self._run))

    def _table(self, run: IndexedRun, rows: Sequence[SeriesRow]) -> Table:
        """A table with the rows of these series, which have some."""
        in_order = sorted(rows, key=lambda row: (not row.is_scalar, row.first_row))
        numbers = {(row.tag, row.field, row.is_scalar): i for i, row in enumerate(in_order)}
        columns = Columns.of(
            tuple(TableColumn(r.tag, r.field, r.is_scalar, r.metadata) for r in in_order),
            tuple(numbers[row.tag, row.field, row.is_scalar] for row in rows),
        )
        bounds = bounds_of(row.num_rows for row in in_order)
        scalars = [row for row in in_order if row.is_scalar]
        others = in_order[len(scalars) :]
        points = self._read(run, "points", scalars)
        items = self._read(run, "items", others)
        step, wall_time, ordinal = (
            np.concatenate([part[name] for part in (points, items) if part])
            for name in ("step", "wall_time", "ordinal")
        )
        of = [slice(*bounds[i : i + 2]) for i in range(len(in_order))]
        references = None
        if items:
            arrays = [
                items["offset"],
                *(items[n].astype(np.uint32) for n in References._fields[1:]),
            ]
            references = References(*arrays)
        return Table(
            columns, bounds, [even_steps(step[each]) for each in of], wall_time,
            points["value"] if points else np.empty(0, np.float32), references,
            {i: ordinal[of[i]] for i, row in enumerate(in_order) if row.has_ordinals},
        )  # fmt: skip

    def _read(
        self, run: IndexedRun, table: str, rows: Sequence[SeriesRow]
    ) -> dict[str, NDArray[Any]]:
        """The rows of these series, of which one follows the other in the file."""
        if not rows:
            return {}
        end = rows[-1].first_row + rows[-1].num_rows
        found = self._index.rows(run, table, rows[0].first_row, end)
        if len(found["step"]) != sum(row.num_rows for row in rows):
            raise _damaged(run, f"{len(found['step'])} rows")
        return found


def _damaged(run: IndexedRun, what: str) -> DataLossError:
    return DataLossError(f"a segment of the index is damaged: {run.segment}: it has {what}")


def _sort_key(run: IndexedRun) -> tuple[float, str]:
    """Like `TrackedRun.sort_key`."""
    time = run.first_event_time
    return math.inf if time is None or math.isnan(time) else time, run.name
