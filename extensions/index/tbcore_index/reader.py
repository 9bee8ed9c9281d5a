"""IndexReader: the runs of an index. Series are read when they are used."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tbcore import DataError, DataLossError, NotFoundError, TbcoreError
from tbcore.engine import (
    Board,
    EventFile,
    LogdirSpec,
    OptionError,
    Schema,
    StoredRun,
    StoredRuns,
    Table,
    TagInfo,
    one_line,
    plural,
    quoted,
    shared_metadata,
    sort_key,
)
from tbcore_index.cache import SegmentCache, SeriesRow
from tbcore_index.confirmed import Confirmed
from tbcore_index.tables import FORMATS, OpenTable, Place, segments_of
from tbcore_index.view import SegmentRuns, StoredView, damaged

_CACHE_BYTES = 1_000_000_000
_COMMIT_SECONDS = 5.0
"""Maximum time for which a command waits until a commit to one table has reached the next one."""
_SERVER_COMMIT_SECONDS = 30.0
"""The same for a server, which does not wait, but checks again in each refresh."""
_TAG = SeriesRow._fields.index("tag")
_BY_VIEW = "run", "shape", "first_event_time", "last_event_time"
_SHOWN = (
    *_BY_VIEW, "revision", "first_series", "num_series", "num_points", "num_items",
    "nonfinite_tags", "nonfinite", "problems", "files", "hparams",
)  # fmt: skip
"""The columns of `runs` that a list of runs needs. The others are read to resume a run."""


class IndexReader:
    """The runs of an index, as of the last refresh. May be used in any thread."""

    def __init__(
        self,
        path: str,
        *,
        only: Collection[str] | None = None,
        is_server: bool = False,
        logdirs: Iterable[str] = (),
    ) -> None:
        """Opens an index, or only some of its segments. The user has confirmed `logdirs`.

        In a server, a problem with rows that could not be read is over once they can be read.
        Raises TbcoreError if there is no index, or if it has another format.
        """
        self.place = Place(path)
        self.path = self.place.path
        self._table = self.place.delta("runs")
        properties = self._table.metadata().configuration
        if properties.get("tbcore.format") not in FORMATS:
            found = properties.get("tbcore.format", "none")
            raise OptionError(
                f"{self.place} has format {found}, expected {' or '.join(FORMATS)}; "
                f"make it again with this version of `tbcore index`"
            )
        self.place.set_format(properties["tbcore.format"])
        try:
            self.specs: Sequence[LogdirSpec] = [
                LogdirSpec(*spec) for spec in json.loads(properties["tbcore.logdirs"])
            ]
            """The log directories that the index was made from."""
            self.purge_orphaned_data = properties["tbcore.purge_orphaned_data"] == "true"
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(one_line(f"{self.place} has damaged properties: {error}")) from None
        self.confirmed = Confirmed(properties.get("tbcore.id", ""), logdirs)
        self.found: Mapping[str, Sequence[EventFile]] = {}
        self.warnings: Collection[str] = ()
        """See RunIndex."""
        if not logdirs and not all(self.confirmed.covers(spec.path) for spec in self.specs):
            made_from = one_line(", ".join(spec.path for spec in self.specs))
            what = (
                f"new data, give the log directory, too: --logdir {made_from}"
                if is_server
                else f"the like, give {made_from} in place of the index"
            )
            self.warnings = [
                f"no `tbcore index` of yours has made {self.place}: its numbers are shown, but no "
                f"file of its logs is opened; for images and {what}"
            ]
        self.runs: Mapping[str, StoredRun] = {}
        """Maps names to runs, in the order of their first events. A refresh keeps the objects of
        runs that have not changed."""
        self.damaged: dict[str, str] = {}
        """Maps each segment whose runs are unknown, because its file of `runs` is damaged, to a
        line about the damage."""
        self._lost: dict[str, tuple[str, Callable[[], object]]] = {}
        """Maps each segment for which reading series, points or items failed to a line about the
        error, and a function that reads the same rows again. Any thread adds to it, so it is copied
        before a loop; only `refresh` removes from it."""
        self.is_server = is_server
        self._log_problem = ""
        """A line if the Delta logs of the tables do not match; empty if they do."""
        self._difference: tuple[tuple[int, int], float] | None = None
        """The versions of `runs` and `series` if their segments differ, and when that was first
        seen, in seconds of the monotonic clock."""
        self._series: OpenTable | None = None
        self._only = only
        self._version: int | None = None
        """The version of the table of runs at the last refresh."""
        self.segments: Mapping[str, Sequence[StoredView]] = {}
        """The runs of each segment."""
        self._places: dict[str, StoredView] = {}
        self._schemas: dict[str, Schema] = {}
        """The schema of each shape."""
        self._equal: dict[tuple[tuple[str, TagInfo], ...], Schema] = {}
        """The schema with these tags."""
        self._bookmarks: tuple[str, dict[str, Any]] = "", {}
        """The segment from which a bookmark was last read, and all bookmarks of that segment."""
        self._cache = SegmentCache(self.place, _CACHE_BYTES)
        self.long_series: tuple[tuple[Any, ...], Table] | None = None
        """The table of the long series that was last read, after what identifies the series."""
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Updates the runs to the last commit.

        If the index cannot be read, raises TbcoreError or OSError and changes nothing.
        """
        with self._lock:
            for segment, (_, read_again) in self._lost.copy().items() if self.is_server else ():
                with contextlib.suppress(TbcoreError, OSError):
                    read_again()
                    del self._lost[segment]
            if self._version is not None:
                self._table = self.place.updated(self._table)
            is_unclear = self._log_problem or self._difference
            if self._only is None and (self._table.version() != self._version or is_unclear):
                self._compare_logs()
            version = self._table.version()
            if version == self._version:
                return
            segments = segments_of(self._table) if self._only is None else self._only
            by_segment = {n: self.segments.get(n) or self._runs_of(n) for n in segments}
            pa.default_memory_pool().release_unused()
            runs = [run for each in by_segment.values() for run in each]
            runs.sort(key=lambda run: sort_key(run.first_event_time, run.name))
            self.segments, self._places = by_segment, {run.name: run for run in runs}
            self.damaged = {n: line for n, line in self.damaged.items() if n in by_segment}
            for segment in self._lost.copy():
                if segment not in by_segment:
                    del self._lost[segment]
            known = self.runs
            self.runs = {
                name: known[name] if name in known and known[name].revision == run.revision else run
                for name, run in self._places.items()
            }
            self._version = version

    def stored_runs(self, board: Board, *, is_paced: bool) -> StoredRuns:
        """See RunIndex."""
        from tbcore_index.indexed_runs import IndexedRuns

        return IndexedRuns(self, board, is_paced=is_paced)

    def _runs_of(self, segment: str) -> list[StoredView]:
        """The runs of a segment; none if it is damaged."""
        try:
            known = [name for name in _SHOWN if name in self.place.columns["runs"].names]
            rows = self.place.open("runs", segment).whole(known)
            runs = SegmentRuns(self, segment, rows)
            names, shapes, *times = (rows.column(name).to_pylist() for name in _BY_VIEW)
            for row, shape in enumerate(shapes):
                if shape not in self._schemas:
                    view = StoredView(name=names[row], runs=runs, row=row)
                    self._schemas[shape] = self._schema(view)
            return [
                StoredView(self._schemas[shape], *of_run, name=name, runs=runs, row=row)
                for row, (name, shape, *of_run) in enumerate(
                    zip(names, shapes, *times, strict=True)
                )
            ]
        except (DataLossError, NotFoundError, FileNotFoundError) as error:
            line = str(error)
        except (TypeError, ValueError) as error:
            line = f"segment {segment} of the index is damaged: {error}"
        self.damaged[segment] = self._line(segment, line)
        return []

    def lose(self, segment: str, error: Exception, read_again: Callable[[], object]) -> str:
        """Records that rows of a segment cannot be read, and returns a line about the problem.

        `read_again` reads the same rows. Once it raises no error, the problem is over.
        """
        lost = self._lost.get(segment) or (self._line(segment, str(error)), read_again)
        return self._lost.setdefault(segment, lost)[0]

    def _line(self, segment: str, why: str) -> str:
        """The line about a segment that cannot be read: the reason, and its number of runs."""
        files = pa.table(self._table.get_add_actions())
        numbers = zip(files["path"].to_pylist(), files["num_records"].to_pylist(), strict=True)
        num_runs = dict(numbers).get(f"{segment}.parquet") or 0
        return one_line(f"{why}; it has data of {plural(num_runs, 'run')}")

    def _compare_logs(self) -> None:
        """Checks whether `runs` and `series` have the same segments, and sets `_log_problem`."""
        # If a file of its log is lost, a table is at an earlier version. The tables also differ
        # during a commit, which is to `runs` last; then their versions change soon.
        timeout = _SERVER_COMMIT_SECONDS if self.is_server else _COMMIT_SECONDS
        try:
            self._series = self.place.updated(self._series or self.place.delta("series"))
            while segments_of(self._series) != segments_of(self._table):
                versions = self._table.version(), self._series.version()
                if self._difference is None or self._difference[0] != versions:
                    self._difference = versions, time.monotonic()
                if time.monotonic() - self._difference[1] >= timeout:
                    self._log_problem = (
                        f"the tables `runs` and `series` of the index {self.place} differ: a file "
                        f"in a _delta_log is lost or damaged, or a commit was interrupted; "
                        f"run `tbcore index` again"
                    )
                    return
                if self.is_server:
                    return
                time.sleep(0.1)
                self._table = self.place.updated(self._table)
                self._series = self.place.updated(self._series)
            self._log_problem, self._difference = "", None
        except TbcoreError as error:
            self._log_problem = str(error)

    def bookmark(self, name: str, revision: str) -> Any:
        """The bookmark of a run at this revision. Raises DataLossError or NotFoundError."""
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
        """One line for each segment with a file that is damaged or gone, and for `_log_problem`."""
        lost = (line for line, _ in self._lost.copy().values())
        return [*filter(None, [self._log_problem]), *self.damaged.values(), *lost]

    def _schema(self, run: StoredView) -> Schema:
        """The schema of a run. All runs with the same `shape` share it."""
        tags: dict[str, TagInfo] = {}
        for row in self.series_rows(run):
            kinds = tags[row.tag].kinds if row.tag in tags else ()
            metadata = shared_metadata(row.tag, row.metadata)
            tags[row.tag] = TagInfo((*kinds, row.kind), metadata)
        # In format 1, runs with different hyperparameters have different shapes.
        return self._equal.setdefault(tuple(tags.items()), Schema(tags))

    def may_open(self, run: str, path: str) -> bool:
        """Whether a path that the index names may be opened: see `RunIndex.found`."""
        is_found = any(path == file.path for file in self.found.get(run, ()))
        return is_found or self.confirmed.covers(path)

    def series_rows(self, run: StoredView, tag: str | None = None) -> list[SeriesRow]:
        """The rows of a run in `series`, or only those of a tag."""
        rows: list[SeriesRow] = []
        begin = run.number("first_series")
        end = begin + run.number("num_series")
        for group, first, last in self._cache.file("series", run.segment).rows(begin, end):
            columns = self._cache.columns("series", run.segment, group)
            if tag is None:
                fields = (column[first:last].tolist() for column in columns)
                found = list(starmap(SeriesRow, zip(*fields, strict=True)))
            else:
                tags = columns[_TAG][first:last].tolist()
                places = [first + number for number, each in enumerate(tags) if each == tag]
                found = [SeriesRow(*(c.item(place) for c in columns)) for place in places]
            if any(row.run != run.name for row in found):
                raise damaged(run, "the series of other runs")
            rows += found
        return rows

    def check_series(self, run: StoredView) -> None:
        """Raises DataLossError or SegmentGoneError if the rows of `series` cannot be read."""
        begin = run.number("first_series")
        file = self._cache.file("series", run.segment)
        for group, *_ in file.rows(begin, begin + run.number("num_series")):
            self._cache.columns("series", run.segment, group)

    def rows(self, run: StoredView, table: str, begin: int, end: int) -> dict[str, NDArray[Any]]:
        """Columns of some rows of a run in `points` or `items`."""
        parts = [
            [column[first:last] for column in self._cache.columns(table, run.segment, group)]
            for group, first, last in self._cache.file(table, run.segment).rows(begin, end)
        ]
        columns = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        return dict(zip(self._cache.names[table], columns, strict=True))

    def located(self, run: StoredView) -> StoredView:
        """The run in its current segment, as the old one may have been replaced.

        Raises NotFoundError if the run has changed.
        """
        if run.segment in self.segments:
            return run
        found = self._places.get(run.name)
        if found is None or found.revision != run.revision:
            raise NotFoundError(f"run {quoted(run.name)} was indexed again; ask again")
        return found
