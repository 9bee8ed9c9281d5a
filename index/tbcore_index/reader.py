"""IndexReader: the runs of an index. Reads a series when somebody asks for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import DataLossError, NotFoundError, OptionError
from tbcore.eventfiles.logdir import EventFile, LogdirSpec
from tbcore.index import StoredRun
from tbcore.kinds import Kind
from tbcore.store.state import quoted
from tbcore.store.view import Schema, TagInfo
from tbcore.store.work_queue import sort_key
from tbcore_index.cache import CACHED, SegmentCache, SeriesRow
from tbcore_index.tables import FORMAT, Place, SegmentFile, segments_of
from tbcore_index.view import StoredView, damaged

DEFAULT_CACHE_BYTES = 1_000_000_000
_SHOWN = (
    "run", "segment", "revision", "first_series", "num_series", "shape", "num_points",
    "num_items", "first_event_time", "last_event_time", "nonfinite_tags", "problems",
)  # fmt: skip
"""The columns of `runs` that a list of runs needs; the others are read when a run goes on."""


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
        self.path = self.place.path
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
        self._version: int | None = None
        """The version of the table of runs at the last refresh."""
        self._by_segment: dict[str, list[IndexedRun]] = {}
        self._places: dict[str, IndexedRun] = {}
        self._schemas: dict[str, Schema] = {}
        self._bookmarks: tuple[str, dict[str, Any]] = "", {}
        """The bookmarks of the segment of which one was asked for last."""
        self._cache = SegmentCache(self.place, cache_bytes)
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Takes note of what was committed since.

        Raises TbcoreError or OSError if the index cannot be read; then all stays as it was.
        """
        with self._lock:
            if self._version is not None:
                self._table.update_incremental()
            version = self._table.version()
            if version == self._version:
                return
            segments = segments_of(self._table) if self._only is None else self._only
            by_segment = {n: self._by_segment.get(n) or self._runs_of(n) for n in segments}
            runs = [run for each in by_segment.values() for run in each]
            runs.sort(key=lambda run: sort_key(run.first_event_time, run.name))
            known = self.runs
            self._by_segment, self._places = by_segment, {run.name: run for run in runs}
            self.damaged = {n: line for n, line in self.damaged.items() if n in by_segment}
            self.runs = {run.name: self._stored(run, known.get(run.name)) for run in runs}
            self._version = version

    def _stored(self, run: IndexedRun, known: StoredRun | None) -> StoredRun:
        if known is not None and known.revision == run.revision:
            return known
        view = StoredView(self, run, self._schemas[run.shape])
        return StoredRun(view, run.files, run.revision, run.problems)

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
        columns = [_shared(rows.column(name).to_pylist()) for name in _SHOWN]
        files = rows.column("files").combine_chunks()
        flat = [files.flatten().field(name).to_pylist() for name in EventFile._fields]
        if any(None in column for column in flat):
            raise ValueError("a file lacks a field")
        each_file = tuple(starmap(EventFile, zip(*flat, strict=True)))
        ends = files.offsets.to_pylist()
        of_runs = [each_file[begin:end] for begin, end in pairwise(ends)]
        return list(starmap(IndexedRun, zip(*columns, of_runs, strict=True)))

    def bookmark(self, name: str, revision: str) -> Any:
        """What a RunReader needs to go on with a run. Raises DataLossError, or NotFoundError."""
        run = self._places.get(name)
        if run is None or run.revision != revision:
            raise NotFoundError(f"run {quoted(name)} was indexed again")
        segment = run.segment
        if self._bookmarks[0] != segment:
            rows = self.place.open("runs", segment).whole(["run", "bookmark"])
            names = rows.column("run").to_pylist()
            self._bookmarks = segment, dict(zip(names, rows.column("bookmark"), strict=True))
        return json.loads(self._bookmarks[1][name].as_py())

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
            columns = self._cache.columns("series", run.segment, group)
            fields = (column[first:last].tolist() for column in columns)
            found = list(starmap(SeriesRow, zip(*fields, strict=True)))
            if any(row.run != run.name for row in found):
                raise damaged(run, "the series of other runs")
            rows += found
        return rows

    def rows(self, run: IndexedRun, table: str, begin: int, end: int) -> dict[str, NDArray[Any]]:
        """Columns of some rows of a run in `points` or `items`."""
        parts = [
            [column[first:last] for column in self._cache.columns(table, run.segment, group)]
            for group, first, last in self._file(table, run).rows(begin, end)
        ]
        columns = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        return dict(zip(CACHED[table], columns, strict=True))

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


def _shared(column: list[Any]) -> list[Any]:
    """A column in which equal texts are one object, and so are empty lists: there may be many."""
    if not column or not isinstance(column[0], str | list):
        return column
    known: dict[Any, Any] = {}
    return [known.setdefault(tuple(x) if isinstance(x, list) else x, x) for x in column]
